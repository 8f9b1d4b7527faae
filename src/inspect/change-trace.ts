import { adviseIdentities, relationName } from '../capture/index.js'
import type { Pipeline } from '../model/pipeline.js'
import type { IdentityAdvice } from '../model/source.js'
import type { ChangeTrace, TracedTable } from '../model/validation.js'
import type { Session } from '../postgres/session.js'
import { type KeyQuery, keyQueryValues, relationKey, type TableTrace, type Traced } from '../scopes/index.js'
import { quoteIdentifier, quoteTable, type TableName } from '../sql/identifiers.js'
import type { Examined } from '../transfers/examine.js'
import { BIG_TABLE, flattenPlan, type PlanNode } from './plan-node.js'

/** How a run would follow changes of the source, and what one changed row would cost. Null: it reads in the order of a key. */
export async function changeTrace(
  source: Session,
  { capture }: Pipeline,
  { trace: query }: Pick<Examined, 'trace'>,
): Promise<ChangeTrace | null> {
  if (query === null) return null
  const { trace, followed } = query
  const columns = (followed ?? []).map(({ table, column }) => ({ table: nameOf(table), column }))
  const base = {
    followed: columns,
    planDependent: trace.planDependent.map(({ name, reason }) => ({ column: name, reason })),
  }
  if (query.alwaysFull !== null || !trace.traced) {
    const full = query.alwaysFull ?? (trace.traced ? null : trace.reason)
    const tables = distinct(query.tables.map(({ name }) => name)).map((name) => untraced(name, full))
    return { ...base, full, scope: [], fullCost: null, tables }
  }
  const identities =
    capture === 'wal'
      ? await adviseIdentities(
          source,
          trace.tables.map((table) => ({ ...table.capturedAs, columns: table.columns })),
        )
      : []
  const recompute = await explain(
    source,
    trace.recompute.lateral,
    trace.scope.map(() => [null]),
  )
  const full = await explain(source, trace.recompute.full, [])
  const tables: TracedTable[] = []
  for (const table of trace.tables) {
    const name = relationName(table.capturedAs)
    const identity = identities.find((one) => one.table === name) ?? null
    tables.push(await tracedTable(source, trace, { table, identity, recompute, full }))
  }
  return {
    ...base,
    full: null,
    scope: trace.scope.map(({ name }) => name),
    fullCost: full['Total Cost'],
    tables,
  }
}

function untraced(name: TableName, reason: string | null): TracedTable {
  return { table: nameOf(name), reason, keyQueries: [], cost: null, scans: [], indexes: [], identity: null }
}

interface Costed {
  readonly table: TableTrace
  readonly identity: IdentityAdvice | null
  /** The plan for the rows of one scope. */
  readonly recompute: PlanNode
  readonly full: PlanNode
}

async function tracedTable(
  source: Session,
  trace: Traced,
  { table, identity, recompute, full }: Costed,
): Promise<TracedTable> {
  const untraceable = table.occurrences.find((each) => !each.traced)
  const keyQueries = table.occurrences.flatMap((each) => (each.traced ? [each.keyQuery] : []))
  const base = { table: nameOf(table.table), keyQueries: keyQueries.map(({ text }) => text), identity }
  if (untraceable !== undefined && !untraceable.traced)
    return { ...base, reason: untraceable.reason, cost: full['Total Cost'], scans: [], indexes: [] }
  const plans: PlanNode[] = []
  for (const keyQuery of keyQueries) plans.push(await explainKeyQuery(source, keyQuery))
  const keyCost = plans.reduce((sum, plan) => sum + plan['Total Cost'], 0)
  const scanned = [...plans, recompute].flatMap(scannedTables)
  const { scans, indexes } = await missingIndexes(source, trace, scanned)
  return {
    ...base,
    reason: null,
    cost: Math.min(keyCost + recompute['Total Cost'], full['Total Cost']),
    scans,
    indexes,
  }
}

/** With one image of each table. NULL is as good as a value: the planner does not look into the arrays. */
function explainKeyQuery(source: Session, keyQuery: KeyQuery): Promise<PlanNode> {
  return explain(
    source,
    keyQuery.text,
    keyQueryValues(keyQuery, () => [{}]),
  )
}

async function explain(
  source: Session,
  text: string,
  values: readonly (readonly (string | null)[])[],
): Promise<PlanNode> {
  const [row] = await source.rows(`EXPLAIN (FORMAT JSON, VERBOSE) ${text}`, values)
  return (JSON.parse(row!['QUERY PLAN']!) as [{ Plan: PlanNode }])[0].Plan
}

function scannedTables(plan: PlanNode): TableName[] {
  return flattenPlan(plan).flatMap((node) =>
    node['Node Type'] === 'Seq Scan' && node.Schema !== undefined
      ? [{ schema: node.Schema, table: node['Relation Name']! }]
      : [],
  )
}

// Columns by which rows are looked up, without an index that begins with them.
const NOT_INDEXED = `
  SELECT a.attname AS "column" FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN unnest($3::text[]) WITH ORDINALITY AS w(name, place) ON true
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = w.name
   WHERE n.nspname = $1 AND c.relname = $2 AND c.reltuples >= $4::int
     AND NOT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisvalid AND i.indpred IS NULL AND i.indkey[0] = a.attnum)
   ORDER BY w.place`

async function missingIndexes(
  source: Session,
  trace: Traced,
  scanned: readonly TableName[],
): Promise<{ scans: string[]; indexes: { table: string; statement: string }[] }> {
  const scans: string[] = []
  const indexes: { table: string; statement: string }[] = []
  for (const name of distinct(scanned)) {
    const columns = trace.tables.find(({ table }) => relationKey(table) === relationKey(name))?.columns ?? []
    const missing = await source.rows(NOT_INDEXED, [name.schema, name.table, columns, BIG_TABLE])
    if (missing.length > 0) scans.push(nameOf(name))
    for (const { column } of missing)
      indexes.push({
        table: nameOf(name),
        statement: `CREATE INDEX CONCURRENTLY ON ${quoteTable(name)} (${quoteIdentifier(column!)})`,
      })
  }
  return { scans, indexes }
}

function distinct(names: readonly TableName[]): TableName[] {
  return [...new Map(names.map((name) => [relationKey(name), name])).values()]
}

function nameOf({ schema, table }: TableName): string {
  return `${schema}.${table}`
}
