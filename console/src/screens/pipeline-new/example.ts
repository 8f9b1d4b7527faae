import type { SourceTables } from '../../api/wire.js'
import { nameOf, quoted } from '../../components/authoring/completion.js'

const MOST_COLUMNS = 4
const ANY = 'SELECT id, title, updated_at\n  FROM content.films'

/** A working example: some columns of the most suitable readable table. */
export function exampleQuery(tables: SourceTables['items']): string {
  const [table] = [...tables]
    .filter(({ columns }) => columns.length > 1)
    .sort((one, other) => score(other) - score(one))
  if (table === undefined) return ANY
  // The last column is usually the modification time.
  const shown = table.columns.filter((_, n) => n < MOST_COLUMNS || n === table.columns.length - 1)
  const columns = shown.map(({ name }) => quoted(name))
  return `SELECT ${columns.join(', ')}\n  FROM ${nameOf(table)}`
}

/** Prefers tables with a key and a modification time, and tables to views. */
function score({ kind, columns }: SourceTables['items'][number]): number {
  const hasKey = columns.some(({ name }) => name === 'id')
  const hasTime = columns.some(({ type }) => type.startsWith('timestamp'))
  const hasText = columns.some(({ name }) => /title|name/i.test(name))
  return (hasKey ? 4 : 0) + (hasTime ? 2 : 0) + (hasText ? 4 : 0) + (kind === 'table' ? 1 : 0)
}
