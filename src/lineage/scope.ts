import type { SourceColumn } from '../model/lineage.js'
import { columnOf, type Derived, type DerivedField, type DerivedTable, union, unresolved } from './derived.js'

/** An item of FROM, under the name that the rest of the query uses for it. */
export interface FromItem extends DerivedTable {
  readonly name: string | null
  /** Only a table without an alias can also be referred to by its schema. */
  readonly schema: string | null
  /** The table itself: its columns may be named even if they are unknown. */
  readonly base: Pick<SourceColumn, 'schema' | 'table'> | null
  /** The source of every column that is not listed: the output of a function depends on its arguments. */
  readonly rest: Derived | null
  /** `*` and names without a table include its columns. The columns of a join with USING replace those of its sides. */
  readonly showsColumns: boolean
  readonly showsName: boolean
}

/** What names refer to at one place of a query: the items of FROM, and the enclosing query. */
export interface Scope {
  readonly items: readonly FromItem[]
  readonly outer: Scope | null
  readonly windows: ReadonlyMap<string, unknown>
}

const SYSTEM = new Set(['ctid', 'xmin', 'xmax', 'cmin', 'cmax', 'tableoid'])

/** A name without a table. Null: no column has this name, at any level. */
export function findColumn(name: string, scope: Scope | null): Derived | null {
  if (scope === null) return null
  const shown = scope.items.filter(({ showsColumns }) => showsColumns)
  const found = shown.flatMap((item) => matches(item, name))
  if (found.length === 1) return found[0]!
  if (found.length > 1) return unresolved(`"${name}" is ambiguous`)
  return inOpenItem(name, shown, scope) ?? findColumn(name, scope.outer)
}

/** If columns are unknown, the name may be one of them, or belong to an outer level. */
function inOpenItem(name: string, shown: readonly FromItem[], scope: Scope): Derived | null {
  const open = shown.filter((item) => item.open !== null)
  if (open.length === 0) return null
  const [only] = shown
  const isOnly = shown.length === 1 && scope.outer === null && only!.name !== name
  if (isOnly && only!.base !== null) return columnOf({ ...only!.base, column: name })
  return unresolved(open[0]!.open!)
}

function matches(item: FromItem, name: string): Derived[] {
  const found = item.fields.filter((field) => field.name === name).map(({ derived }) => derived)
  if (found.length > 0 || item.base === null || !SYSTEM.has(name)) return found
  return [columnOf({ ...item.base, column: name })]
}

export function findItem(name: string, schema: string | null, scope: Scope | null): FromItem | null {
  if (scope === null) return null
  const found = scope.items.find(
    (item) => item.showsName && item.name === name && (schema === null || item.schema === schema),
  )
  return found ?? findItem(name, schema, scope.outer)
}

export function columnOfItem(item: FromItem, name: string): Derived {
  const found = matches(item, name)
  if (found.length > 1) return unresolved(`"${name}" is ambiguous`)
  if (found.length === 1) return found[0]!
  if (item.rest !== null) return item.rest
  if (item.open !== null && item.base !== null) return columnOf({ ...item.base, column: name })
  return unresolved(item.open ?? `${item.name} has no column "${name}"`)
}

export function wholeRow({ fields, open, rest }: DerivedTable & Partial<Pick<FromItem, 'rest'>>): Derived {
  const parts = [...fields.map(({ derived }) => derived), ...(rest ? [rest] : [])]
  const reason = parts.find((part) => part.unresolved !== null)?.unresolved ?? (rest ? null : open)
  return { kind: 'expression', sources: union(parts), text: null, unresolved: reason }
}

/** The columns of `*`. */
export function allColumns(items: readonly FromItem[]): DerivedTable {
  const shown = items.filter(({ showsColumns }) => showsColumns)
  return {
    fields: shown.flatMap(({ fields }) => fields),
    open: shown.find(({ open }) => open !== null)?.open ?? null,
  }
}

/** Columns by name for a join: the first with that name, or the reason why it is unresolved. */
export function namedIn(items: readonly FromItem[], name: string): Derived {
  return findColumn(name, { items, outer: null, windows: new Map() }) ?? unresolved(`no column "${name}"`)
}

export function fieldNames(items: readonly FromItem[]): string[] {
  return allColumns(items).fields.map(({ name }: DerivedField) => name)
}
