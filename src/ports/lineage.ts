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
}
