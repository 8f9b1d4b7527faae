import { type CheckResult, failureText, overOf, SAMPLE_SIZE, statusOf } from '../model/check.js'
import { cutText } from '../model/cut-text.js'
import { quoteIdentifier, quoteList } from '../sql/identifiers.js'
import { sqlstateOf } from '../sql/sqlstate.js'
import { type RowCheck, widened } from './compile-checks.js'

/** A condition that is false raises an error with this text. */
const MARKER = 'vitrina-check-failed'
const MOST_CHARACTERS = 1_000
/** Of a key in a sample. */
export const LONGEST_KEY = MOST_CHARACTERS

/**
 * A relation whose rows are checked as they are read: the first one that fails raises an error, and nothing of the
 * statement is written. So a batch without bad rows costs a condition for each row, and no second statement. OFFSET 0:
 * otherwise the planner would evaluate the condition on rows that a join of the query drops. The rows keep the order in
 * which they are written: otherwise they would be sorted although an index returns them in it (a quarter of an insert).
 */
export function guardedRelation(
  relation: string,
  checks: readonly RowCheck[],
  key: readonly string[],
): string {
  const conditions = checks.map(({ condition }) => condition)
  const passes = checks.map(({ condition }) => condition.passes).join(' AND ')
  const order = conditions.every(({ window }) => window === null)
    ? ` ORDER BY ${quoteList(key, 'batch.')}`
    : ''
  const fenced = relation.startsWith('(')
    ? `(SELECT batch.* FROM ${relation}${order} OFFSET 0) AS batch`
    : relation
  return `(SELECT batch.* FROM ${widened(fenced, conditions)} WHERE CASE WHEN ${passes} THEN true ELSE ${raised(key)} END) AS batch`
}

/** Depends on a column: the planner evaluates a constant before it reads the first row. */
function raised([column]: readonly string[]): string {
  return `('${MARKER}' || coalesce(left(batch.${quoteIdentifier(column ?? '')}::text, 0), ''))::boolean`
}

/** A guarded relation has met a row that fails. */
export function isCheckFailure(error: unknown): boolean {
  const { cause } = error as { cause?: unknown }
  const raisedBy = sqlstateOf(error) === null && cause !== undefined ? cause : error
  return sqlstateOf(raisedBy) === '22P02' && String((raisedBy as Error).message).includes(MARKER)
}

/**
 * Whether a check has the same result in the database of the source: it compares values by rules that do not depend on
 * a collation, and reads no other table.
 */
export function isPortable({ check }: Pick<RowCheck, 'check'>): boolean {
  return check.type === 'not_null' || check.type === 'accepted_values' || check.type === 'range'
}

/** The rows of `relation` (called `batch`) that fail. */
export function failingRows({ condition }: RowCheck, relation: string): string {
  return `${widened(relation, [condition])} WHERE NOT (${condition.passes})`
}

/** A check of rows that found these. */
export function rowResult(
  { check }: Pick<RowCheck, 'check'>,
  found: { readonly failedRows: number; readonly sample: readonly string[]; readonly durationMs: number },
  over = overOf(check),
): CheckResult {
  const { name, type, on_failure: onFailure } = check
  const { failedRows } = found
  return {
    name,
    type,
    over,
    onFailure,
    status: failedRows === 0 ? 'passed' : statusOf(onFailure),
    ...found,
    sample: found.sample.slice(0, SAMPLE_SIZE).map((key) => cutText(key, LONGEST_KEY)),
    observed: null,
    message: failedRows === 0 ? '' : failureText(check),
  }
}

/** A check that could not be evaluated. */
export function erroneous(
  { check }: Pick<RowCheck, 'check'>,
  error: unknown,
  { over, durationMs }: Pick<CheckResult, 'over' | 'durationMs'>,
): CheckResult {
  const { name, type, on_failure: onFailure } = check
  const message = cutText(`${(error as Error).message}.`, MOST_CHARACTERS)
  return {
    name,
    type,
    over,
    onFailure,
    status: 'error',
    failedRows: 0,
    sample: [],
    observed: null,
    message,
    durationMs,
  }
}
