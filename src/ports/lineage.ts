import type { LineageGraph, PipelineLineage } from '../model/lineage.js'
import type { Pipeline } from '../model/pipeline.js'

export interface LineageQuestion {
  /** The id of a node, or of a pipeline `pipeline:<name>`; null: everything. */
  readonly focus: string | null
  /** How many pipelines and views to go through, in each direction. */
  readonly up: number
  readonly down: number
  readonly level: 'table' | 'column'
}

/** An event of OpenLineage, as its specification says. */
export type OpenLineageEvent = Readonly<Record<string, unknown>>

/** Follows where the data of pipelines comes from and where it goes. Reads texts and catalogs, never data. */
export interface Lineage {
  /** Null: there is no such node. */
  graph(
    pipelines: readonly Pipeline[],
    question: LineageQuestion,
    signal: AbortSignal,
  ): Promise<LineageGraph | null>
  ofPipeline(pipeline: Pipeline, signal: AbortSignal): Promise<PipelineLineage>
  openLineage(pipelines: readonly Pipeline[], signal: AbortSignal): Promise<readonly OpenLineageEvent[]>
}
