import type { Preview } from '../model/validation.js'
import type { Session } from '../postgres/session.js'
import { quoteIdentifier } from '../sql/identifiers.js'
import { asRelation } from '../sql/selection.js'

/** A value longer than this is cut in a preview. */
const MOST_CHARACTERS = 2_000

/** Only the text that the server itself wrote is run, in a snapshot that cannot write, within a few seconds. */
export async function readFirstRows(
  session: Session,
  canonical: string,
  columns: readonly { name: string; type: string }[],
  limit: number,
): Promise<Preview> {
  await session.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = '5s'")
  const texts = columns.map(
    (column, index) => `left(${quoteIdentifier(column.name)}::text, ${MOST_CHARACTERS + 1}) AS c${index}`,
  )
  const rows = await session.rows(`SELECT ${texts.join(', ')} FROM ${asRelation(canonical)} LIMIT ${limit}`)
  await session.run('ROLLBACK')
  const values = rows.map((row) => columns.map((_, index) => row[`c${index}`] ?? null))
  const isLong = (text: string | null) => text !== null && text.length > MOST_CHARACTERS
  return {
    columns: columns.map(({ name, type }) => ({ name, type })),
    rows: values.map((row) => row.map((text) => (isLong(text) ? text!.slice(0, MOST_CHARACTERS) : text))),
    truncated: values.some((row) => row.some(isLong)),
  }
}
