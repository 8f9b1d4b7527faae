import type { Pipeline } from '../model/pipeline.js'
import type { Run } from '../model/run.js'
import type { PipelineStatus } from '../model/status.js'
import type { PipelineTotals } from '../model/totals.js'

export interface Page<T> {
  readonly items: readonly T[]
  /** Give it back to continue; null at the end. */
  readonly nextCursor: string | null
}

export interface PipelineFilter {
  readonly status?: PipelineStatus
  readonly enabled?: boolean
  /** Part of a name, whatever its case. */
  readonly q?: string
  readonly limit: number
  readonly cursor?: string
}

export interface RunFilter {
  readonly pipelineId?: string
  readonly limit: number
  readonly cursor?: string
}

export interface State {
  readonly pipelineId: string
  readonly lastProcessedKey: string | null
  readonly lastProcessedId: string | null
  readonly updatedAt: string
}

/** The meta store as the API sees it. The API asks for runs and reads what came of them; it executes nothing. */
export interface Catalog {
  listPipelines(filter: PipelineFilter): Promise<Page<Pipeline>>
  getPipeline(id: string): Promise<Pipeline | null>
  getState(pipelineId: string): Promise<State | null>
  listRuns(filter: RunFilter): Promise<Page<Run>>
  getRun(id: string): Promise<Run | null>
  /** The run that is requested or under way, and the last one that ended. */
  currentAndLastRun(pipelineId: string): Promise<{ current: Run | null; last: Run | null }>
  /**
   * Moves the pipeline to RUN_REQUESTED and returns its run; the same run while one is requested or under way.
   * Null: the pipeline is gone or disabled, which the caller tells apart by reading it.
   */
  requestRun(pipelineId: string): Promise<Run | null>
  /** Null when nothing runs. The same answer again while a pause is requested or reached. */
  requestPause(pipelineId: string): Promise<Pipeline | null>
  /** By the database's own clock. Null when no run succeeded yet. */
  secondsSinceSuccess(pipelineId: string): Promise<number | null>
  countByStatus(): Promise<Record<PipelineStatus, number>>
  /** Every pipeline, also one that never ran. `bounds`, in seconds, are those of `durations.within`. */
  runTotals(bounds: readonly number[]): Promise<PipelineTotals[]>
  /** The newest sign of life of any runner, in seconds since 1970. */
  lastHeartbeat(): Promise<number | null>
  /** Throws unless the meta store answers and has every migration that this program needs. */
  ping(): Promise<void>
}
