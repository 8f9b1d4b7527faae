import { type CheckResult, SAMPLE_SIZE } from '../model/check.js'
import { VitrinaError } from '../model/errors.js'
import { quarantineKey } from '../model/quarantine.js'
import type { GuardSession } from '../ports/query-guard.js'
import { quoteIdentifier } from '../sql/identifiers.js'
import type { RowBatch } from '../sql/row-batch.js'
import { sqlstateOf } from '../sql/sqlstate.js'
import { type RowCheck, widened } from './compile-checks.js'
import type { CheckedColumn } from './condition.js'
import { erroneous, rowResult } from './row-checker.js'

export interface RowBatchChecks {
  /** A database that knows the types of the columns; only the columns that checks name are sent to it. */
  readonly session: GuardSession
  readonly columns: readonly CheckedColumn[]
  readonly key: readonly string[]
  readonly checks: readonly RowCheck[]
}

export interface CheckedBatch {
  readonly results: readonly CheckResult[]
  /** The places of rows that are to be set aside, with the check that each fails first. */
  readonly refused: ReadonlyMap<number, RowCheck>
}

/**
 * Evaluates checks on rows of this process in PostgreSQL, with the conditions that a table would use: NULL, collations and
 * numbers mean the same for every target.
 */
export async function checkRowBatch(parts: RowBatchChecks, batch: RowBatch): Promise<CheckedBatch> {
  const began = performance.now()
  const verdicts = await verdictsOf(parts, batch)
  const durationMs = (performance.now() - began) / parts.checks.length
  const refused = new Map<number, RowCheck>()
  const results = parts.checks.map((one, n) => {
    const places = verdicts[n] ?? []
    if (places instanceof Error) return erroneous(one, places, { over: 'batch', durationMs })
    if (one.check.on_failure === 'quarantine')
      for (const place of places) if (!refused.has(place)) refused.set(place, one)
    const sample = places.slice(0, SAMPLE_SIZE).map((place) => keyOf(parts, batch, place))
    return rowResult(one, { failedRows: places.length, sample, durationMs }, 'batch')
  })
  return { results, refused }
}

/** The places of the rows that fail each check, or why it cannot be evaluated. */
async function verdictsOf(parts: RowBatchChecks, batch: RowBatch): Promise<(number[] | Error)[]> {
  try {
    return await failingPlaces(parts, batch)
  } catch (error) {
    if (error instanceof VitrinaError || sqlstateOf(error) === null) throw error
    if (parts.checks.length === 1) return [error as Error]
    const verdicts: (number[] | Error)[] = []
    for (const one of parts.checks) verdicts.push(...(await verdictsOf({ ...parts, checks: [one] }, batch)))
    return verdicts
  }
}

function keyOf({ columns, key }: RowBatchChecks, batch: RowBatch, place: number): string {
  const texts = batch.rows[place] ?? []
  const values = key.map((name) => texts[columns.findIndex((column) => column.name === name)] ?? null)
  return quarantineKey(values, texts)
}

/** The places of the rows that fail, for each check. */
async function failingPlaces(parts: RowBatchChecks, batch: RowBatch): Promise<number[][]> {
  const { session, columns, checks } = parts
  const placed = columns.map((column, place) => ({ ...column, place }))
  const named = placed.filter((column) => isUsed(column, checks))
  // Without any column the number of rows would be unknown.
  const used = named.length > 0 ? named : placed.slice(0, 1)
  const values = used.map(({ place }) => batch.rows.map((row) => row[place] ?? null))
  const typed = used.map(({ name, type }, n) => `u.c${n}::${type} AS ${quoteIdentifier(name)}`)
  const arrays = used.map((_, n) => `$${n + 1}::text[]`)
  const relation = `(SELECT u.vitrina_n, ${typed.join(', ')} FROM unnest(${arrays.join(', ')}) WITH ORDINALITY AS u(${[...used.map((_, n) => `c${n}`), 'vitrina_n'].join(', ')}) OFFSET 0) AS batch`
  const conditions = checks.map(({ condition }) => condition)
  const verdicts = checks.map(({ condition }, n) => `(${condition.passes}) AS p${n}`)
  const rows = await session.rows(
    `SELECT vitrina_n::text AS place, ${checks.map((_, n) => `p${n}::text`).join(', ')}
       FROM (SELECT batch.vitrina_n, ${verdicts.join(', ')} FROM ${widened(relation, conditions)}) AS verdicts
      WHERE NOT (${checks.map((_, n) => `p${n}`).join(' AND ')}) ORDER BY vitrina_n`,
    values,
  )
  return checks.map((_, n) =>
    rows.filter((row) => row[`p${n}`] === 'false').map(({ place }) => Number(place) - 1),
  )
}

function isUsed({ name }: CheckedColumn, checks: readonly RowCheck[]): boolean {
  return checks.some(({ check, condition }) =>
    check.type === 'expression'
      ? /U&/i.test(check.sql) || check.sql.toLowerCase().includes(name.replaceAll('"', '""').toLowerCase())
      : condition.passes.includes(quoteIdentifier(name)) ||
        `${condition.window?.sql} ${condition.lookup?.join}`.includes(quoteIdentifier(name)),
  )
}
