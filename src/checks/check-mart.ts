import {
  type Check,
  type CheckResult,
  checkedColumns,
  failureText,
  LEAST_USUAL_RUNS,
  SAMPLE_SIZE,
  statusOf,
  USUAL_RUNS,
} from '../model/check.js'
import { VitrinaError } from '../model/errors.js'
import { intervalMs } from '../model/schedule.js'
import type { GuardSession } from '../ports/query-guard.js'
import { quoteIdentifier } from '../sql/identifiers.js'
import { sqlstateOf } from '../sql/sqlstate.js'
import type { MartCheck } from './compile-checks.js'
import { erroneous, failingRows, LONGEST_KEY, rowResult } from './row-checker.js'

export interface CheckedMart {
  readonly session: GuardSession
  /** The quoted name of the table. */
  readonly table: string
  readonly key: readonly string[]
  /** Numbers of rows that earlier results of a check observed, newest first. */
  readonly usual: (name: string) => Promise<readonly number[]>
}

/** Evaluates checks over a mart. Called inside a transaction: a check that raises an error does not end it. */
export async function checkMart(mart: CheckedMart, checks: readonly MartCheck[]): Promise<CheckResult[]> {
  const results: CheckResult[] = []
  for (const one of checks) results.push(await evaluated(mart, one))
  return results
}

async function evaluated(mart: CheckedMart, one: MartCheck): Promise<CheckResult> {
  const { session } = mart
  const began = performance.now()
  const elapsed = () => performance.now() - began
  await session.run('SAVEPOINT checked')
  try {
    const result = await evaluate(mart, one, elapsed)
    await session.run('RELEASE checked')
    return result
  } catch (error) {
    if (error instanceof VitrinaError || sqlstateOf(error) === null) throw error
    await session.run('ROLLBACK TO checked; RELEASE checked')
    return erroneous(one, error, { over: 'mart', durationMs: elapsed() })
  }
}

async function evaluate(mart: CheckedMart, one: MartCheck, elapsed: () => number): Promise<CheckResult> {
  const { check } = one
  if (check.type === 'row_count') return countResult(mart, check, elapsed)
  if (check.type === 'freshness') return freshnessResult(mart, check, elapsed)
  if (check.type === 'expression' && one.isAggregate) return aggregateResult(mart, one, elapsed)
  if (check.type === 'unique') return uniqueResult(mart, one, elapsed)
  const rows = failingRows({ check, condition: one.condition! }, `${mart.table} AS batch`)
  const [count] = await mart.session.rows(`SELECT count(*)::text AS failed FROM ${rows}`)
  const failedRows = Number(count?.failed ?? 0)
  const sample = failedRows === 0 ? [] : await sampleOf(mart, rows)
  return rowResult(one, { failedRows, sample, durationMs: elapsed() }, 'mart')
}

async function sampleOf({ session, key }: CheckedMart, rows: string): Promise<string[]> {
  const found = await session.rows(`SELECT ${keyText(key)} AS key FROM ${rows} LIMIT ${SAMPLE_SIZE}`)
  return found.map(({ key: text }) => text ?? 'NULL')
}

/**
 * The key of a row of `batch` as text: a composite one as JSON, as the quarantine has it. Only its beginning: a column
 * that must be unique may contain values that no message of the database can carry.
 */
export function keyText(key: readonly string[]): string {
  const texts = key.map((name) => `batch.${quoteIdentifier(name)}::text`)
  const whole = texts.length === 1 ? texts[0]! : `jsonb_build_array(${texts.join(', ')})::text`
  return `left(${whole}, ${LONGEST_KEY + 1})`
}

