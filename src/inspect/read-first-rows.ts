import type { Preview } from '../model/validation.js'
import type { Session } from '../postgres/session.js'
import { quoteIdentifier } from '../sql/identifiers.js'
import { asRelation } from '../sql/selection.js'

/** A value longer than this is cut in a preview. */
const MOST_CHARACTERS = 2_000

/** Time limits of a preview, in milliseconds. */
export interface PreviewPatience {
  /** For each statement. */
  readonly query: number
  /** For user functions, which get less time than in a run. */
  readonly transforms: number
}

export const PREVIEW_PATIENCE: PreviewPatience = { query: 5_000, transforms: 10_000 }

/** A read-only snapshot with a time limit. */
export function inASnapshot({ query }: PreviewPatience): string {
  return `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = ${query}; SET LOCAL search_path = ''`
}

export interface FirstRows {
  readonly limit: number
  readonly patience: PreviewPatience
}

/** Runs only the text that the server wrote. */
export async function readFirstRows(
  session: Session,
  canonical: string,
  { columns, limit, patience }: FirstRows & { readonly columns: readonly { name: string; type: string }[] },
): Promise<Preview> {
  await session.run(inASnapshot(patience))
  const texts = columns.map(
    (column, index) => `left(${quoteIdentifier(column.name)}::text, ${MOST_CHARACTERS + 1}) AS c${index}`,
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
  const isLong = (text: string | null) => text !== null && text.length > MOST_CHARACTERS
  return {
    rows: values.map((row) => row.map((text) => (isLong(text) ? text!.slice(0, MOST_CHARACTERS) : text))),
    truncated: values.some((row) => row.some(isLong)),
  }
}
