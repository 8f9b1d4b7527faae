import { type Check, checkedColumns, overOf, toColumnsOf } from '../model/check.js'
import { VitrinaError } from '../model/errors.js'
import { readTableName, type TableName } from '../model/table-name.js'
import { isAllowedTable, type TargetRules } from '../model/target.js'
import type { GuardSession, QueryGuard } from '../ports/query-guard.js'
import { quoteIdentifier, quoteList, quoteTable } from '../sql/identifiers.js'
import { type CheckedColumn, conditionOf, isReversed, type RowCondition } from './condition.js'

/** A check of rows, ready to be evaluated. */
export interface RowCheck {
  readonly check: Check
  readonly condition: RowCondition
}

/** A check of the mart. */
export interface MartCheck {
  readonly check: Check
  /** Null: it is about the mart as a whole. */
  readonly condition: RowCondition | null
  /** The condition of the check contains aggregates: it is evaluated once, not for each row. */
  readonly isAggregate: boolean
}

export interface CompiledChecks {
  readonly rows: readonly RowCheck[]
  readonly mart: readonly MartCheck[]
}

export interface CheckRules {
  readonly guard: QueryGuard
  readonly targets: Pick<TargetRules, 'tables' | 'kinds'>
  readonly sourceSchemas: readonly string[]
  /** The mart is a table of the session's database. */
  readonly isTable: boolean
}

/** Compiles checks and rejects those that cannot be evaluated. Nothing is read. */
export async function compileChecks(
  session: GuardSession,
  { checks, columns }: { readonly checks: readonly Check[]; readonly columns: readonly CheckedColumn[] },
  rules: CheckRules,
): Promise<CompiledChecks> {
  const types = new Map(columns.map(({ name, type }) => [name, type]))
  const rows: RowCheck[] = []
  const mart: MartCheck[] = []
  for (const [place, check] of checks.entries()) {
    requireColumns(check, types)
    if (check.type === 'relationship') await requireReadable(session, check, rules)
    const isOverMart = overOf(check, rules.isTable) === 'mart'
    if (isOverMart && !rules.isTable) throw overSink(check)
    // The rows of a mart are many: there, one pass over the other table is cheaper.
    const looksUp = check.type === 'relationship' && !isOverMart && (await isLargeWithIndex(session, check))
    const condition = conditionOf(check, types, { place, looksUp })
    if (check.type === 'expression') await requireExpression(session, check, { columns, guard: rules.guard })
    const isAggregate = await requireValid(session, { check, condition, isOverMart }, columns)
    await requireOrdered(session, check, types)
    if (isOverMart) mart.push({ check, condition, isAggregate })
    else if (condition !== null) rows.push({ check, condition })
  }
  return { rows, mart }
}

function requireColumns(check: Check, types: ReadonlyMap<string, string>): void {
  const unknown = checkedColumns(check).find((name) => !types.has(name))
  if (unknown === undefined) return
  throw invalid(
    check,
    `the mart has no column "${unknown}"; it has ${[...types.keys()].join(', ')}.`,
    'Correct the name of the column, or add it to the query.',
  )
}

type Relationship = Extract<Check, { type: 'relationship' }>

/** A system catalog is not a source, not even if it is listed. */
const SYSTEM_SCHEMA = /^(?:pg_|information_schema$)/

type ReadRules = Pick<CheckRules, 'targets' | 'sourceSchemas'>

function mayRead({ schema, table }: TableName, { targets, sourceSchemas }: ReadRules): boolean {
  if (SYSTEM_SCHEMA.test(schema)) return false
  return sourceSchemas.includes(schema) || isAllowedTable({ schema, table }, targets)
}

/** The name of the other table alone decides, whether or not the table exists. Null: it may be read. */
export function refusedTable(check: Check, rules: ReadRules): VitrinaError | null {
  if (check.type !== 'relationship') return null
  const name = readTableName(check.to)
  return name === null || !mayRead(name, rules) ? unreadable(check, check.to, rules) : null
}

/**
 * The table, and everything that reading it would read: otherwise a view or a partition would show which values a
 * table has that no query may read.
 */
