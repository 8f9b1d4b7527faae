import { VitrinaError } from '../model/errors.js'
import {
  finalTarget,
  type Guarantee,
  incrementalKeys,
  type Pipeline,
  readerQuery,
  readsTable,
} from '../model/pipeline.js'
import type { AcceptedQuery, QueryGuard } from '../ports/query-guard.js'
import { FIRST_ADDED } from '../postgres/own-objects.js'
import type { Session } from '../postgres/session.js'
import { describeQuery, isSpread, type PlanFacts, planFacts } from '../sources/postgres/describe.js'
import { Horizon, isClockKey, isCountingKey, isOutOfOrder } from '../sources/postgres/horizon.js'
import { parseTable, quoteIdentifier } from '../sql/identifiers.js'
import { asRelation, type Column, columnList, type Order, orderBy, requireColumn } from '../sql/selection.js'
import { sqlstateOf } from '../sql/sqlstate.js'
import { type QueryTrace, traceQuery } from './changes/query-trace.js'

/** The source query as the server reads it, and its columns. */
export interface DescribedQuery {
  /** The only text that is run: written by the server, not by the author. */
  readonly query: string
  readonly columns: readonly Column[]
}

/** What is known about the source of a pipeline before anything is read. */
export interface Examined extends DescribedQuery {
  /** The columns that identify a row of the mart. */
  readonly key: readonly Column[]
  readonly order: Order
  readonly facts: PlanFacts
  /** The source is read along an index; otherwise once for each pass. */
  readonly paged: boolean
  readonly guarantee: Guarantee
  /** How changes are followed to rows of the mart; null: rows are read in the order of a key. */
  readonly trace: QueryTrace | null
  /** The columns of incremental_key and incremental_id_key; none: they are not used. */
  readonly modified: readonly Column[]
}

/** What a query may read, and what checks it. */
export interface SourceRules {
  readonly guard: QueryGuard
  readonly sourceSchemas: readonly string[]
}

/** Asks the guard for the text to run, and the server for its columns. Nothing is executed. */
export async function describeSource(
  source: Session,
  pipeline: Pipeline,
  guard: QueryGuard,
): Promise<DescribedQuery> {
  return describeAccepted(source, (await acceptedQuery(source, pipeline, guard)).canonical)
}

/** The text to run and the tables that it reads, from the guard. */
export async function acceptedQuery(
  source: Session,
  pipeline: Pipeline,
  guard: QueryGuard,
): Promise<AcceptedQuery> {
  const text = readerQuery(pipeline)
  if (text.trim() === '') throw noQuery()
  return guard.accept(text, source, { isDerived: readsTable(pipeline) })
}

export async function describeAccepted(source: Session, query: string): Promise<DescribedQuery> {
  return { query, columns: await describeQuery(source, query) }
}

export function noQuery(): VitrinaError {
  return new VitrinaError(
    'PIPELINE_INVALID',
    'The pipeline has no source query, no source table and no task plan.',
    'Set source_query or source_table, or add tasks, the first of them SQL.',
    { field: 'source_query' },
  )
}

interface ExamineOptions extends DescribedQuery {
  /** The columns that identify a row of the mart. */
  readonly martKey: readonly string[]
  readonly sourceSchemas: readonly string[]
}

/** Checks the query and its keys, and rejects what cannot work before anything is read or written. */
export async function examine(
  source: Session,
  pipeline: Pipeline,
  { query, columns, martKey, sourceSchemas }: ExamineOptions,
): Promise<Examined> {
  const key = keyOf(pipeline, columns, martKey)
  const modified = modifiedColumns(pipeline, columns)
  const trace = await traceOf(source, pipeline, { query, columns, key, modified })
  const order = { columns: trace === null ? [...new Set([...modified, ...key])] : key }
  await requireBuiltInOrder(source, order)
  const byKey = trace === null && pipeline.mode === 'incremental'
  if (byKey) await requireOrderable(source, order)
  const facts = await planFacts(
    source,
    `SELECT ${columnList(columns)} FROM ${asRelation(query)} ORDER BY ${orderBy(order)}`,
  )
  requireAllowed(facts, sourceSchemas)
  if (byKey) await requireUsableKey(source, { order, facts, query })
  const paged = facts.walksIndex && order.columns.every((column) => column.notNull)
  const first = modified[0] ?? null
  if (trace !== null && first !== null) await horizonOf(source, { key: first, facts }).requireSight()
  const guarantee = await guaranteeOf(source, pipeline, { first, facts })
  return { query, columns, key, order, facts, paged, guarantee, trace, modified }
}

