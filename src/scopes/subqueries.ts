import type { Tree } from '../guard/index.js'
import { type Alternative, guarded, type Link, type Occurrence, occurrenceIds } from './alternative.js'
import type { Here, ScopeWork } from './scope-work.js'
import { walk } from './tree.js'

/** What conditions and expressions add to the relations in FROM. */
export interface Addition {
  readonly occurrences: readonly Occurrence[]
  readonly links: readonly Link[]
}

export const NO_ADDITION: Addition = { occurrences: [], links: [] }

export function added(left: Addition, right: Addition): Addition {
  return {
    occurrences: [...left.occurrences, ...right.occurrences],
    links: [...left.links, ...right.links],
  }
}

/**
 * The subqueries in an expression. Whatever is done with the result, EXISTS, NOT IN or a comparison, a changed row of the
 * body affects only outer rows for which the body's conditions hold together with it: hence the guard.
 */
export function subqueriesIn(work: ScopeWork, part: unknown, here: Here): Addition[] {
  let additions: Addition[] = [NO_ADDITION]
  walk(part, (kind, node) => {
    if (kind !== 'SubLink') return true
    additions = work.product(additions, () => subquery(work, node, here), added)
    return false
  })
  return additions
}

function subquery(work: ScopeWork, node: Tree, here: Here): Addition[] {
  const tested = subqueriesIn(work, node.testexpr, here)
  return work.product(tested, () => bodiesOf(work, node, here).map(asAddition), added)
}

/** The ways in which a row of a subquery can come about. */
export function bodiesOf(work: ScopeWork, node: Tree, { queries, levels }: Here): Alternative[] {
  const select = (node.subselect as Tree | undefined)?.SelectStmt as Tree
  return work.select(select, { queries, outer: levels })
}

export function asAddition({ occurrences, links }: Alternative): Addition {
  return { occurrences, links: guarded(links, new Set(occurrenceIds(occurrences))) }
}