/** Grouped, not numbered by a window: a mart is larger than a batch. */
async function uniqueResult(mart: CheckedMart, one: MartCheck, elapsed: () => number): Promise<CheckResult> {
  const names = checkedColumns(one.check)
  const columns = names.map((name) => `batch.${quoteIdentifier(name)}`)
  const known = columns.map((column) => `${column} IS NOT NULL`).join(' AND ')
  const groups = `FROM ${mart.table} AS batch WHERE ${known} GROUP BY ${columns.join(', ')} HAVING count(*) > 1`
  const [sum] = await mart.session.rows(
    `SELECT coalesce(sum(same), 0)::text AS failed FROM (SELECT count(*) AS same ${groups}) AS groups`,
  )
  const failedRows = Number(sum?.failed ?? 0)
  const found =
    failedRows === 0
      ? []
      : await mart.session.rows(`SELECT ${keyText(names)} AS key ${groups} LIMIT ${SAMPLE_SIZE}`)
  const sample = found.map(({ key }) => key ?? 'NULL')
  return rowResult(one, { failedRows, sample, durationMs: elapsed() }, 'mart')
}

async function aggregateResult(
  { session, table }: CheckedMart,
  { check }: MartCheck,
  elapsed: () => number,
): Promise<CheckResult> {
  const { sql } = check as Extract<Check, { type: 'expression' }>
  const [row] = await session.rows(
    `SELECT ((\n${sql}\n) IS NOT FALSE)::text AS passes FROM ${table} AS batch`,
  )
  const passes = row?.passes === 'true'
  return asWhole(check, { message: passes ? '' : failureText(check), observed: null, durationMs: elapsed() })
}

async function countResult(
  { session, table, usual }: CheckedMart,
  check: Extract<Check, { type: 'row_count' }>,
  elapsed: () => number,
): Promise<CheckResult> {
  const [row] = await session.rows(`SELECT count(*)::text AS rows FROM ${table}`)
  const rows = Number(row?.rows ?? 0)
  const message = countMessage(check, rows, check.usual === undefined ? [] : await usual(check.name))
  return asWhole(check, { message, observed: rows, durationMs: elapsed() })
}

function countMessage(
  { min, max, usual }: Extract<Check, { type: 'row_count' }>,
  rows: number,
  earlier: readonly number[],
): string {
  if (min !== undefined && rows < min) return `The mart has ${rows} rows, fewer than ${min}.`
  if (max !== undefined && rows > max) return `The mart has ${rows} rows, more than ${max}.`
  const middle = medianOf(earlier.slice(0, USUAL_RUNS))
  if (usual === undefined || middle === null) return ''
  const [least, most] = [middle * (1 - usual / 100), middle * (1 + usual / 100)]
  if (rows >= least && rows <= most) return ''
  return `The mart has ${rows} rows, outside ${middle} ± ${usual} % (${middle} is the median of the last ${earlier.length} results).`
}

function medianOf(numbers: readonly number[]): number | null {
  if (numbers.length < LEAST_USUAL_RUNS) return null
  const sorted = numbers.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

async function freshnessResult(
  { session, table }: CheckedMart,
  check: Extract<Check, { type: 'freshness' }>,
  elapsed: () => number,
): Promise<CheckResult> {
  const column = quoteIdentifier(check.column)
  const [row] = await session.rows(
    `SELECT extract(epoch FROM clock_timestamp() - max(${column})::timestamptz)::text AS age, max(${column})::text AS newest FROM ${table}`,
  )
  const age = row?.age == null ? null : Number(row.age)
  const isOld = age === null || age * 1000 > intervalMs(check.max_age)!
  const message = !isOld
    ? ''
    : age === null
      ? `The mart has no row with a value of ${check.column}.`
      : `The newest value of ${check.column} is ${row?.newest}, ${Math.round(age)} s old; the limit is ${check.max_age}.`
  return asWhole(check, {
    message,
    observed: age === null ? null : Math.round(age * 1000) / 1000,
    durationMs: elapsed(),
  })
}

function asWhole(
  { name, type, on_failure: onFailure }: Check,
  { message, ...found }: Pick<CheckResult, 'message' | 'observed' | 'durationMs'>,
): CheckResult {
  const status = message === '' ? 'passed' : statusOf(onFailure)
  return { name, type, over: 'mart', onFailure, status, failedRows: 0, sample: [], message, ...found }
}
