import type { LineageGraph, PipelineLineage } from '../model/lineage.js'
import type { Pipeline } from '../model/pipeline.js'

export interface LineageQuestion {
  /** The id of a node, or `pipeline:<name>`; null: everything. */
  readonly focus: string | null
  /** How many pipelines and views to follow in each direction. */
  readonly up: number
  readonly down: number
  readonly level: 'table' | 'column'
}

/** An OpenLineage event, as specified there. */
export type OpenLineageEvent = Readonly<Record<string, unknown>>

export const RUN_EVENT_TYPES = ['START', 'COMPLETE', 'FAIL', 'ABORT'] as const
export type RunEventType = (typeof RUN_EVENT_TYPES)[number]

/** What happened to a run. */
export interface RunFacts {
  readonly type: RunEventType
  readonly at: string
  readonly runId: string
  /** `namespace/job/run id` of the run that requested it; null: none. */
  readonly parent: string | null
  readonly rowsWritten: number
  readonly error: string | null
}

/** Finds where the data of pipelines comes from and where it goes. Reads queries and catalogs, never data. */
export interface Lineage {
  /** Null: the node does not exist. */
  graph(
    pipelines: readonly Pipeline[],
    question: LineageQuestion,
    signal: AbortSignal,
  ): Promise<LineageGraph | null>
  ofPipeline(pipeline: Pipeline, signal: AbortSignal): Promise<PipelineLineage>
  openLineage(pipelines: readonly Pipeline[], signal: AbortSignal): Promise<readonly OpenLineageEvent[]>
  /** The event of a run, with the datasets of its pipeline. */
  runEvent(pipeline: Pipeline, facts: RunFacts, signal: AbortSignal): Promise<OpenLineageEvent>
}