async function requireReadable(session: GuardSession, check: Relationship, rules: CheckRules): Promise<void> {
  const refused = refusedTable(check, rules)
  if (refused !== null) throw refused
  const name = readTableName(check.to)!
  const found = await session.rows<CheckedRelation>(BELOW, [name.schema, name.table])
  const forbidden = found.find((relation) => !mayRead(relation, rules))
  if (forbidden !== undefined)
    throw unreadable(check, `${forbidden.schema}.${forbidden.table}, which ${check.to} contains,`, rules)
  // What this login may not read is checked by the one that may.
  if (found.every(({ kind, readable }) => kind === 'r' || kind === 'p' || readable === 'false')) return
  // A view may be read if a query may read it.
  const columns = quoteList(toColumnsOf(check))
  await rules.guard
    .accept(`SELECT ${columns} FROM ${quoteTable(name)}`, session, { isDerived: true })
    .catch((error: unknown) => {
      if (error instanceof VitrinaError && error.class === 'stop')
        throw invalid(check, error.message, error.hint, error)
      throw error
    })
}

interface CheckedRelation extends Record<string, string | null> {
  readonly schema: string
  readonly table: string
  /** pg_class.relkind */
  readonly kind: string
  readonly readable: string
}

/** A table with its partitions and the tables that inherit from it, at any depth. */
const BELOW = `WITH RECURSIVE below AS (
    SELECT c.oid FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname = $1 AND c.relname = $2
    UNION SELECT i.inhrelid FROM pg_catalog.pg_inherits i JOIN below b ON b.oid = i.inhparent)
  SELECT n.nspname AS schema, c.relname AS table, c.relkind::text AS kind,
         has_table_privilege(c.oid, 'SELECT')::text AS readable
    FROM below b JOIN pg_catalog.pg_class c ON c.oid = b.oid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace`

function unreadable(check: Check, what: string, { targets, sourceSchemas }: ReadRules): VitrinaError {
  return invalid(
    check,
    `${what} may not be read: only the schemas ${sourceSchemas.join(', ')} and the targets ${targets.tables.join(', ')} may.`,
    'Choose another table, or ask an administrator to extend ALLOWED_SOURCE_SCHEMAS.',
  )
}

/** Below, hashing the table takes less time than looking up the rows of a batch. */
const LARGE_ROWS = 200_000

/** Of a partitioned table too; never of a view. A table that was never analyzed is estimated by its size. */
const LARGE_WITH_INDEX = `
  WITH named AS (
    SELECT c.oid, ARRAY(SELECT a.attnum FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND a.attname = ANY ($3::text[])) AS columns
      FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = $2)
  SELECT (SELECT sum(CASE WHEN leaf.reltuples >= 0 THEN leaf.reltuples ELSE pg_relation_size(leaf.oid) / 100 END)
            FROM pg_catalog.pg_class leaf
           WHERE leaf.relkind = 'r' AND leaf.oid IN (SELECT named.oid UNION SELECT t.relid FROM pg_catalog.pg_partition_tree(named.oid) t)) >= ${LARGE_ROWS} AS large,
         EXISTS (SELECT FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid JOIN pg_catalog.pg_am m ON m.oid = x.relam
                  WHERE i.indrelid = named.oid AND i.indisvalid AND i.indpred IS NULL AND m.amname = 'btree'
                    AND i.indnkeyatts >= cardinality(named.columns)
                    AND (i.indkey::int2[])[0:cardinality(named.columns) - 1] <@ named.columns
                    AND named.columns <@ (i.indkey::int2[])[0:cardinality(named.columns) - 1]) AS indexed
    FROM named`

