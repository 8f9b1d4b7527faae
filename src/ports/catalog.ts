import type {
  AuditEntry,
  BatchHistory,
  FleetRunner,
  QuarantinedRow,
  QuarantineStatus,
  RunLogLine,
} from '../model/history.js'
import type { FleetSummary, PipelineLine } from '../model/overview.js'
import type { Pipeline } from '../model/pipeline.js'
import type { Run } from '../model/run.js'
import type { PipelineStatus, RunStatus } from '../model/status.js'
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

export interface PageRequest {
  readonly limit: number
  readonly cursor?: string
}

export interface RunFilter extends PageRequest {
  readonly pipelineId?: string
  readonly status?: RunStatus
}

export interface RunLogFilter extends PageRequest {
  /** Warnings and errors only. */
  readonly errors?: boolean
  /** Only lines beyond this id, for those who have read up to it. */
  readonly after?: number
}

export interface QuarantineFilter extends PageRequest {
  readonly status?: QuarantineStatus
  readonly pipelineId?: string
}

export interface AuditFilter extends PageRequest {
  readonly targetId?: string
  readonly action?: string
}

export interface State {
  readonly pipelineId: string
  readonly lastProcessedKey: string | null
  readonly lastProcessedId: string | null
  readonly updatedAt: string
}

/** The meta store as the API reads it. */
export interface Catalog {
  listPipelines(filter: PipelineFilter): Promise<Page<Pipeline>>
  /** Many pipelines with their runs at once, by name. `q` is looked for in the target too. */
  listPipelineLines(filter: PipelineFilter): Promise<Page<PipelineLine>>
  fleetSummary(): Promise<FleetSummary>
  getPipeline(id: string): Promise<Pipeline | null>
  getState(pipelineId: string): Promise<State | null>
  listRuns(filter: RunFilter): Promise<Page<Run>>
  getRun(id: string): Promise<Run | null>
  /** The run that is requested or under way, and the last one that ended. */
  currentAndLastRun(pipelineId: string): Promise<{ current: Run | null; last: Run | null }>
  /** Newest first. */
  listBatches(runId: string, page: PageRequest): Promise<Page<BatchHistory>>
  listLog(runId: string, filter: RunLogFilter): Promise<Page<RunLogLine>>
  /** Newest first. */
  listQuarantine(filter: QuarantineFilter): Promise<Page<QuarantinedRow>>
  countQuarantine(filter: QuarantineFilter): Promise<number>
  listRunners(): Promise<FleetRunner[]>
  listAudit(filter: AuditFilter): Promise<Page<AuditEntry>>
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
