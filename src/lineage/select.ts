import type { Tree } from '../guard/index.js'
import type { ColumnUse } from '../model/lineage.js'
import { columnName } from './column-name.js'
import { type Derived, type DerivedField, type DerivedTable, either, union, unresolved } from './derived.js'
import { derive, type ExpressionContext, itemNamed } from './expression.js'
import { itemsOf } from './from.js'
import type { LineageWork, QueryContext } from './lineage-work.js'
import { allColumns, findColumn, type Scope } from './scope.js'
import { endsWithStar, listOf, namesOf, nodeOf } from './tree.js'
import { withQueries } from './with-queries.js'

/** The columns that a SELECT returns. Row filters are recorded on the way. */
export function select(work: LineageWork, node: Tree, place: QueryContext): DerivedTable {
  const within: QueryContext = { ...place, queries: withQueries(work, node, place) }
  if (isSetOperation(node)) return setOperation(work, node, within)
  if (node.valuesLists !== undefined) return values(work, node, within)
  const scope: Scope = {
    items: itemsOf(work, node.fromClause, within),
    outer: place.outer,
    windows: windowsOf(node),
  }
  const here: ExpressionContext = { ...within, scope }
  const table = targets(work, node, here)
  shape(work, node, { ...here, table })
  return table
}

function isSetOperation({ op }: Tree): boolean {
  return op !== undefined && op !== 'SETOP_NONE'
}

function setOperation(work: LineageWork, node: Tree, place: QueryContext): DerivedTable {
  const left = work.select(node.larg as Tree, place)
  const right = work.select(node.rarg as Tree, place)
  const table = node.op === 'SETOP_UNION' ? unionOf(work, left, right) : keptBy(work, left, right)
  const scope: Scope = { items: [], outer: null, windows: new Map() }
  sortShape(work, node, { ...place, scope, table })
  return table
}

function unionOf(work: LineageWork, left: DerivedTable, right: DerivedTable): DerivedTable {
  const open = left.open ?? right.open
  return work.limited({
    open,
    fields: left.fields.map(({ name, derived }, n) => ({
      name,
      derived: open === null ? either(derived, right.fields[n]?.derived ?? derived) : unresolved(open),
    })),
  })
}

/** EXCEPT and INTERSECT return rows of the left side; the right side only filters them. */
function keptBy(work: LineageWork, left: DerivedTable, right: DerivedTable): DerivedTable {
  for (const { derived } of [...left.fields, ...right.fields]) work.shaping.add(derived, 'filter')
  return left
}

function values(work: LineageWork, node: Tree, place: QueryContext): DerivedTable {
  const scope: Scope = { items: [], outer: place.outer, windows: new Map() }
  const rows = listOf(node.valuesLists).map((row) =>
    listOf((row.List as Tree | undefined)?.items).map((value) =>
      derive(work, { value }, { ...place, scope }),
    ),
  )
  const fields = (rows[0] ?? []).map((_, n): DerivedField => {
    const column = rows.flatMap((row) => row[n] ?? [])
    const kind = column.some((one) => one.kind !== 'constant') ? 'expression' : 'constant'
    return { name: `column${n + 1}`, derived: { ...column[0]!, kind, sources: union(column) } }
  })
  return work.limited({ fields, open: null })
}

function windowsOf(node: Tree): ReadonlyMap<string, unknown> {
  const windows = listOf(node.windowClause).map((value) => nodeOf(value).node)
  return new Map(windows.map((window) => [String(window.name), window]))
}

function targets(work: LineageWork, node: Tree, here: ExpressionContext): DerivedTable {
  const parts = listOf(node.targetList).map((value) => target(work, nodeOf(value).node, here))
  return work.limited({
    fields: parts.flatMap(({ fields }) => fields),
    open: parts.find(({ open }) => open !== null)?.open ?? null,
  })
}

function target(work: LineageWork, node: Tree, here: ExpressionContext): DerivedTable {
  const star = starOf(node.val, here)
  if (star !== null) return star
  const given = node.name === undefined ? null : String(node.name)
  const start = node.location
  const text =
    typeof start === 'number'
      ? (replaced: ReadonlyMap<number, string>) => work.text.target(start, given, replaced)
      : null
  return {
    fields: [{ name: given ?? columnName(node.val), derived: derive(work, { value: node.val, text }, here) }],
    open: null,
  }
}

/** `*`, `f.*` and `(f).*`; null: one column. */
function starOf(value: unknown, { scope }: ExpressionContext): DerivedTable | null {
  const found = nodeOf(value)
  if (found.kind === 'ColumnRef' && endsWithStar(found.node.fields)) {
    const names = namesOf(found.node.fields)
    if (names.length === 0) return allColumns(scope.items)
    return itemNamed(names, scope) ?? { fields: [], open: `${names.join('.')}.* is not known` }
  }
  if (found.kind !== 'A_Indirection' || !endsWithStar(found.node.indirection)) return null
  const arg = nodeOf(found.node.arg)
  const names = arg.kind === 'ColumnRef' ? namesOf(arg.node.fields) : []
  const item = names.length === 1 && findColumn(names[0]!, scope) === null ? itemNamed(names, scope) : null
  return item ?? { fields: [], open: 'the columns of a composite value are not known' }
}

type HereWithTable = ExpressionContext & { readonly table: DerivedTable }

function shape(work: LineageWork, node: Tree, { table, ...here }: HereWithTable): void {
  const note = (value: unknown, use: ColumnUse) => work.shaping.add(derive(work, { value }, here), use)
  if (node.whereClause !== undefined) note(node.whereClause, 'filter')
  if (node.havingClause !== undefined) note(node.havingClause, 'filter')
  if (node.limitCount !== undefined) note(node.limitCount, 'filter')
  if (node.limitOffset !== undefined) note(node.limitOffset, 'filter')
  for (const value of [...listOf(node.groupClause), ...listOf(node.distinctClause)])
    work.shaping.add(placed(value, table) ?? grouped(work, value, { ...here, table }), 'group')
  sortShape(work, node, { ...here, table })
}

/** A name of the input takes precedence over one of the output here. */
function grouped(work: LineageWork, value: unknown, { table, ...here }: HereWithTable): Derived {
  const derived = derive(work, { value }, here)
  return derived.unresolved === null ? derived : (called(value, table) ?? derived)
}

function sortShape(work: LineageWork, node: Tree, { table, ...here }: HereWithTable): void {
  for (const value of listOf(node.sortClause)) {
    const key = nodeOf(value).node.node
    work.shaping.add(placed(key, table) ?? called(key, table) ?? derive(work, { value: key }, here), 'sort')
  }
}

/** GROUP BY 1. */
function placed(value: unknown, table: DerivedTable): Derived | null {
  const found = nodeOf(value)
  const number = found.kind === 'A_Const' ? (found.node.ival as Tree | undefined)?.ival : undefined
  return typeof number === 'number' ? (table.fields[number - 1]?.derived ?? null) : null
}

function called(value: unknown, table: DerivedTable): Derived | null {
  const found = nodeOf(value)
  const names = found.kind === 'ColumnRef' ? namesOf(found.node.fields) : []
  if (names.length !== 1) return null
  return table.fields.find(({ name }) => name === names[0])?.derived ?? null
}
