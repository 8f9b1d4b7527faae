import type { Tree } from '../guard/index.js'
import type { FlattenedColumn, FromRelation, Occurrence } from './alternative.js'
import { type ColumnMeaning, isSetCall, meaningOf, plainUse, textOfCall } from './column-meaning.js'
import type { Levels } from './names.js'
import { hasOneText } from './one-text.js'
import type { BaseTable, TableColumn } from './query-facts.js'
import type { ScopeWork } from './scope-work.js'
import { lastNameOf, listOf, walk } from './tree.js'
import { expressionText } from './write-expression.js'

interface Called {
  readonly levels: Levels
  /** Of its columns. */
  readonly names: readonly string[]
  readonly hasOrdinality: boolean
}

interface FunctionRows {
  readonly occurrence: Occurrence
  readonly columns: readonly FlattenedColumn[]
}

/** The rows of a function, made of its arguments only; null: a key query cannot call it. */
export function rowsOfCall(
  work: ScopeWork,
  call: Tree,
  { levels, names, hasOrdinality }: Called,
): FunctionRows | null {
  const given = listOf(call.args).map((each) => meaningOf(work, each, levels))
  // From an absent row of an outer join a function makes rows that no present row explains.
  if (given.some(({ value, opaque, isOptional }) => value === null || opaque !== null || isOptional))
    return null
  const node = { FuncCall: { ...call, args: given.map(({ value }) => value!.node) } }
  const name = lastNameOf(call.funcname)
  // unnest of several arrays is a syntax of its own.
  if (expressionText(node) === null || (name === 'unnest' && given.length > 1)) return null
  const only = names.length === (hasOrdinality ? 2 : 1) ? typeOfRows(work, name, given) : ''
  const types = [
    only,
    ...names.slice(1).map((_, place) => (hasOrdinality && place === names.length - 2 ? 'bigint' : '')),
  ]
  const uses = given.flatMap(({ value }) => value!.uses)
  const occurrence = work.occurrence(
    tableOf(
      name,
      names.map((each, place) => aColumn(each, types[place]!)),
    ),
    {
      call: { node, uses, hasOrdinality },
    },
  )
  const unsteady = given.find((each) => each.unsteady !== null)?.unsteady ?? null
  const columns = names.map((each): FlattenedColumn => {
    const use = { occurrence: occurrence.id, column: each }
    const value = { node: { BaseColumn: use }, uses: [use] }
    return { name: each, value, opaque: null, isOptional: false, isLoose: false, unsteady, follows: null }
  })
  return { occurrence, columns }
}

/** The type of a function's only column; empty: it is not known, or has a collation of its own. */
function typeOfRows(work: ScopeWork, name: string, given: readonly ColumnMeaning[]): string {
  const isCollated = given.some(({ value }) => work.isCollated(value!))
  if (isCollated) return ''
  if (name !== 'unnest') return work.facts.setFunctions.get(name) ?? ''
  const [array] = given
  const use = array?.value == null ? null : plainUse(array.value)
  const type = use === null || array!.value!.node.BaseColumn === undefined ? '' : work.typeOf(use)
  return type.endsWith('[]') ? type.slice(0, -2) : ''
}

function aColumn(name: string, type: string): TableColumn {
  return { name, type, collation: null, isNotNull: false, isLoose: !hasOneText(type), isGenerated: false }
}

function tableOf(name: string, columns: readonly TableColumn[]): BaseTable {
  const table = { schema: 'pg_catalog', table: name }
  return {
    kind: 'table',
    name: table,
    capturedAs: table,
    columns: new Map(columns.map((column) => [column.name, column])),
    primaryKey: [],
    identity: { kind: 'nothing', columns: [] },
    isReadable: true,
    hasChildren: false,
    obstacle: null,
  }
}

interface ListRows {
  readonly occurrences: readonly Occurrence[]
  /** Its columns have the texts of the calls as their names, which no query can write. */
  readonly relation: FromRelation
}

/** Calls in these clauses multiply the rows as if they were in FROM. */
const CLAUSES = ['targetList', 'groupClause', 'distinctClause', 'sortClause']

/**
 * The rows of the functions in a select list. Several of them are read side by side, the shorter ones with NULLs at their
 * end: every pair of their rows is more than that.
 */
export function rowsOfList(work: ScopeWork, select: Tree, levels: Levels): ListRows {
  const [inner = [], ...outer] = levels
  const calls: Tree[] = []
  walk(
    CLAUSES.map((clause) => select[clause]),
    (kind, node) => {
      if (isSetCall(work.facts, kind, node)) calls.push(node)
      return kind !== 'SubLink'
    },
  )
  const occurrences: Occurrence[] = []
  let columns: FlattenedColumn[] = []
  const relation = (): FromRelation => ({
    alias: null,
    columns,
    hidden: new Set(columns.map(({ name }) => name)),
    isOpen: false,
  })
  // From the inside out: an argument may be such a call itself.
  for (const call of calls.reverse()) {
    const inside = [[...inner, relation()], ...outer]
    const text = textOfCall(work, call, inside)
    if (text === null || columns.some(({ name }) => name === text)) continue
    const rows = rowsOfCall(work, call, { levels: inside, names: ['value'], hasOrdinality: false })
    if (rows === null) continue
    occurrences.push(rows.occurrence)
    columns = [...columns, ...rows.columns.map((column) => ({ ...column, name: text }))]
  }
  if (new Set(calls).size > 1) columns = columns.map((column) => ({ ...column, isOptional: true }))
  return { occurrences, relation: relation() }
}
