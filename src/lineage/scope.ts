import type { SourceColumn } from '../model/lineage.js'
import { columnOf, type Derived, type Field, type Table, union, unresolved } from './derived.js'

/** Something in FROM, under the name by which the rest of the query may call it. */
export interface Item extends Table {
  readonly name: string | null
  /** Only a table without an alias can be called by its schema as well. */
  readonly schema: string | null
  /** The table itself: its columns may be named though nobody knows them all. */
  readonly base: Pick<SourceColumn, 'schema' | 'table'> | null
  /** What every column comes from that is not listed: a function gives nothing but what it was given. */
  readonly rest: Derived | null
  /** `*` and names without a table mean its columns. Those of a join with USING stand in for those of its sides. */
  readonly showsColumns: boolean
  readonly showsName: boolean
}

/** What a name can mean at one place of a query: what stands in FROM, and what stands around the query. */
export interface Scope {
  readonly items: readonly Item[]
  readonly outer: Scope | null
  readonly windows: ReadonlyMap<string, unknown>
}

const SYSTEM = new Set(['ctid', 'xmin', 'xmax', 'cmin', 'cmax', 'tableoid'])

/** A name without a table. Null: no column is called so, at any level. */
export function findColumn(name: string, scope: Scope | null): Derived | null {
  if (scope === null) return null
  const shown = scope.items.filter(({ showsColumns }) => showsColumns)
  const found = shown.flatMap((item) => matches(item, name))
  if (found.length === 1) return found[0]!
  if (found.length > 1) return unresolved(`"${name}" is ambiguous`)
  return inOpenItem(name, shown, scope) ?? findColumn(name, scope.outer)
}

/** Where columns are not known, the name may be one of them, or one of a level further out. */
function inOpenItem(name: string, shown: readonly Item[], scope: Scope): Derived | null {
  const open = shown.filter((item) => item.open !== null)
  if (open.length === 0) return null
  const [only] = shown
  const isOnly = shown.length === 1 && scope.outer === null && only!.name !== name
  if (isOnly && only!.base !== null) return columnOf({ ...only!.base, column: name })
  return unresolved(open[0]!.open!)
}

function matches(item: Item, name: string): Derived[] {
  const found = item.fields.filter((field) => field.name === name).map(({ derived }) => derived)
  if (found.length > 0 || item.base === null || !SYSTEM.has(name)) return found
  return [columnOf({ ...item.base, column: name })]
}

export function findItem(name: string, schema: string | null, scope: Scope | null): Item | null {
  if (scope === null) return null
  const found = scope.items.find(
    (item) => item.showsName && item.name === name && (schema === null || item.schema === schema),
  )
  return found ?? findItem(name, schema, scope.outer)
}

export function columnOfItem(item: Item, name: string): Derived {
  const found = matches(item, name)
  if (found.length > 1) return unresolved(`"${name}" is ambiguous`)
  if (found.length === 1) return found[0]!
  if (item.rest !== null) return item.rest
  if (item.open !== null && item.base !== null) return columnOf({ ...item.base, column: name })
  return unresolved(item.open ?? `${item.name} has no column "${name}"`)
}

export function wholeRow({ fields, open, rest }: Table & Partial<Pick<Item, 'rest'>>): Derived {
  const parts = [...fields.map(({ derived }) => derived), ...(rest ? [rest] : [])]
  const reason = parts.find((part) => part.unresolved !== null)?.unresolved ?? (rest ? null : open)
  return { kind: 'expression', sources: union(parts), text: null, unresolved: reason }
}

/** What `*` stands for. */
export function allColumns(items: readonly Item[]): Table {
  const shown = items.filter(({ showsColumns }) => showsColumns)
  return {
    fields: shown.flatMap(({ fields }) => fields),
    open: shown.find(({ open }) => open !== null)?.open ?? null,
  }
}

/** Columns by their names for a join: the first of that name, or what can be said of it. */
export function namedIn(items: readonly Item[], name: string): Derived {
  return findColumn(name, { items, outer: null, windows: new Map() }) ?? unresolved(`no column "${name}"`)
}

export function fieldNames(items: readonly Item[]): string[] {
  return allColumns(items).fields.map(({ name }: Field) => name)
}