function keyOf(pipeline: Pipeline, columns: readonly Column[], names: readonly string[]): Column[] {
  if (names.length === 0) {
    throw new VitrinaError(
      'TARGET_KEY_MISSING',
      `${finalTarget(pipeline)} does not exist, and the pipeline has no key_columns to create it with.`,
      'Set key_columns to the columns that identify a row of the mart.',
    )
  }
  return names.map((name) => requireColumn(columns, name, 'key_columns'))
}

/**
 * The columns that grow with every change. Rows are read in their order, and in that of the mart's key after them:
 * without it a batch could end between two rows that compare equal, and the next run would miss the second.
 */
function modifiedColumns(pipeline: Pipeline, columns: readonly Column[]): Column[] {
  if (pipeline.mode === 'full' || pipeline.capture !== 'key') return []
  const { incrementalIdKey } = pipeline
  if (pipeline.incrementalKey === null) {
    throw new VitrinaError(
      'PIPELINE_INVALID',
      'An incremental pipeline with capture "key" needs incremental_key.',
      'Set incremental_key to the column that grows with every change, or choose capture "xmin" or "wal".',
      { field: 'incremental_key' },
    )
  }
  return [
    ...incrementalKeys(pipeline, columns).map((name) => requireColumn(columns, name, 'incremental_key')),
    ...(incrementalIdKey === null ? [] : [requireColumn(columns, incrementalIdKey, 'incremental_id_key')]),
  ]
}

interface Traceable extends DescribedQuery {
  readonly key: readonly Column[]
  readonly modified: readonly Column[]
}

/**
 * A key that is a plain column of a table needs no trace: rows are read along its index. One that is computed, such as
 * max(modified), would mean to compute every row in order to find the new ones.
 */
async function traceOf(
  source: Session,
  pipeline: Pipeline,
  { query, columns, key, modified }: Traceable,
): Promise<QueryTrace | null> {
  if (pipeline.mode === 'full') return null
  const isKey = pipeline.capture === 'key'
  const names = incrementalKeys(pipeline, columns)
  const [first] = modified
  if (isKey && names.length === 1 && first !== undefined && (first.base !== null || !isClockKey(first)))
    return null
  const trace = await traceQuery(source, query, {
    key: key.map(({ name }) => name),
    modified: isKey ? names : [],
  })
  if (!isKey || (trace.trace.traced && trace.followed !== null)) return trace
  if (names.length === 1) return null
  throw new VitrinaError(
    'CAPTURE_UNSUPPORTED',
    `Changes cannot be followed by ${names.join(' and ')}: ${trace.trace.traced ? 'they are not computed from columns of tables by max, greatest or coalesce' : trace.trace.reason}`,
    'Name one column in incremental_key, choose capture "xmin" or "wal", or use mode "full".',
    { field: 'incremental_key' },
  )
}

/**
 * The operators of a type from an extension (citext, ltree) are not in pg_catalog, and a session with an empty
 * search_path does not find them: "<" would compare such keys as text, but ORDER BY and the index use the type.
 */
async function requireBuiltInOrder(source: Session, { columns }: Order): Promise<void> {
  const added = columns.filter((column) => column.typeOid >= FIRST_ADDED)
  if (added.length === 0) return
  const rows = await source.rows(
    `WITH RECURSIVE type(position, oid) AS (
       SELECT t.position, t.oid FROM unnest($1::oid[]) WITH ORDINALITY AS t(oid, position)
       UNION SELECT d.position, t.typbasetype FROM type d JOIN pg_type t ON t.oid = d.oid WHERE t.typtype = 'd')
     SELECT d.position FROM type d JOIN pg_type t ON t.oid = d.oid
      WHERE t.typtype = 'b' AND t.typcategory <> 'A' AND t.oid >= ${FIRST_ADDED} ORDER BY d.position LIMIT 1`,
    [added.map((column) => column.typeOid)],
  )
  const column = added[Number(rows[0]?.position ?? 0) - 1]
  if (column !== undefined)
    throw unordered(column, `the order of ${column.type} is not built into PostgreSQL`)
}

