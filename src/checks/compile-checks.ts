import { type Check, columnsOf, overOf } from '../model/check.js'
import { VitrinaError } from '../model/errors.js'
import { readTableName } from '../model/table-name.js'
import { isAllowedTarget, type TargetRules } from '../model/target.js'
import type { GuardSession, QueryGuard } from '../ports/query-guard.js'
import { quoteIdentifier } from '../sql/identifiers.js'
import { type CheckedColumn, type Condition, conditionOf } from './condition.js'

/** A check of rows, ready to be evaluated. */
export interface RowCheck {
  readonly check: Check
  readonly condition: Condition
}

/** A check of the mart. */
export interface MartCheck {
  readonly check: Check
  /** Null: it is about the mart as a whole. */
  readonly condition: Condition | null
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
    requireReadable(check, rules)
    const isOverMart = overOf(check, rules.isTable) === 'mart'
    if (isOverMart && !rules.isTable) throw overSink(check)
    const condition = conditionOf(check, types, place)
    if (check.type === 'expression') await requireExpression(session, check, { columns, guard: rules.guard })
    const isAggregate = await requireValid(session, { check, condition, isOverMart }, columns)
    if (isOverMart) mart.push({ check, condition, isAggregate })
    else if (condition !== null) rows.push({ check, condition })
  }
  return { rows, mart }
}

function requireColumns(check: Check, types: ReadonlyMap<string, string>): void {
  const unknown = columnsOf(check).find((name) => !types.has(name))
  if (unknown === undefined) return
  throw invalid(
    check,
    `the mart has no column "${unknown}"; it has ${[...types.keys()].join(', ')}.`,
    'Correct the name of the column, or add it to the query.',
  )
}

function requireReadable(check: Check, { targets, sourceSchemas }: CheckRules): void {
  if (check.type !== 'relationship') return
  const table = readTableName(check.to)
  if (table !== null && (sourceSchemas.includes(table.schema) || isAllowedTarget(check.to, targets))) return
  throw invalid(
    check,
    `${check.to} may not be read: only the schemas ${sourceSchemas.join(', ')} and the targets ${targets.tables.join(', ')} may.`,
    'Choose another table, or ask an administrator to extend ALLOWED_SOURCE_SCHEMAS.',
  )
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
  { check, condition, isOverMart }: { check: Check; condition: Condition | null; isOverMart: boolean },
  columns: readonly CheckedColumn[],
): Promise<boolean> {
  if (condition === null) {
    if (check.type === 'freshness') requireTime(check, columns)
    return false
  }
  const { passes, window } = condition
  const inner = window === null ? oneRow(columns) : windowed(oneRow(columns), [window])
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

function requireTime(check: Extract<Check, { type: 'freshness' }>, columns: readonly CheckedColumn[]): void {
  const type = columns.find(({ name }) => name === check.column)!.type
  if (/^(?:timestamp|date)/.test(type)) return
  throw invalid(
    check,
    `column "${check.column}" has the type ${type}; freshness needs a date or a timestamp.`,
    'Choose a column with the time of the last change.',
  )
}

/** A relation with the windows that conditions need, still called `batch`. */
export function windowed(relation: string, windows: readonly NonNullable<Condition['window']>[]): string {
  if (windows.length === 0) return relation
  const added = windows.map(({ sql, name }) => `${sql} AS ${name}`)
  return `(SELECT batch.*, ${added.join(', ')} FROM ${relation}) AS batch`
}

// biome-ignore lint/complexity/useMaxParams: as VitrinaError, with the check in front.
function invalid(check: Check, fact: string, hint: string, cause?: unknown): VitrinaError {
  return new VitrinaError('CHECK_INVALID', `Check "${check.name}" (${check.type}): ${fact}`, hint, {
    ...(cause === undefined ? {} : { cause }),
    field: 'checks',
  })
}
