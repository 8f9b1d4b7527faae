import type { Tree } from '../guard/index.js'
import {
  columnOf,
  type Derived,
  type DerivedField,
  type DerivedTable,
  renamed,
  union,
  unresolved,
} from './derived.js'
import { derive, type ExpressionContext } from './expression.js'
import { functionItem } from './function-item.js'
import type { LineageWork, QueryContext } from './lineage-work.js'
import { allColumns, type FromItem, fieldNames, namedIn, type Scope } from './scope.js'
import { listOf, namesOf, nodeOf } from './tree.js'

/** The items of FROM, from left to right: with LATERAL each can refer to those before it. */
export function itemsOf(work: LineageWork, list: unknown, place: QueryContext): FromItem[] {
  const items: FromItem[] = []
  for (const value of listOf(list)) items.push(...itemsOfOne(work, value, { ...place, before: items }))
  return items
}

/** A place in a FROM clause, with the items before it. */
type PlaceInFrom = QueryContext & { readonly before: readonly FromItem[] }

function itemsOfOne(work: LineageWork, value: unknown, { before, ...place }: PlaceInFrom): FromItem[] {
  const { kind, node } = nodeOf(value)
  const beside: ExpressionContext = {
    ...place,
    scope: { items: before, outer: place.outer, windows: new Map() },
  }
  work.spend(before.length)
  if (kind === 'RangeVar') return [relation(work, node, place)]
  if (kind === 'RangeTableSample') return itemsOfOne(work, node.relation, { ...place, before })
  if (kind === 'RangeSubselect') return [subselect(work, node, beside)]
  if (kind === 'JoinExpr') return join(work, node, { ...place, before })
  return [functionItem(work, { kind, node }, beside)]
}

function relation(work: LineageWork, node: Tree, { queries }: QueryContext): FromItem {
  const table = String(node.relname)
  const schema = node.schemaname === undefined ? null : String(node.schemaname)
  const query = schema === null ? queries.get(table) : undefined
  if (query !== undefined) return item(aliasOf(node, table), query())
  if (schema === null) return item(aliasOf(node, table), { fields: [], open: `"${table}" is not known` })
  const known = work.columns(schema, table)
  const fields = (known ?? []).map(
    (column): DerivedField => ({ name: column, derived: columnOf({ schema, table, column }) }),
  )
  const open = known === null ? `the columns of ${schema}.${table} are not known` : null
  const alias = aliasOf(node, table)
  return {
    ...item(alias, work.limited({ fields, open })),
    schema: node.alias === undefined ? schema : null,
    // Renamed columns do not have the names of the table's columns.
    base: alias.columns.length === 0 || open === null ? { schema, table } : null,
  }
}

function subselect(work: LineageWork, node: Tree, beside: ExpressionContext): FromItem {
  const outer: Scope | null = node.lateral === true ? beside.scope : beside.outer
  const table = work.select(nodeOf(node.subquery).node, { queries: beside.queries, outer })
  return item(aliasOf(node, null), table)
}

interface Alias {
  readonly name: string | null
  readonly columns: readonly string[]
}

function aliasOf(node: Tree, otherwise: string | null): Alias {
  const alias = node.alias as Tree | undefined
  if (alias === undefined) return { name: otherwise, columns: [] }
  return { name: String(alias.aliasname), columns: namesOf(alias.colnames) }
}

function item({ name, columns }: Alias, table: DerivedTable): FromItem {
  return {
    ...renamed(table, columns),
    name,
    schema: null,
    base: null,
    rest: null,
    showsColumns: true,
    showsName: true,
  }
}

interface JoinSides {
  readonly left: readonly FromItem[]
  readonly right: readonly FromItem[]
}

function join(work: LineageWork, node: Tree, { before, ...place }: PlaceInFrom): FromItem[] {
  const left = itemsOfOne(work, node.larg, { ...place, before })
  const right = itemsOfOne(work, node.rarg, { ...place, before: [...before, ...left] })
  const sides = [...left, ...right]
  const here: ExpressionContext = {
    ...place,
    scope: { items: sides, outer: place.outer, windows: new Map() },
  }
  if (node.quals !== undefined) work.shaping.add(derive(work, { value: node.quals }, here), 'join')
  const merged = mergedNames(node, left, right)
  for (const name of merged) for (const side of [left, right]) work.shaping.add(namedIn(side, name), 'join')
  if (merged.length === 0 && node.alias === undefined && node.isNatural !== true) return sides
  return joined(work, node, { left, right, merged })
}

interface MergedSides {
  readonly left: readonly FromItem[]
  readonly right: readonly FromItem[]
  readonly merged: readonly string[]
}

/** The columns of USING once, then the others. The sides keep their names unless the join has an alias. */
function joined(work: LineageWork, node: Tree, { left, right, merged }: MergedSides): FromItem[] {
  const others = (side: readonly FromItem[]) => {
    const { fields, open } = allColumns(side)
    return { fields: fields.filter(({ name }) => !merged.includes(name)), open }
  }
  const [first, second] = [others(left), others(right)]
  const fields = merged.map(
    (name): DerivedField => ({ name, derived: mergedColumn(node, name, { left, right }) }),
  )
  const whole = work.limited({
    fields: [...fields, ...first.fields, ...second.fields],
    open: first.open ?? second.open,
  })
  const alias = node.join_using_alias as Tree | undefined
  return [
    item(aliasOf(node, null), whole),
    ...(alias === undefined
      ? []
      : [onlyNamed(item({ name: String(alias.aliasname), columns: [] }, { fields, open: null }))]),
    ...(node.alias === undefined ? [...left, ...right].map(onlyNamed) : []),
  ]
}

function onlyNamed(one: FromItem): FromItem {
  return { ...one, showsColumns: false }
}

function mergedNames(node: Tree, left: readonly FromItem[], right: readonly FromItem[]): string[] {
  if (node.isNatural !== true) return namesOf(node.usingClause)
  const names = new Set(fieldNames(right))
  return fieldNames(left).filter((name) => names.has(name))
}

/** The value of the side that always has one; for a full join, of either side. */
function mergedColumn(node: Tree, name: string, { left, right }: JoinSides): Derived {
  const type = String(node.jointype)
  if (node.isNatural === true) {
    const open = allColumns([...left, ...right]).open
    if (open !== null) return unresolved(open)
  }
  if (type === 'JOIN_RIGHT') return namedIn(right, name)
  if (type !== 'JOIN_FULL') return namedIn(left, name)
  const both = [namedIn(left, name), namedIn(right, name)]
  return {
    kind: 'expression',
    sources: union(both),
    text: null,
    unresolved: both.find((side) => side.unresolved !== null)?.unresolved ?? null,
  }
}