/**
 * A pass continues where the last one stopped, so the database must know what comes after a key. json and point have no
 * order; with a nondeterministic collation, two different texts may compare equal.
 */
async function requireOrderable(source: Session, { columns }: Order): Promise<void> {
  for (const column of columns) {
    const ordered = await source
      .rows(`SELECT NULL::${column.type} AS key ORDER BY 1`)
      .then(() => true)
      .catch((error: unknown) => {
        if (sqlstateOf(error) !== '42883') throw error
        return false
      })
    if (!ordered) throw unordered(column, `${column.type} has no order`)
    if (await isLooselyCollated(source, column))
      throw unordered(column, 'its collation treats different texts as equal')
  }
}

async function isLooselyCollated(source: Session, { base }: Column): Promise<boolean> {
  if (base === null) return false
  const rows = await source.rows(
    `SELECT 1 AS found FROM pg_attribute a JOIN pg_collation c ON c.oid = a.attcollation
      WHERE a.attrelid = $1::oid AND a.attnum = $2 AND NOT c.collisdeterministic`,
    [base.tableId, base.attribute],
  )
  return rows.length > 0
}

function unordered({ name }: Column, why: string): VitrinaError {
  return new VitrinaError(
    'KEY_UNORDERED',
    `Rows cannot be read in the order of "${name}": ${why}.`,
    'Choose another key, or add COLLATE "C" or a cast to the column in the query.',
  )
}

/** The guard has checked this already, but a view may have changed since: the planner names every table again. */
function requireAllowed(facts: PlanFacts, sourceSchemas: readonly string[]): void {
  const refused = facts.relations.filter((relation) => !sourceSchemas.includes(parseTable(relation).schema))
  if (refused.length > 0) {
    throw new VitrinaError(
      'SOURCE_REFUSED',
      `The query reads ${refused.join(', ')}; only the schemas ${sourceSchemas.join(', ')} may be read.`,
      'Read from an allowed schema, or ask an administrator to extend ALLOWED_SOURCE_SCHEMAS.',
    )
  }
}

/** A row with a NULL key is never beyond a checkpoint and would be missed permanently, so the run does not start. */
async function requireUsableKey(
  source: Session,
  { order, facts, query }: Pick<Examined, 'order' | 'facts' | 'query'>,
): Promise<void> {
  await horizonOf(source, { key: order.columns[0]!, facts }).requireSight()
  const doubtful = order.columns.filter((column) => !column.notNull || facts.outerJoin || facts.aggregates)
  if (doubtful.length === 0) return
  const nulls = doubtful.map((column) => `${quoteIdentifier(column.name)} IS NULL`)
  const found = await source.rows(
    `SELECT 1 AS found FROM ${asRelation(query)} WHERE ${nulls.join(' OR ')} LIMIT 1`,
  )
  if (found.length > 0) {
    throw new VitrinaError(
      'KEY_NULL',
      `The query returns rows where ${doubtful.map((column) => column.name).join(' or ')} is NULL, which no checkpoint can cover.`,
      'Give them a value in the query (COALESCE), leave them out (WHERE … IS NOT NULL), or choose capture "xmin".',
    )
  }
}

function horizonOf(session: Session, { key, facts }: { key: Column; facts: PlanFacts }): Horizon {
  return new Horizon({ session, key, relations: facts.relations, self: '' })
}

async function guaranteeOf(
  source: Session,
  pipeline: Pipeline,
  { first: key, facts }: { first: Column | null; facts: PlanFacts },
): Promise<Guarantee> {
  if (pipeline.mode === 'incremental' && pipeline.capture === 'wal') return 'lossless'
  const spreads = isSpread(facts)
  if (pipeline.mode === 'full' || (spreads && pipeline.deletes === 'sweep')) return 'lossless'
  if (spreads || facts.watchesClock) return 'bounded'
  if (key === null) return 'lossless'
  // A computed key does not always grow with its inputs: the hour is the same for every minute in it.
  const ordered = isClockKey(key)
    ? key.base !== null
    : isCountingKey(key) && !(await isOutOfOrder(source, key))
  return ordered ? 'lossless if the database sets the key' : 'bounded'
}
