import type { Tree } from '../guard/index.js'
import { isAggregate } from './column-meaning.js'
import type { QueryFacts } from './query-facts.js'
import { listOf, nodeOf, walk } from './tree.js'

export const BEHIND_LIMIT = 'a LIMIT or OFFSET selects among rows with other values'
export const LIMIT_TIES = 'LIMIT or OFFSET may choose differently among rows that are equal in ORDER BY.'

/** LIMIT ALL and LIMIT NULL are none. */
export function isLimited({ limitCount, limitOffset }: Tree): boolean {
  const isNull = nodeOf(limitCount).node.isnull === true
  return (limitCount !== undefined && !isNull) || limitOffset !== undefined
}

/** One row for all, even of no rows: an aggregate without GROUP BY, or grouping sets with the empty one. */
export function isUngrouped(facts: QueryFacts, select: Tree): boolean {
  const groups = listOf(select.groupClause)
  if (groups.length > 0) return groups.every(({ GroupingSet }) => GroupingSet !== undefined)
  return isAggregated(facts, select)
}

/** Whether the rows are aggregated, apart from GROUP BY. */
export function isAggregated(facts: QueryFacts, select: Tree): boolean {
  if (select.havingClause !== undefined) return true
  let found = false
  walk([select.targetList, select.sortClause], (kind, node) => {
    found ||= isAggregate(facts, kind, node)
    return kind !== 'SubLink'
  })
  return found
}

/** A clause of a window, which may have it from another one that it names. */
export function windowClause(
  select: Tree,
  over: Tree,
  clause: 'partitionClause' | 'orderClause',
): readonly Tree[] {
  const own = listOf(over[clause])
  const named = over.name ?? over.refname
  if (own.length > 0 || named === undefined) return own
  const other = listOf(select.windowClause)
    .map((each) => nodeOf(each).node)
    .find(({ name }) => name === named)
  // A definition names only definitions before it, and a bare use has the name of its definition.
  return other === undefined || other === over
    ? own
    : windowClause(select, { ...other, name: undefined }, clause)
}
