import type { SourceTables } from '../../api/wire.js'
import { nameOf, quoted } from '../../components/authoring/completion.js'

const MOST_COLUMNS = 4
const ANY = 'SELECT id, title, updated_at\n  FROM content.films'

/** A query that works here: some columns of the fullest table that may be read. */
export function exampleQuery(tables: SourceTables['items']): string {
  const [table] = [...tables]
    .filter(({ columns }) => columns.length > 1)
    .sort((one, other) => score(other) - score(one))
  if (table === undefined) return ANY
  // The last one is most often the time of a change.
  const told = table.columns.filter((_, n) => n < MOST_COLUMNS || n === table.columns.length - 1)
  const columns = told.map(({ name }) => quoted(name))
  return `SELECT ${columns.join(', ')}\n  FROM ${nameOf(table)}`
}

/** A table with a key and a time of change shows most; then a table before a view. */
function score({ kind, columns }: SourceTables['items'][number]): number {
  const hasKey = columns.some(({ name }) => name === 'id')
  const hasTime = columns.some(({ type }) => type.startsWith('timestamp'))
  const hasText = columns.some(({ name }) => /title|name/i.test(name))
  return (hasKey ? 4 : 0) + (hasTime ? 2 : 0) + (hasText ? 4 : 0) + (kind === 'table' ? 1 : 0)
}
