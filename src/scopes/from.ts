import type { Tree } from '../guard/index.js'
import {
  type Alternative,
  combined,
  EMPTY_PIECE,
  type FlattenedColumn,
  type FromRelation,
  guarded,
  occurrenceIds,
  opaqueColumn,
  type Piece,
} from './alternative.js'
import { meaningOf } from './column-meaning.js'
import { conditionsOf, equality } from './conditions.js'
import { rowsOfCall } from './function-rows.js'
import { visibleColumn } from './names.js'
import { type BaseTable, nameOf, relationKey } from './query-facts.js'
import { requireRepeatable } from './repeatable.js'
import type { Here, Place, ScopeWork } from './scope-work.js'
import { type Addition, subqueriesIn } from './subqueries.js'
import { lastNameOf, listOf, namesOf, nodeOf } from './tree.js'
import { Untraceable } from './untraceable.js'

/** What is in FROM, from left to right: each item may name those before it where LATERAL says so. */
export function piecesOf(work: ScopeWork, items: unknown, place: Place): Piece[] {
  return listOf(items).reduce<Piece[]>(
    (pieces, item) =>
      work.product(pieces, (left) => itemOf(work, item, beside(place, left.relations)), combined),
    [EMPTY_PIECE],
  )
}

/** Where an item of FROM is: `levels[0]` are the items before it. */
function beside({ queries, outer }: Place, before: readonly FromRelation[]): Here {
  return { queries, levels: [before, ...outer] }
}

function itemOf(work: ScopeWork, item: unknown, here: Here): Piece[] {
  const { kind, node } = nodeOf(item)
  if (kind === 'RangeVar') return named(work, node, here)
  if (kind === 'RangeSubselect') return subselect(work, node, here)
  if (kind === 'JoinExpr') return join(work, node, here)
  if (kind === 'RangeFunction') return fromFunction(work, node, here)
  throw new Untraceable(`${kind} in FROM is not followed.`)
}

interface Alias {
  readonly name: string | null
  readonly columns: readonly string[]
}

function aliasOf(node: Tree, otherwise: string | null): Alias {
  const alias = node.alias as Tree | undefined
  return alias === undefined
    ? { name: otherwise, columns: [] }
    : { name: String(alias.aliasname), columns: namesOf(alias.colnames) }
}

function named(work: ScopeWork, node: Tree, here: Here): Piece[] {
  const table = String(node.relname)
  const alias = aliasOf(node, table)
  const query = node.schemaname === undefined ? here.queries.get(table) : undefined
  if (query !== undefined)
    return work
      .select(query.select, query.place)
      .map((each) => derived({ ...each, columns: renamed(each.columns, query.columns) }, alias))
  // The server writes tables of the catalog without their schema, and does not list them as dependencies.
  const name = { schema: String(node.schemaname ?? 'pg_catalog'), table }
  const relation = work.facts.relations.get(relationKey(name))
  if (relation === undefined)
    throw new Untraceable(`${nameOf(name)} belongs to the catalog, whose changes cannot be captured.`)
  if (relation.kind === 'table') return [baseTable(work, relation, { node, alias })]
  requireRepeatable(relation.statement)
  // A view cannot name the WITH queries of those who use it.
  return work
    .select(relation.statement, { queries: new Map(), outer: [] })
    .map((each) => derived({ ...each, columns: renamed(each.columns, relation.columns) }, alias))
}

function baseTable(work: ScopeWork, table: BaseTable, { node, alias }: { node: Tree; alias: Alias }): Piece {
  const isOnly = node.inh !== true
  if (table.obstacle !== null) throw new Untraceable(table.obstacle)
  if (table.hasChildren && !isOnly)
    throw new Untraceable(
      `${nameOf(table.name)} has child tables by inheritance, and reading it reads those too.`,
    )
  const occurrence = work.occurrence(table, { isOnly })
  const columns = [...table.columns.keys()].map((name): FlattenedColumn => {
    const use = { occurrence: occurrence.id, column: name }
    const value = { node: { BaseColumn: use }, uses: [use] }
    return { name, value, opaque: null, isOptional: false, isLoose: false, unsteady: null, follows: [use] }
  })
  return { ...EMPTY_PIECE, occurrences: [occurrence], relations: [relationOf(alias, columns)] }
}

function relationOf({ name, columns: names }: Alias, columns: readonly FlattenedColumn[]): FromRelation {
  return { alias: name, columns: renamed(columns, names), hidden: new Set(), isOpen: false }
}

function renamed(columns: readonly FlattenedColumn[], names: readonly string[]): FlattenedColumn[] {
  return columns.map((column, place) => ({ ...column, name: names[place] ?? column.name }))
}

function derived({ occurrences, links, columns }: Alternative, alias: Alias): Piece {
  return { occurrences, links, relations: [relationOf(alias, columns)], unsteadyRows: null }
}

function subselect(work: ScopeWork, node: Tree, { queries, levels }: Here): Piece[] {
  const outer = node.lateral === true ? levels : levels.slice(1)
  const select = (node.subquery as Tree | undefined)?.SelectStmt as Tree
  return work.select(select, { queries, outer }).map((each) => derived(each, aliasOf(node, null)))
}

