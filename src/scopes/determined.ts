import type { BaseColumn, Link, Occurrence } from './alternative.js'
import { plainUse } from './column-meaning.js'

interface LinkedOccurrences {
  readonly occurrences: readonly Occurrence[]
  readonly links: readonly Link[]
}

/**
 * Whether the values of these columns determine the row of every occurrence: by its primary key, by columns that are
 * equal to determined ones, and by what is around the query, which is the same for all of its rows.
 */
export function isDetermined(
  { occurrences, links }: LinkedOccurrences,
  uses: readonly BaseColumn[],
): boolean {
  const known = new Set(uses.map(keyOf))
  const open = new Map(occurrences.map((each) => [each.id, each]))
  const isKnown = (use: BaseColumn) => known.has(keyOf(use)) || !open.has(use.occurrence)
  // Known columns only grow, open occurrences only shrink.
  for (let before = Number.NaN; before !== known.size - open.size; ) {
    before = known.size - open.size
    for (const [one, other] of equalPairs(links)) {
      if (isKnown(one)) known.add(keyOf(other))
      if (isKnown(other)) known.add(keyOf(one))
    }
    for (const { id, table } of [...open.values()]) {
      const isFound = table.primaryKey.every((column) => isKnown({ occurrence: id, column }))
      if (table.primaryKey.length > 0 && isFound) open.delete(id)
    }
  }
  return open.size === 0
}

function keyOf({ occurrence, column }: BaseColumn): string {
  return `${occurrence} ${column}`
}

/** Only of conditions that hold for every row. */
function equalPairs(links: readonly Link[]): (readonly [BaseColumn, BaseColumn])[] {
  return links.flatMap(({ operator, guards, left, right }) => {
    const [one, other] = [plainUse(left), plainUse(right)]
    const holds = operator === '=' && guards.length === 0
    return holds && one !== null && other !== null ? [[one, other] as const] : []
  })
}
