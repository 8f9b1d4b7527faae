import type { ConnectionUse } from '../model/connection.js'
import type { AuditEntry, BatchHistory, FleetRunner, PartHistory, RunLogLine } from '../model/history.js'
import type { Due, OrderFacts, OrderGraph, RelationRead } from '../model/order.js'
import type { FleetSummary, PipelineLine } from '../model/overview.js'
import type { Pipeline } from '../model/pipeline.js'
import type { Run, RunSurroundings } from '../model/run.js'
import type { CapturedSource } from '../model/source.js'
import type { PipelineStatus, RunStatus } from '../model/status.js'
import type { PipelineTotals, Pulse } from '../model/totals.js'

export interface Page<T> {
  readonly items: readonly T[]
  /** Pass it to continue; null at the end. */
  readonly nextCursor: string | null
}

export interface PipelineFilter {
  readonly status?: PipelineStatus
  readonly enabled?: boolean
  /** Part of a name, case-insensitive. */
  readonly q?: string
  /** The prefix of the target: `analytics.`, `es:`. */
  readonly target?: string
  /** Pipelines with all of these tags. */
  readonly tag?: readonly string[]
  readonly limit: number
  readonly cursor?: string
}

export interface PageRequest {
  readonly limit: number
  readonly cursor?: string
}

export interface RunFilter extends PageRequest {
  readonly pipelineId?: string
  /** Runs with any of these statuses. */
  readonly status?: readonly RunStatus[]
  /** Requested at or after this time. */
  readonly since?: string
  /** Requested before this time. */
  readonly until?: string
}

export interface RunLogFilter extends PageRequest {
  /** Only warnings and errors. */
  readonly errors?: boolean
  /** Only lines after this id. */
  readonly after?: number
  /** Only lines before this id. */
  readonly before?: number
  readonly attempt?: number
  /** From the end: the newest page first, the next one is older. Lines within a page are in order. */
  readonly last?: boolean
  /** Part of a line, case-insensitive. */
  readonly q?: string
}

export interface AuditFilter extends PageRequest {
  readonly id?: string
  readonly targetId?: string
  /** Actions on it, on its runs and on its quarantined rows. */
  readonly pipelineId?: string
  /** An action, or with a trailing dot all actions with this prefix: `pipeline.` */
  readonly action?: string
  /** Part of a name, case-insensitive. */
  readonly actor?: string
  readonly requestId?: string
  /** At or after this time. */
  readonly since?: string
  /** Before this time. */
  readonly until?: string
}

export interface State {
  readonly pipelineId: string
  readonly lastProcessedKey: string | null
  readonly lastProcessedId: string | null
  readonly updatedAt: string
}

/** Information about the meta store. */
export interface StoreFacts {
  readonly version: string
  /** In the order in which they were applied. */
  readonly migrations: readonly { readonly name: string; readonly appliedAt: string }[]
}

/** A pipeline that is about to be saved. */
export interface OrderDraft {
  readonly name: string
  readonly target: string
  readonly connection: string | null
  readonly after: readonly string[] | null
  readonly reads: readonly RelationRead[]
}

/** The meta store as the API reads it. */
export interface Catalog {
  listPipelines(filter: PipelineFilter): Promise<Page<Pipeline>>
  /** Many pipelines with their runs at once, by name. `q` also searches the target. */
  listPipelineLines(filter: PipelineFilter): Promise<Page<PipelineLine>>
  fleetSummary(): Promise<FleetSummary>
  getPipeline(id: string): Promise<Pipeline | null>
  getState(pipelineId: string): Promise<State | null>
  listRuns(filter: RunFilter): Promise<Page<Run>>
  getRun(id: string): Promise<Run | null>
  runSurroundings(run: Run): Promise<RunSurroundings>
  /** The run that is requested or in progress, and the last one that ended. */
  currentAndLastRun(pipelineId: string): Promise<{ current: Run | null; last: Run | null }>
  /** The run order of pipelines, and which ones are due. */
  orderGraph(): Promise<OrderGraph>
  /** What decides the order of all pipelines, as if `drafts` were saved and `deleted` were gone. By name. */
  orderFactsWith(drafts: readonly OrderDraft[], deleted: readonly string[]): Promise<OrderFacts[]>
  /** Null: nothing has changed that the pipeline would have to read. */
  dueOf(pipelineId: string): Promise<Due | null>
  /** The names of the pipelines whose marts are published with its own, itself included. Null: none are. */
  groupOf(pipelineId: string): Promise<readonly string[] | null>
  /**
   * Pipelines whose tables are not known: inserted or changed with SQL, or created before there was an order. `isFirst`:
   * also those that read no table as far as is known.
   */
  pipelinesWithoutReads(isFirst: boolean): Promise<string[]>
  /** Newest first. */
  listBatches(runId: string, page: PageRequest): Promise<Page<BatchHistory>>
  /** In the order of their keys. */
  listParts(runId: string, page: PageRequest): Promise<Page<PartHistory>>
  listLog(runId: string, filter: RunLogFilter): Promise<Page<RunLogLine>>
  /** Newest first. */
  listRunners(): Promise<FleetRunner[]>
  listAudit(filter: AuditFilter): Promise<Page<AuditEntry>>
  /** Every pipeline, by name. */
  listConnectionUses(): Promise<ConnectionUse[]>
  /** The databases whose changes are captured. */
  listSources(): Promise<CapturedSource[]>
  describeStore(): Promise<StoreFacts>
  /** By the clock of the database. Null if no run has succeeded yet. */
  secondsSinceSuccess(pipelineId: string): Promise<number | null>
  /** Every pipeline, also one that never ran. */
  runTotals(): Promise<PipelineTotals[]>
  fleetPulse(): Promise<Pulse>
  /** Throws unless the meta store responds and has every migration that this program needs. */
  ping(): Promise<void>
}
