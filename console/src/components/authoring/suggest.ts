import type { Validation } from '../../api/wire.js'
import { queryOf, type Spec, type SpecField } from './spec.js'

type Columns = Validation['columns']

/** `film_mart` for a query of content.film; empty without a table. */
export function suggestName(query: string): string {
  const table = /\bfrom\s+(?:"?[\w$]+"?\s*\.\s*)?"?([\w$]+)"?/i.exec(query)?.[1]
  return table === undefined ? '' : `${table.toLowerCase()}_mart`
}

/** The first allowed target for a table of this name: `analytics.*` before single names. */
export function suggestTarget(name: string, allowed: readonly string[]): string {
  const schema = allowed.find((rule) => rule.endsWith('.*'))
  if (schema === undefined) return allowed[0] ?? ''
  return name === '' ? '' : `${schema.slice(0, -1)}${name}`
}

/** The column that most likely identifies a row: `id`, or the first one ending in `id`. */
export function suggestKey(columns: Columns): string[] {
  const found = columns.find(({ name }) => name === 'id') ?? columns.find(({ name }) => /_id$/i.test(name))
  return found === undefined ? [] : [found.name]
}

/** Columns that could increase with every change, most likely first. */
export function growingColumns(columns: Columns): string[] {
  const rank = ({ name, type }: Columns[number]) =>
    /^timestamp/.test(type) ? (/upd|mod|chang/i.test(name) ? 0 : 1) : /^(big|small)?int/.test(type) ? 2 : 3
  return columns
    .map((column) => ({ name: column.name, rank: rank(column) }))
    .sort((one, other) => one.rank - other.rank)
    .map(({ name }) => name)
}

/** Only timestamps are suggested: a number may count something else. */
export function suggestGrowing(columns: Columns): string | null {
  const [first] = growingColumns(columns)
  return columns.find(({ name, type }) => name === first && type.startsWith('timestamp'))?.name ?? null
}

/** Fields that the user has not set follow from the query. */
export function withSuggestions(
  spec: Spec,
  decided: ReadonlySet<SpecField>,
  { columns, targets }: { readonly columns: Columns; readonly targets: readonly string[] },
): Spec {
  const isByKey = spec.mode === 'incremental' && spec.capture === 'key'
  const name = decided.has('name') ? spec.name : suggestName(queryOf(spec))
  return {
    ...spec,
    name,
    target_table: decided.has('target_table') ? spec.target_table : suggestTarget(name, targets),
    key_columns: decided.has('key_columns') ? spec.key_columns : suggestKey(columns),
    incremental_key:
      isByKey && !decided.has('incremental_key') ? suggestGrowing(columns) : spec.incremental_key,
  }
}
