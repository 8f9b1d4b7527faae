import { NameScope } from './name-scope.js'
import type { Tree } from './parser.js'

/** The number of tables that a WITH query expands to wherever it is referenced. */
type ReferenceCounts = NameScope<() => number>

/**
 * The number of tables in the planner's view. It expands a WITH query that is NOT MATERIALIZED wherever it is referenced:
 * thirty of them, each referencing the previous one twice, are a billion tables, and no time-out stops the planner in time.
 */
export function tablesWrittenOut(statement: Tree): number {
  return count(statement, NameScope.empty())
}

function count(value: unknown, scope: ReferenceCounts): number {
  if (Array.isArray(value)) return value.reduce((sum: number, each) => sum + count(each, scope), 0)
  if (value === null || typeof value !== 'object') return 0
  const { relname, schemaname, withClause } = value as Tree
  if (typeof relname === 'string') return (schemaname === undefined && scope.find(relname)?.()) || 1
  return count(Object.values(value), withClause === undefined ? scope : within(withClause as Tree, scope))
}

function within(clause: Tree, outer: ReferenceCounts): ReferenceCounts {
  const queries = ((clause.ctes ?? []) as Tree[]).map((each) => (each.CommonTableExpr ?? {}) as Tree)
  const all: ReferenceCounts = outer.plus(
    queries.map((query, place) => {
      const scope = () => (clause.recursive === true ? all : all.before(place))
      const counted =
        query.ctematerialized === 'CTEMaterializeNever' ? once(() => count(query.ctequery, scope())) : ONE
      return [String(query.ctename), counted]
    }),
  )
  return all
}

const ONE = () => 1

/** A query that references itself is not expanded, so it counts as one for itself. */
function once(work: () => number): () => number {
  let known: number | null = null
  return () => {
    if (known === null) {
      known = 1
      known = work()
    }
    return known
  }
}