async function isLargeWithIndex(session: GuardSession, check: Relationship): Promise<boolean> {
  const name = readTableName(check.to)
  if (name === null) return false
  const columns = `{${toColumnsOf(check)
    .map((column) => `"${column.replace(/["\\]/g, '\\$&')}"`)
    .join(',')}}`
  const [found] = await session.rows(LARGE_WITH_INDEX, [name.schema, name.table, columns])
  return found?.large === 'true' && found.indexed === 'true'
}

function overSink(check: Check): VitrinaError {
  return invalid(
    check,
    'it is evaluated over the mart, which is possible for tables of PostgreSQL only.',
    'Use a check of rows, or remove it.',
  )
}

/** The guard checks the expression over one row of NULLs: it can name no table, and call no other functions than a query. */
async function requireExpression(
  session: GuardSession,
  check: Extract<Check, { type: 'expression' }>,
  { columns, guard }: { readonly columns: readonly CheckedColumn[]; readonly guard: QueryGuard },
): Promise<void> {
  await guard.requireExpression(check.sql, columns, session).catch((error: unknown) => {
    if (error instanceof VitrinaError && error.class === 'stop')
      throw invalid(check, error.message, error.hint, error)
    throw error
  })
}

function oneRow(columns: readonly CheckedColumn[]): string {
  const nulls = columns.map(({ name, type }) => `NULL::${type} AS ${quoteIdentifier(name)}`)
  return `(SELECT ${nulls.join(', ')}) AS batch`
}

const AGGREGATE_IN_WHERE = '42803'

/** Asks the server whether types, literals and tables fit. True: the condition contains aggregates. */
async function requireValid(
  session: GuardSession,
  { check, condition, isOverMart }: { check: Check; condition: RowCondition | null; isOverMart: boolean },
  columns: readonly CheckedColumn[],
): Promise<boolean> {
  if (condition === null) {
    if (check.type === 'freshness') requireTime(check, columns)
    return false
  }
  const { passes } = condition
  const inner = widened(oneRow(columns), [condition])
  try {
    await session.rows(`SELECT FROM ${inner} WHERE ${passes} LIMIT 0`)
    return false
  } catch (error) {
    const { code, message } = error as { code?: string; message?: string }
    if (code === undefined || error instanceof VitrinaError) throw error
    if (code === AGGREGATE_IN_WHERE && isOverMart && check.type === 'expression') return true
    const aggregate =
      code === AGGREGATE_IN_WHERE
        ? 'aggregates need over: mart, because a batch is only a part of the rows.'
        : null
    throw invalid(
      check,
      aggregate ?? `${message}.`,
      'Compare the check with the types of the columns.',
      error,
    )
  }
}

/**
 * The API refuses reversed numbers; SQL, and text and times, can still bring limits that nothing is within: every row would
 * fail, or be set aside. A warning cannot do harm.
 */
async function requireOrdered(
  session: GuardSession,
  check: Check,
  types: ReadonlyMap<string, string>,
): Promise<void> {
  if ((check.type !== 'range' && check.type !== 'row_count') || check.on_failure === 'warn') return
  const { min, max } = check
  if (min === undefined || max === undefined) return
  const isOutOfOrder =
    check.type === 'row_count'
      ? min > max
      : (await session.rows(`SELECT ${isReversed(min, max, types.get(check.column)!)}::text AS reversed`))[0]
          ?.reversed === 'true'
  if (!isOutOfOrder) return
  const what = check.type === 'range' ? 'row' : 'number of rows'
  throw invalid(check, `min ${min} is greater than max ${max}, so no ${what} can pass.`, 'Swap min and max.')
}

function requireTime(check: Extract<Check, { type: 'freshness' }>, columns: readonly CheckedColumn[]): void {
  const type = columns.find(({ name }) => name === check.column)!.type
  if (/^(?:timestamp|date)/.test(type)) return
  throw invalid(
    check,
    `column "${check.column}" has the type ${type}; freshness needs a date or a timestamp.`,
    'Choose a column with the time of the last change.',
  )
}

/** A relation with the columns that conditions need, still called `batch`. */
export function widened(
  relation: string,
  conditions: readonly Pick<RowCondition, 'window' | 'lookup'>[],
): string {
  const windows = conditions.flatMap(({ window }) => (window === null ? [] : [window]))
  const lookups = conditions.flatMap(({ lookup }) => (lookup === null ? [] : [lookup]))
  if (windows.length + lookups.length === 0) return relation
  const added = [...windows, ...lookups].map(({ sql, name }) => `${sql} AS ${name}`)
  const joins = lookups.map(({ join }) => ` ${join}`).join('')
  return `(SELECT batch.*, ${added.join(', ')} FROM ${relation}${joins}) AS batch`
}

// biome-ignore lint/complexity/useMaxParams: as VitrinaError, with the check in front.
function invalid(check: Check, fact: string, hint: string, cause?: unknown): VitrinaError {
  return new VitrinaError('CHECK_INVALID', `Check "${check.name}" (${check.type}): ${fact}`, hint, {
    ...(cause === undefined ? {} : { cause }),
    field: 'checks',
  })
}
