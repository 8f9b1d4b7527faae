import type { SourceTables } from '../../api/wire.js'

type Table = SourceTables['items'][number]

export interface Suggestion {
  readonly label: string
  readonly detail: string
  readonly kind: 'table' | 'column'
}

const BARE = /^[a-z_][a-z0-9_$]*$/

export function quoted(name: string): string {
  return BARE.test(name) ? name : `"${name.replaceAll('"', '""')}"`
}

export function nameOf({ schema, name }: Pick<Table, 'schema' | 'name'>): string {
  return `${quoted(schema)}.${quoted(name)}`
}

/** The tables in a text, by qualified name: sessions have no search path. */
function tablesIn(text: string, tables: readonly Table[]): readonly Table[] {
  const plain = text.toLowerCase()
  return tables.filter((table) => plain.includes(nameOf(table).toLowerCase()))
}

/** `film_work f` and `film_work as f`: the alias before a dot leads to the columns. */
export function tableBehind(word: string, text: string, tables: readonly Table[]): Table | null {
  const named = tables.find((table) => nameOf(table).toLowerCase() === word.toLowerCase())
  if (named !== undefined) return named
  const found = tablesIn(text, tables).find((table) => {
    const name = nameOf(table).replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
    const alias = word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
    return new RegExp(`${name}\\s+(?:as\\s+)?${alias}(?![\\w$])`, 'i').test(text)
  })
  return found ?? tables.find(({ name }) => name === word && tablesIn(text, tables).length > 0) ?? null
}

/** Completions at the end of `before`: columns after a dot, tables of a schema, or both. */
export function suggestions(before: string, text: string, tables: readonly Table[]): Suggestion[] {
  // Not from the middle of a name, which would take quadratic time in a long one.
  const owner = /(?<![\w$".])([\w$".]+)\.[\w$"]*$/.exec(before)?.[1]
  if (owner === undefined) return [...tables.map(asTable), ...tablesIn(text, tables).flatMap(columnsOf)]
  const table = tableBehind(owner, text, tables)
  if (table !== null) return columnsOf(table)
  return tables
    .filter(({ schema }) => quoted(schema) === owner)
    .map((one) => ({ ...asTable(one), label: quoted(one.name) }))
}

function asTable(table: Table): Suggestion {
  const rows = table.rows === null || table.rows <= 0 ? table.kind : `${table.kind}, ~${table.rows} rows`
  return { label: nameOf(table), detail: rows, kind: 'table' }
}

function columnsOf({ columns }: Table): Suggestion[] {
  return columns.map(({ name, type }) => ({ label: quoted(name), detail: type, kind: 'column' }))
}
