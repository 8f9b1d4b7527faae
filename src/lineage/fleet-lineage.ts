import type { SqlGuard } from '../guard/index.js'
import { VitrinaError } from '../model/errors.js'
import type { LineageGraph, PipelineLineage, ShownNode } from '../model/lineage.js'
import type { Pipeline } from '../model/pipeline.js'
import type { TargetRules } from '../model/target.js'
import type { Lineage, LineageQuestion, OpenLineageEvent, RunFacts } from '../ports/lineage.js'
import type { SinkKind } from '../ports/sink.js'
import type { TransformCatalog, TransformInfo } from '../ports/transforms.js'
import { type Fleet, readFleet } from './fleet.js'
import { type Neighbourhood, neighbourhood } from './neighbourhood.js'
import { ColumnReader } from './node-columns.js'
import { jobEvents, runEvent } from './open-lineage.js'

export interface LineageSettings {
  readonly readerUrl: string
  readonly connections: ReadonlyMap<string, string>
  readonly targets: TargetRules<SinkKind>
  readonly guard: SqlGuard
  readonly transforms: TransformCatalog
}

/** A larger graph is shown without columns, which would require every query to be analysed again. */
const MOST_WITH_COLUMNS = 150

export class FleetLineage implements Lineage {
  readonly #settings: LineageSettings
  #last: Promise<unknown> = Promise.resolve()

  constructor(settings: LineageSettings) {
    this.#settings = settings
  }

  async graph(
    pipelines: readonly Pipeline[],
    question: LineageQuestion,
    signal: AbortSignal,
  ): Promise<LineageGraph | null> {
    return this.#inTurn(pipelines, signal, () => this.#graph(pipelines, question, signal))
  }

  async #graph(
    pipelines: readonly Pipeline[],
    question: LineageQuestion,
    signal: AbortSignal,
  ): Promise<LineageGraph | null> {
    const fleet = await readFleet(this.#settings, pipelines, signal)
    const focus = question.focus === null ? null : findNode(fleet, question.focus)
    if (focus === null && question.focus !== null) return null
    const { nodes, edges } = neighbourhood(fleet, focus, question)
    const level = nodes.length > MOST_WITH_COLUMNS ? 'table' : question.level
    return {
      focus,
      level,
      nodes: level === 'table' ? nodes.map(withoutColumns) : await this.#withColumns(fleet, nodes),
      edges,
      totalNodes: fleet.nodes.size,
      problems: fleet.problems,
    }
  }

  async ofPipeline(pipeline: Pipeline, signal: AbortSignal): Promise<PipelineLineage> {
    const fleet = await readFleet(this.#settings, [pipeline], signal)
    const [reading] = fleet.readings
    const reader = this.#columns(fleet)
    const { columns, open, shaping } = await reader.of(reading!.nodeId)
    const withBase = await Promise.all(
      columns.map(async (column) => ({ ...column, base: await reader.base(column.sources) })),
    )
    return {
      pipelineId: pipeline.id,
      name: pipeline.name,
      target: reading!.target.nodeId,
      reads: readsOf(fleet, reading!.nodeId),
      error: reading!.error,
      open,
      columns: withBase,
      shaping,
      problems: fleet.problems,
    }
  }

  async openLineage(
    pipelines: readonly Pipeline[],
    signal: AbortSignal,
  ): Promise<readonly OpenLineageEvent[]> {
    return this.#inTurn(pipelines, signal, () => this.#jobEvents(pipelines, signal))
  }

  async #jobEvents(
    pipelines: readonly Pipeline[],
    signal: AbortSignal,
  ): Promise<readonly OpenLineageEvent[]> {
    const fleet = await readFleet(this.#settings, pipelines, signal)
    return jobEvents(fleet, this.#columns(fleet), { ...this.#settings, signal })
  }

  /**
   * Many pipelines are read one request after another: for 10,000 one request takes the API to 0.4 GB, and six at once took it
   * to 1.6 GB. Answers are written while the next request is read, so that six still take 1 GB.
   */
  async #inTurn<T>(pipelines: readonly Pipeline[], signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    if (pipelines.length <= MOST_WITH_COLUMNS) return work()
    const turn = this.#last.then(() => {
      signal.throwIfAborted()
      return work()
    })
    this.#last = turn.catch(() => {})
    return turn.catch((error) => {
      if (error !== signal.reason) throw error
      throw new VitrinaError(
        'TOO_MANY_CHECKS',
        `The lineage of ${pipelines.length} pipelines was not ready within the time limit.`,
        'Wait until other requests for lineage have ended, or request the lineage of one pipeline.',
        { cause: error },
      )
    })
  }

  async runEvent(pipeline: Pipeline, facts: RunFacts, signal: AbortSignal): Promise<OpenLineageEvent> {
    const [job] = await this.openLineage([pipeline], signal)
    return runEvent(job!, facts)
  }

  async #withColumns(fleet: Fleet, nodes: Neighbourhood['nodes']): Promise<ShownNode[]> {
    const reader = this.#columns(fleet)
    const shown: ShownNode[] = []
    for (const node of nodes) shown.push({ ...node, columns: await reader.of(node.id) })
    return shown
  }

  #columns(fleet: Fleet): ColumnReader {
    let known: Promise<readonly TransformInfo[]> | null = null
    return new ColumnReader(fleet, () => {
      // If functions cannot be listed, they are treated as unknown.
      known ??= this.#settings.transforms.list().then(
        ({ items }) => items,
        () => [],
      )
      return known
    })
  }
}

function withoutColumns(node: Neighbourhood['nodes'][number]): ShownNode {
  return { ...node, columns: null }
}

/** By its id, or a pipeline by its name. */
function findNode({ nodes, readings }: Fleet, wanted: string): string | null {
  if (nodes.has(wanted)) return wanted
  const name = /^pipeline:(.*)$/s.exec(wanted)?.[1]
  return readings.find(({ pipeline }) => pipeline.name === name)?.nodeId ?? null
}

/** The tables named by the query, then those behind its views. */
function readsOf({ nodes, edges }: Fleet, pipeline: string): PipelineLineage['reads'] {
  const found = new Map<string, { node: string; kind: 'table' | 'view'; via: string | null }>()
  const queue = [pipeline]
  for (let at = queue.shift(); at !== undefined; at = queue.shift())
    for (const { from } of edges.filter(({ to }) => to === at)) {
      if (found.has(from) || nodes.get(from)?.kind === 'pipeline') continue
      const kind = nodes.get(from)?.kind === 'view' ? 'view' : 'table'
      found.set(from, { node: from, kind, via: at === pipeline ? null : at })
      queue.push(from)
    }
  return [...found.values()]
}
