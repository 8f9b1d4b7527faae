import type { LineageEdge, LineageNode } from '../model/lineage.js'

interface Whole {
  readonly nodes: ReadonlyMap<string, LineageNode>
  readonly edges: readonly LineageEdge[]
}

export interface Neighbourhood {
  readonly nodes: readonly (LineageNode & { readonly hiddenUp: number; readonly hiddenDown: number })[]
  readonly edges: readonly LineageEdge[]
}

type Direction = ReadonlyMap<string, readonly string[]>

/** The part of the graph around one node, or all of it. Each node has the number of neighbours left out. */
export function neighbourhood(
  whole: Whole,
  focus: string | null,
  hops: { up: number; down: number },
): Neighbourhood {
  const above = directed(whole.edges, ({ from, to }) => [to, from])
  const below = directed(whole.edges, ({ from, to }) => [from, to])
  const shown =
    focus === null
      ? new Set(whole.nodes.keys())
      : new Set([
          focus,
          ...reach(whole, focus, { direction: above, hops: hops.up }),
          ...reach(whole, focus, { direction: below, hops: hops.down }),
        ])
  const hidden = (direction: Direction, id: string) =>
    (direction.get(id) ?? []).filter((other) => !shown.has(other)).length
  return {
    nodes: [...whole.nodes.values()]
      .filter(({ id }) => shown.has(id))
      .map((node) => ({ ...node, hiddenUp: hidden(above, node.id), hiddenDown: hidden(below, node.id) })),
    edges: whole.edges.filter(({ from, to }) => shown.has(from) && shown.has(to)),
  }
}

function directed(edges: readonly LineageEdge[], ends: (edge: LineageEdge) => [string, string]): Direction {
  const found = new Map<string, string[]>()
  for (const [at, next] of edges.map(ends)) {
    const known = found.get(at)
    if (known === undefined) found.set(at, [next])
    else known.push(next)
  }
  return found
}

/**
 * A hop leads through a pipeline or a view to what is behind it: a pipeline alone at the edge of the graph would not be
 * informative.
 */
function reach(
  whole: Whole,
  focus: string,
  { direction, hops }: { readonly direction: Direction; readonly hops: number },
): Set<string> {
  const distance = new Map([[focus, 0]])
  const queue = [focus]
  for (let at = queue.shift(); at !== undefined; at = queue.shift()) {
    for (const next of direction.get(at) ?? []) {
      const isFree = at !== focus && whole.nodes.get(at)?.kind === 'pipeline'
      const far = distance.get(at)! + (isFree ? 0 : 1)
      if (far > hops || far >= (distance.get(next) ?? Number.POSITIVE_INFINITY)) continue
      distance.set(next, far)
      queue.push(next)
    }
  }
  return new Set(distance.keys())
}