/** IMMUTABLE functions make rows of their arguments only; others were refused before (`QueryFacts.obstacles`). */
function fromFunction(work: ScopeWork, node: Tree, here: Here): Piece[] {
  const functions = listOf(node.functions)
  const [call, definitions] = listOf((functions[0]?.List as Tree | undefined)?.items).map(nodeOf)
  const alias = aliasOf(node, lastNameOf(call?.node.funcname))
  const isPlain = functions.length === 1 && call?.kind === 'FuncCall' && definitions?.kind !== 'List'
  const rows = isPlain
    ? rowsOfCall(work, call.node, {
        levels: here.levels,
        names: alias.columns,
        hasOrdinality: node.ordinality === true,
      })
    : null
  const columns =
    rows?.columns ?? alias.columns.map((name) => opaqueColumn(name, 'it is the result of a function in FROM'))
  const relation: FromRelation = { alias: alias.name, columns, hidden: new Set(), isOpen: true }
  return subqueriesIn(work, node.functions, here).map(({ occurrences, links }) => ({
    occurrences: rows === null ? occurrences : [...occurrences, rows.occurrence],
    links,
    relations: [relation],
    unsteadyRows: null,
  }))
}

function join(work: ScopeWork, node: Tree, here: Here): Piece[] {
  const [before = [], ...outer] = here.levels
  const sides = work.product(
    itemOf(work, node.larg, here),
    (left) => itemOf(work, node.rarg, { ...here, levels: [[...before, ...left.relations], ...outer] }),
    (left, right): JoinPieces => ({ left, right }),
  )
  return sides.flatMap((both) => {
    const inside: Here = {
      ...here,
      levels: [[...before, ...both.left.relations, ...both.right.relations], ...outer],
    }
    const unsteady = unsteadyIn(work, node.quals, inside)
    return conditionsOf(work, node.quals, inside).flatMap((condition) =>
      joinTypes(node).map((type) => joined(work, node, { ...both, type, condition, unsteady })),
    )
  })
}

/** Of the two sides of a FULL JOIN one is always there: its rows are those of a LEFT JOIN and of a RIGHT JOIN. */
function joinTypes({ jointype }: Tree): string[] {
  return jointype === 'JOIN_FULL' ? ['JOIN_LEFT', 'JOIN_RIGHT'] : [String(jointype)]
}

/** Why a condition may choose other rows with another plan. */
export function unsteadyIn(work: ScopeWork, condition: unknown, { levels }: Here): string | null {
  return condition === undefined ? null : meaningOf(work, condition, levels).unsteady
}

interface JoinPieces {
  readonly left: Piece
  readonly right: Piece
}

interface Join extends JoinPieces {
  readonly type: string
  readonly condition: Addition
  readonly unsteady: string | null
}

function joined(work: ScopeWork, node: Tree, { type, left, right, condition, unsteady }: Join): Piece {
  const using = namesOf(node.usingClause)
  const pairs = using.flatMap((name) =>
    equality(work, visibleColumn(left.relations, name), visibleColumn(right.relations, name)),
  )
  const on: Addition = { occurrences: condition.occurrences, links: [...condition.links, ...pairs] }
  const optional = type === 'JOIN_LEFT' ? right : type === 'JOIN_RIGHT' ? left : null
  // A subquery in ON decides about the match, so that its rows matter only where the optional side does.
  const guard = new Set([...occurrenceIds(optional?.occurrences ?? []), ...occurrenceIds(on.occurrences)])
  const side = (piece: Piece): Piece => (piece === optional ? madeOptional(piece, guard) : piece)
  const both = combined(side(left), side(right))
  const piece: Piece = {
    occurrences: [...both.occurrences, ...on.occurrences],
    links: [...both.links, ...(optional === null ? on.links : guarded(on.links, guard))],
    relations: hiding(side(left), side(right), { using, isRight: type === 'JOIN_RIGHT' }),
    unsteadyRows: both.unsteadyRows ?? unsteady,
  }
  return withAlias(node, piece, using)
}

function madeOptional(piece: Piece, guard: ReadonlySet<number>): Piece {
  return {
    ...piece,
    links: guarded(piece.links, guard),
    relations: piece.relations.map((relation) => ({
      ...relation,
      columns: relation.columns.map((column) => ({ ...column, isOptional: true })),
    })),
  }
}

interface Merging {
  readonly using: readonly string[]
  readonly isRight: boolean
}

/** The name of a USING pair means the column of the side that is always there. */
function hiding(left: Piece, right: Piece, { using, isRight }: Merging): FromRelation[] {
  const hide = (relation: FromRelation): FromRelation => ({
    ...relation,
    hidden: new Set([...relation.hidden, ...using]),
  })
  return [
    ...(isRight ? left.relations.map(hide) : left.relations),
    ...(isRight ? right.relations : right.relations.map(hide)),
  ]
}

/** An alias of a join replaces the names in it; one of USING is added to them. */
function withAlias(node: Tree, piece: Piece, using: readonly string[]): Piece {
  const merged = using.flatMap((name) => visibleColumn(piece.relations, name) ?? [])
  const added = node.join_using_alias as Tree | undefined
  if (added !== undefined) {
    const relation = relationOf({ name: String(added.aliasname), columns: [] }, merged)
    return { ...piece, relations: [...piece.relations, { ...relation, hidden: new Set(using) }] }
  }
  if (node.alias === undefined) return piece
  const others = piece.relations.flatMap(({ columns, hidden }) =>
    columns.filter(({ name }) => !hidden.has(name) && !using.includes(name)),
  )
  const relation = relationOf(aliasOf(node, null), [...merged, ...others])
  return { ...piece, relations: [{ ...relation, isOpen: piece.relations.some(({ isOpen }) => isOpen) }] }
}
