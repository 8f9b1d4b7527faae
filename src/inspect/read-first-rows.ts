import type { Preview } from '../model/validation.js'
import type { Session } from '../postgres/session.js'
import { quoteIdentifier } from '../sql/identifiers.js'
import { asRelation } from '../sql/selection.js'

/** A value longer than this is cut in a preview. */
const MOST_CHARACTERS = 2_000
/** Of a row. 200 rows of 1,600 long values would be a response of 640 MB. */
const MOST_OF_ROW = 64_000

/** The longest value in a preview of so many columns. */
function mostCharacters(columns: number): number {
  return Math.min(MOST_CHARACTERS, Math.floor(MOST_OF_ROW / Math.max(1, columns)))
}

/** Time limits of a preview, in milliseconds. */
export interface PreviewTimeouts {
  /** For each statement. */
  readonly query: number
  /** For user functions, which get less time than in a run. */
  readonly transforms: number
}

export const PREVIEW_TIMEOUTS: PreviewTimeouts = { query: 5_000, transforms: 10_000 }

/** A read-only snapshot with a time limit. */
export function inASnapshot({ query }: PreviewTimeouts): string {
  return `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = ${query}; SET LOCAL search_path = ''`
}

export interface FirstRows {
  readonly limit: number
  readonly timeouts: PreviewTimeouts
}

/** Runs only the text that the server wrote. */
export async function readFirstRows(
  session: Session,
  canonical: string,
  { columns, limit, timeouts }: FirstRows & { readonly columns: readonly { name: string; type: string }[] },
): Promise<Preview> {
  await session.run(inASnapshot(timeouts))
  const most = mostCharacters(columns.length)
  const texts = columns.map(
    (column, index) => `left(${quoteIdentifier(column.name)}::text, ${most + 1}) AS c${index}`,
  )
  const rows = await session.rows(`SELECT ${texts.join(', ')} FROM ${asRelation(canonical)} LIMIT ${limit}`)
  await session.run('ROLLBACK')
  const values = rows.map((row) => columns.map((_, index) => row[`c${index}`] ?? null))
  return { columns: columns.map(({ name, type }) => ({ name, type })), ...cutValues(values) }
}

/** Long values are truncated and marked as such. */
export function cutValues(
  values: readonly (readonly (string | null)[])[],
): Pick<Preview, 'rows' | 'truncated'> {
  const most = mostCharacters(values[0]?.length ?? 0)
  const isLong = (text: string | null) => text !== null && text.length > most
  return {
    rows: values.map((row) => row.map((text) => (isLong(text) ? text!.slice(0, most) : text))),
    truncated: values.some((row) => row.some(isLong)),
  }
}
