import type { Tree } from '../guard/index.js'
import { CONSTANT, type Derived, type DerivedField, renamed, union } from './derived.js'
import { derive, type ExpressionContext } from './expression.js'
import type { LineageWork } from './lineage-work.js'
import type { FromItem } from './scope.js'
import { childrenOf, listOf, namesOf, nodeOf } from './tree.js'

/** Functions whose columns have fixed names. */
const OUT: Readonly<Record<string, readonly string[]>> = {
  json_each: ['key', 'value'],
  json_each_text: ['key', 'value'],
  jsonb_each: ['key', 'value'],
  jsonb_each_text: ['key', 'value'],
  json_array_elements: ['value'],
  json_array_elements_text: ['value'],
  jsonb_array_elements: ['value'],
  jsonb_array_elements_text: ['value'],
}
/** The number of columns depends on a type that only the server knows. */
const OF_A_TYPE = /^(unnest|jsonb?_populate_record(set|_valid)?)$/

/** A function in FROM: its output depends on its arguments. */
export function functionItem(
  work: LineageWork,
  { kind, node }: { kind: string; node: Tree },
  here: ExpressionContext,
): FromItem {
  const calls = kind === 'RangeFunction' ? listOf(node.functions).map(callOf) : []
  const alias = node.alias as Tree | undefined
  const name = alias === undefined ? (calls[0]?.name ?? null) : String(alias.aliasname)
  const table =
    kind === 'RangeFunction'
      ? columnsOfCalls(work, calls, { node, here, alias: alias === undefined ? null : name })
      : columnsOfTable(work, node, here)
  const shown = renamed({ fields: table.fields, open: null }, namesOf(alias?.colnames))
  return {
    ...shown,
    open: table.open,
    name,
    schema: null,
    base: null,
    rest: table.rest,
    showsColumns: true,
    showsName: true,
  }
}

interface Call {
  readonly value: Tree
  readonly name: string | null
  readonly columns: readonly Tree[]
  readonly location: number | null
}

/** The call and its column definition list. */
function callOf(value: Tree): Call {
  const [call = {}, ...columns] = listOf((value.List as Tree | undefined)?.items)
  const node = nodeOf(call).node
  return {
    value: call,
    name: namesOf(node.funcname).at(-1) ?? null,
    columns: columns.flatMap((each) => ('ColumnDef' in each ? [each] : listOf((each.List as Tree)?.items))),
    location: typeof node.location === 'number' ? node.location : null,
  }
}

interface CallsAt {
  readonly node: Tree
  readonly here: ExpressionContext
  readonly alias: string | null
}

function columnsOfCalls(work: LineageWork, calls: readonly Call[], { node, here, alias }: CallsAt) {
  const given = calls.map((call) =>
    computed(derive(work, { value: call.value, text: writtenText(work, call) }, here)),
  )
  const fields = calls.flatMap((call, n) => {
    const defined = call.columns.length > 0 ? call.columns : calls.length === 1 ? listOf(node.coldeflist) : []
    const names =
      defined.length > 0 ? defined.map(columnDefName) : outNames(call, calls.length === 1 ? alias : null)
    return names.map((name): DerivedField => ({ name, derived: given[n]! }))
  })
  const rest = all(given)
  if (node.ordinality === true) fields.push({ name: 'ordinality', derived: rest })
  const [unknown] = calls.filter((call) => OF_A_TYPE.test(call.name ?? ''))
  return {
    fields,
    rest,
    open: unknown === undefined ? null : `the number of columns of ${unknown.name}() depends on a type`,
  }
}

function writtenText(work: LineageWork, { location }: Call) {
  return location === null
    ? null
    : (replaced: ReadonlyMap<number, string>) => work.text.call(location, replaced)
}

/** The output is never the column itself. */
function computed(derived: Derived): Derived {
  return derived.kind === 'direct' ? { ...derived, kind: 'expression' } : derived
}

function outNames({ name }: Call, alias: string | null): readonly string[] {
  return OUT[name ?? ''] ?? [alias ?? name ?? '?column?']
}

function columnDefName(value: Tree): string {
  return String(nodeOf(value).node.colname)
}

/** XMLTABLE and JSON_TABLE declare their columns. */
function columnsOfTable(work: LineageWork, node: Tree, here: ExpressionContext) {
  const rest = all(
    childrenOf(node)
      .filter(({ kind }) => kind !== 'Alias')
      .map(({ kind, node: child }) => derive(work, { value: { [kind]: child } }, here)),
  )
  const fields = definedNames(node.columns).map((name): DerivedField => ({ name, derived: rest }))
  return { fields, rest, open: null }
}

function definedNames(columns: unknown): string[] {
  return listOf(columns).flatMap((value) => {
    const { node } = nodeOf(value)
    const name = node.colname ?? node.name
    return [...(name === undefined ? [] : [String(name)]), ...definedNames(node.columns)]
  })
}

function all(parts: readonly Derived[]): Derived {
  return {
    ...CONSTANT,
    kind: 'expression',
    sources: union(parts),
    text: parts.length === 1 ? parts[0]!.text : null,
    unresolved: parts.find((part) => part.unresolved !== null)?.unresolved ?? null,
  }
}
