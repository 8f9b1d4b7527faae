import type { ConnectionUse } from '../model/connection.js'
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
import type { Run, RunSurroundings } from '../model/run.js'
import type { PipelineStatus, RunStatus } from '../model/status.js'
import type { PipelineTotals, Pulse } from '../model/totals.js'

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
  /** How the target begins: `analytics.`, `es:`. */
  readonly target?: string
  readonly limit: number
  readonly cursor?: string
}

export interface PageRequest {
  readonly limit: number
  readonly cursor?: string
}

export interface RunFilter extends PageRequest {
  readonly pipelineId?: string
  /** Those in any of these. */
  readonly status?: readonly RunStatus[]
  /** Requested at this time or later. */
  readonly since?: string
  /** Requested before this time. */
  readonly until?: string
}

export interface RunLogFilter extends PageRequest {
  /** Warnings and errors only. */
  readonly errors?: boolean
  /** Only lines beyond this id, for those who have read up to it. */
  readonly after?: number
  /** Only lines before this id. */
  readonly before?: number
  readonly attempt?: number
  /** From the end: the newest page first, the next one is older. Lines of a page are in order all the same. */
  readonly last?: boolean
  /** Part of a line, whatever its case. */
  readonly q?: string
}

export interface QuarantineFilter extends PageRequest {
  readonly status?: QuarantineStatus
  readonly pipelineId?: string
}

export interface AuditFilter extends PageRequest {
  readonly id?: string
  readonly targetId?: string
  /** What was done to it, to its runs and to its rows in quarantine. */
  readonly pipelineId?: string
  /** A deed, or with a dot at the end all that begin so: `pipeline.` */
  readonly action?: string
  /** Part of a name, whatever its case. */
  readonly actor?: string
  readonly requestId?: string
  /** From then on. */
  readonly since?: string
  /** Before then. */
  readonly until?: string
}

export interface State {
  readonly pipelineId: string
  readonly lastProcessedKey: string | null
  readonly lastProcessedId: string | null
  readonly updatedAt: string
}

/** What the meta store is. */
export interface StoreFacts {
  readonly version: string
  /** As they were applied. */
  readonly migrations: readonly { readonly name: string; readonly appliedAt: string }[]
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
  runSurroundings(run: Run): Promise<RunSurroundings>
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
  /** Every pipeline, by name. */
  listConnectionUses(): Promise<ConnectionUse[]>
  describeStore(): Promise<StoreFacts>
  /** By the database's own clock. Null when no run succeeded yet. */
  secondsSinceSuccess(pipelineId: string): Promise<number | null>
  /** Every pipeline, also one that never ran. */
  runTotals(): Promise<PipelineTotals[]>
  fleetPulse(): Promise<Pulse>
  /** Throws unless the meta store answers and has every migration that this program needs. */
  ping(): Promise<void>
}
