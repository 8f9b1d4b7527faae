import type { LineageColumn, LineageGraph, LineageNode, PipelineLine } from '../../api/wire.js'
import { type DataFacts, dataFactsOf } from '../../facts/data-state.js'

/** Larger graphs are shown as a list. */
export const MOST_DRAWN = 150

/** The meaning of the colour of a node. */
export type NodeState =
  | { readonly kind: 'data'; readonly facts: DataFacts }
  | { readonly kind: 'broken' | 'missing' | 'source' | 'view' | 'unknown' }

export type Lines = ReadonlyMap<string, PipelineLine>

/** The state of each node: of a pipeline by its last success, of a mart the worst of its pipelines. */
export function statesOf(graph: LineageGraph, lines: Lines, now: number): ReadonlyMap<string, NodeState> {
  const pipelines = new Map(
    graph.nodes.filter(({ kind }) => kind === 'pipeline').map((node) => [node.id, node]),
  )
  const states = new Map<string, NodeState>()
  for (const node of pipelines.values()) states.set(node.id, stateOfPipeline(node, lines, now))
  for (const node of graph.nodes)
    if (!pipelines.has(node.id)) states.set(node.id, stateOfData(node, writersOf(graph, node.id, states)))
  return states
}

function stateOfPipeline({ error, pipeline_id }: LineageNode, lines: Lines, now: number): NodeState {
  if (error !== null) return { kind: 'broken' }
  const line = pipeline_id === null ? undefined : lines.get(pipeline_id)
  return line === undefined ? { kind: 'unknown' } : { kind: 'data', facts: dataFactsOf(line, now) }
}

function writersOf(graph: LineageGraph, id: string, states: ReadonlyMap<string, NodeState>): NodeState[] {
  return graph.edges.filter(({ to }) => to === id).flatMap(({ from }) => states.get(from) ?? [])
}

function stateOfData({ kind, exists }: LineageNode, writers: readonly NodeState[]): NodeState {
  if (kind === 'view') return { kind: 'view' }
  const [worst] = [...writers].sort((a, b) => badness(b) - badness(a))
  if (worst !== undefined) return worst
  return { kind: exists === false ? 'missing' : 'source' }
}

const BADNESS = { fresh: 0, unknown: 1, late: 3, stale: 4 } as const

function badness(state: NodeState): number {
  if (state.kind === 'broken') return 5
  if (state.kind !== 'data') return 1
  return state.facts.ageMs === null ? 2 : BADNESS[state.facts.state]
}

/** The late or stale inputs of a pipeline. */
export function staleInputs(
  graph: LineageGraph,
  states: ReadonlyMap<string, NodeState>,
  id: string,
): string[] {
  return graph.edges
    .filter(({ to }) => to === id)
    .map(({ from }) => from)
    .filter((from) => badness(states.get(from) ?? { kind: 'unknown' }) >= 3)
}

export interface ColumnRef {
  readonly node: string
  readonly column: string
}

export function keyOf({ node, column }: ColumnRef): string {
  return `${node}#${column}`
}

/** The column in the address; null: not in this graph. */
export function findColumn(graph: LineageGraph, key: string | undefined): ColumnRef | null {
  if (key === undefined) return null
  for (const { id, columns } of graph.nodes)
    for (const { name } of columns ?? [])
      if (keyOf({ node: id, column: name }) === key) return { node: id, column: name }
  return null
}

export interface ColumnStep extends ColumnRef {
  readonly detail: LineageColumn
}

export interface ColumnPath {
  readonly picked: ColumnStep
  /** Its sources, nearest first. */
  readonly above: readonly ColumnStep[]
  /** Its dependents, nearest first. */
  readonly below: readonly ColumnStep[]
  readonly links: readonly { readonly from: ColumnRef; readonly to: ColumnRef }[]
  readonly keys: ReadonlySet<string>
}

/** All sources and dependents of a column in the graph. */
export function pathOf(graph: LineageGraph, picked: ColumnRef): ColumnPath | null {
  const steps = stepsOf(graph)
  const start = steps.get(keyOf(picked))
  if (start === undefined) return null
  const readers = readersOf(steps)
  const above = follow(start, ({ detail }) => detail.sources.flatMap((ref) => steps.get(keyOf(ref)) ?? []))
  const below = follow(start, (step) => readers.get(keyOf(step)) ?? [])
  const keys = new Set([start, ...above, ...below].map(keyOf))
  const links = [start, ...above, ...below].flatMap((step) =>
    step.detail.sources.filter((ref) => keys.has(keyOf(ref))).map((from) => ({ from, to: step })),
  )
  return { picked: start, above, below, links: onPath(links, start, { above, below }), keys }
}

function stepsOf(graph: LineageGraph): Map<string, ColumnStep> {
  return new Map(
    graph.nodes.flatMap(({ id, columns }) =>
      (columns ?? []).map((detail) => {
        const step = { node: id, column: detail.name, detail }
        return [keyOf(step), step] as const
      }),
    ),
  )
}

function readersOf(steps: ReadonlyMap<string, ColumnStep>): Map<string, ColumnStep[]> {
  const found = new Map<string, ColumnStep[]>()
  for (const step of steps.values())
    for (const ref of step.detail.sources) found.set(keyOf(ref), [...(found.get(keyOf(ref)) ?? []), step])
  return found
}

function follow(start: ColumnStep, next: (step: ColumnStep) => readonly ColumnStep[]): ColumnStep[] {
  const seen = new Map([[keyOf(start), start]])
  for (const step of seen.values())
    for (const one of next(step)) if (!seen.has(keyOf(one))) seen.set(keyOf(one), one)
  return [...seen.values()].slice(1)
}

/** Columns above and below may be linked with others; only links through the selected column count. */
function onPath(
  links: readonly { from: ColumnRef; to: ColumnRef }[],
  start: ColumnStep,
  { above, below }: { readonly above: readonly ColumnStep[]; readonly below: readonly ColumnStep[] },
) {
  const up = new Set([start, ...above].map(keyOf))
  const down = new Set([start, ...below].map(keyOf))
  return links.filter(
    ({ from, to }) =>
      (up.has(keyOf(from)) && up.has(keyOf(to))) || (down.has(keyOf(from)) && down.has(keyOf(to))),
  )
}

/** How a column is derived. A column of a mart is described by its only pipeline. */
export function makingOf(graph: LineageGraph, { node, detail }: ColumnStep): LineageColumn {
  const [source, ...more] = detail.sources
  if (source === undefined || more.length > 0 || node.startsWith('pipeline:')) return detail
  const maker = graph.nodes.find(({ id, kind }) => id === source.node && kind === 'pipeline')
  return maker?.columns?.find(({ name }) => name === source.column) ?? detail
}

export interface Branch {
  readonly node: LineageNode
  readonly branches: readonly Branch[]
  /** Already listed above, with its children. */
  readonly isRepeated: boolean
}

/** The graph as a tree. */
export function branchesOf(graph: LineageGraph, root: string, direction: 'up' | 'down'): Branch[] {
  const nodes = new Map(graph.nodes.map((node) => [node.id, node]))
  const seen = new Set([root])
  const grow = (id: string): Branch[] =>
    graph.edges
      .filter(({ from, to }) => (direction === 'up' ? to : from) === id)
      .flatMap(({ from, to }) => nodes.get(direction === 'up' ? from : to) ?? [])
      .map((node) => {
        const isRepeated = seen.has(node.id)
        seen.add(node.id)
        return { node, isRepeated, branches: isRepeated ? [] : grow(node.id) }
      })
  return grow(root)
}
