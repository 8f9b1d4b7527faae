import type { Tree } from '../guard/index.js'
import {
  type Alternative,
  type FlattenedColumn,
  guarded,
  occurrenceIds,
  opaqueColumn,
  type Piece,
} from './alternative.js'
import { BEHIND_LIMIT, isLimited, isUngrouped, LIMIT_TIES } from './clauses.js'
import { conditionsOf } from './conditions.js'
import { piecesOf, unsteadyIn } from './from.js'
import { rowsOfList } from './function-rows.js'
import { outputColumns } from './output.js'
import { requirePlain } from './repeatable.js'
import type { Here, Place, ScopeWork, WithQuery } from './scope-work.js'
import { type Addition, added, NO_ADDITION, subqueriesIn } from './subqueries.js'
import { listOf, namesOf, nodeOf } from './tree.js'
import { Untraceable } from './untraceable.js'

/** Flattens a SELECT into occurrences, links and output columns: one alternative for each branch of a set operation. */
export function selectAlternatives(work: ScopeWork, select: Tree, place: Place): Alternative[] {
  requirePlain(select)
  const inside = { ...place, queries: withQueries(select.withClause as Tree | undefined, place) }
  if (select.op !== undefined && select.op !== 'SETOP_NONE') return setOperation(work, select, inside)
  if (select.valuesLists !== undefined) return values(work, select, inside)
  return plainSelect(work, select, inside)
}

/** Each WITH query can name those before it. */
function withQueries(clause: Tree | undefined, { queries, outer }: Place): ReadonlyMap<string, WithQuery> {
  let known = queries
  for (const each of listOf(clause?.ctes)) {
    const { node } = nodeOf(each)
    const select = (node.ctequery as Tree | undefined)?.SelectStmt as Tree | undefined
    if (select === undefined) throw new Untraceable('A WITH query changes data.')
    const query = { select, columns: namesOf(node.aliascolnames), place: { queries: known, outer } }
    known = new Map([...known, [String(node.ctename), query]])
  }
  return known
}

/**
 * A row of UNION, INTERSECT or EXCEPT depends only on rows of its branches that are equal to it. A LIMIT over all of
 * them chooses by rows that are not.
 */
function setOperation(work: ScopeWork, select: Tree, place: Place): Alternative[] {
  const branches = work.product(
    [select.larg, select.rarg],
    (side) => work.select(side as Tree, place),
    (_, branch) => branch,
  )
  const [first] = branches
  const limited = isLimited(select)
  const isMerging = select.op !== 'SETOP_UNION' || select.all !== true
  const unsteady = limited ? LIMIT_TIES : null
  const settled = branches.map(
    (branch): Alternative => ({
      ...branch,
      columns: branch.columns.map(
        (column, place): FlattenedColumn => ({
          ...column,
          name: first?.columns[place]?.name ?? column.name,
          opaque: column.opaque ?? (limited ? BEHIND_LIMIT : null),
          isLoose: column.isLoose || (isMerging && work.isLoose(column.value)),
          unsteady: column.unsteady ?? unsteady,
        }),
      ),
    }),
  )
  const further = subqueriesIn(work, [select.limitCount, select.limitOffset], {
    queries: place.queries,
    levels: place.outer,
  })
  return work.product(settled, () => further, withAddition)
}

function withAddition(alternative: Alternative, addition: Addition): Alternative {
  return { ...alternative, ...added(alternative, addition) }
}

function values(work: ScopeWork, select: Tree, { queries, outer }: Place): Alternative[] {
  const [first] = listOf(select.valuesLists)
  const columns = listOf((first?.List as Tree | undefined)?.items).map((_, place) =>
    opaqueColumn(`column${place + 1}`, 'it comes from VALUES'),
  )
  return subqueriesIn(work, select.valuesLists, { queries, levels: outer }).map((addition) => ({
    ...addition,
    columns,
  }))
}

/** Clauses in which a subquery may be; WHERE and FROM are read on their own. */
const CLAUSES = [
  'targetList',
  'havingClause',
  'groupClause',
  'sortClause',
  'distinctClause',
  'windowClause',
  'limitCount',
  'limitOffset',
]

function plainSelect(work: ScopeWork, select: Tree, place: Place): Alternative[] {
  const here = ({ relations }: Piece): Here => ({
    queries: place.queries,
    levels: [relations, ...place.outer],
  })
  const filtered = work.product(
    piecesOf(work, select.fromClause, place),
    (piece) => conditionsOf(work, select.whereClause, here(piece)),
    (piece, where) => ({ piece, where }),
  )
  return work.product(
    filtered,
    ({ piece }) => inClauses(work, select, here(piece)),
    ({ piece, where }, addition) => settled(work, select, { piece, where, addition, here: here(piece) }),
  )
}

function inClauses(work: ScopeWork, select: Tree, here: Here): Addition[] {
  return CLAUSES.reduce<Addition[]>(
    (additions, clause) => work.product(additions, () => subqueriesIn(work, select[clause], here), added),
    [NO_ADDITION],
  )
}

interface Parts {
  /** FROM */
  readonly piece: Piece
  readonly where: Addition
  /** Subqueries in other clauses. */
  readonly addition: Addition
  readonly here: Here
}

function settled(work: ScopeWork, select: Tree, { piece, where, addition, here }: Parts): Alternative {
  const rows = rowsOfList(work, select, here.levels)
  const [relations = [], ...outer] = here.levels
  const inside: Here = { ...here, levels: [[...relations, rows.relation], ...outer] }
  const parts = added(added(piece, where), addition)
  const occurrences = [...parts.occurrences, ...rows.occurrences]
  const { links } = parts
  const unsteadyRows =
    piece.unsteadyRows ??
    unsteadyIn(work, select.whereClause, here) ??
    unsteadyIn(work, select.havingClause, here)
  const source = {
    occurrences: [...piece.occurrences, ...rows.occurrences],
    links: [...piece.links, ...where.links],
  }
  const columns = outputColumns(work, select, { ...source, here: inside, unsteadyRows })
  // An aggregate without GROUP BY has a row even where no row was aggregated.
  const isGuarded = isUngrouped(work.facts, select)
  return {
    occurrences,
    links: isGuarded ? guarded(links, new Set(occurrenceIds(occurrences))) : links,
    columns,
  }
}
