import { type CheckedColumn, type RowCheck, rowResult } from '../checks/index.js'
import { type CheckResult, checkedColumns, SAMPLE_SIZE } from '../model/check.js'
import type { Session, TextRow } from '../postgres/session.js'
import { quoteIdentifier } from '../sql/identifiers.js'

/** So many different values are looked up at once. */
const VALUES_AT_ONCE = 5_000

interface Related {
  /** The quoted name of the mart. */
  readonly table: string
  readonly columns: readonly CheckedColumn[]
  readonly check: RowCheck
  /** The key of a row of `batch` as text. */
  readonly key: string
}

/**
 * A relationship to a table that only the login of sources may read, while only the login of marts may read the mart: the
 * different values of the mart are read by the one and looked up by the other. Called inside a transaction of the mart.
 */
export async function relateToSource(
  { mart, source }: { readonly mart: Session; readonly source: Session },
  { table, columns, check, key }: Related,
): Promise<CheckResult> {
  const began = performance.now()
  const names = checkedColumns(check.check)
  const values = names.map((name) => `batch.${quoteIdentifier(name)}`)
  const texts = values.map((value, place) => `${value}::text AS v${place}`)
  await mart.run(
    `DECLARE related NO SCROLL CURSOR FOR SELECT ${texts.join(', ')}, count(*)::text AS same, min(${key}) AS key
       FROM ${table} AS batch WHERE ${values.map((value) => `${value} IS DISTINCT FROM NULL`).join(' AND ')}
      GROUP BY ${values.join(', ')}`,
  )
  const lookUp = missingValues(names, columns, check)
  const sample: string[] = []
  let failedRows = 0
  for (;;) {
    const found: TextRow[] = await mart.rows(`FETCH ${VALUES_AT_ONCE} FROM related`)
    const given = names.map((_, place) => found.map((row) => row[`v${place}`] ?? null))
    const missing = found.length === 0 ? [] : await source.rows(lookUp, given)
    for (const { place } of missing) {
      const { same, key: one } = found[Number(place) - 1]!
      failedRows += Number(same)
      if (sample.length < SAMPLE_SIZE) sample.push(one ?? 'NULL')
    }
    if (found.length < VALUES_AT_ONCE) break
  }
  await mart.run('CLOSE related')
  return rowResult(check, { failedRows, sample, durationMs: performance.now() - began }, 'mart')
}

/** The places of those given values, each list an array of texts, to which the other table has no row. */
function missingValues(
  names: readonly string[],
  columns: readonly CheckedColumn[],
  { condition }: RowCheck,
): string {
  const types = new Map(columns.map(({ name, type }) => [name, type]))
  const lists = names.map((_, place) => `$${place + 1}::text[]`)
  const given = names.map((_, place) => `v${place}`)
  const typed = names.map((name, place) => `v${place}::${types.get(name)} AS ${quoteIdentifier(name)}`)
  return `SELECT batch.place::text FROM (SELECT place, ${typed.join(', ')}
            FROM unnest(${lists.join(', ')}) WITH ORDINALITY AS given (${given.join(', ')}, place)) AS batch
          WHERE NOT (${condition.passes})`
}
