import type { LastComparisons } from './reconcile.js'
import type { HeldBack } from './run.js'
import type { PipelineStatus, RunStatus } from './status.js'

/** One line of a list of many pipelines: its configuration, status and recent runs. */
export interface PipelineLine {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly tags: readonly string[]
  readonly type: 'SQL' | 'PYTHON'
  readonly targetTable: string
  readonly targetConnection: string | null
  readonly mode: 'full' | 'incremental'
  readonly enabled: boolean
  readonly status: PipelineStatus
  readonly configVersion: number
  readonly scheduleInterval: string | null
  readonly scheduleTimezone: string
  readonly nextRunAt: string | null
  /** When a run is requested to keep the data fresh; null: not needed. */
  readonly freshnessDueAt: string | null
  readonly lastSuccessAt: string | null
  /** The mart contains everything that was committed in the source before this time. */
  readonly dataAsOf: string | null
  /** How old the data may become; null: no limit. */
  readonly budgetSeconds: number | null
  /** Quarantined rows that are not replayed or discarded yet; counted up to 1,000. */
  readonly quarantined: number
  readonly compared: LastComparisons
  readonly current: ActiveRun | null
  readonly last: EndedRun | null
  /** Newest first. */
  readonly recent: readonly RunBar[]
}

export interface ActiveRun {
  readonly id: string
  readonly status: RunStatus
  readonly attempt: number
  readonly cancelRequested: boolean
  readonly requestedAt: string
  readonly startedAt: string | null
  readonly batches: number
  readonly rowsRead: number
  readonly rowsWritten: number
  readonly errorCode: string | null
  readonly error: string | null
}

export interface EndedRun {
  readonly id: string
  readonly status: RunStatus
  readonly finishedAt: string
  readonly durationMs: number | null
  readonly rowsRead: number
  readonly rowsWritten: number
  readonly rowsDeleted: number
  /** What prevented the checkpoint from advancing. */
  readonly heldBack: HeldBack | null
  readonly errorCode: string | null
  readonly error: string | null
  readonly errorHint: string | null
}

/** One bar in the chart of the latest runs. */
export interface RunBar {
  readonly status: RunStatus
  readonly durationMs: number | null
  readonly rowsRead: number
  readonly rowsWritten: number
}

/** Totals of all pipelines and runners. */
export interface FleetSummary {
  /** The clock of the database: clocks of browsers differ. */
  readonly now: string
  readonly pipelines: number
  readonly queued: number
  readonly running: number
  readonly paused: number
  readonly failed: number
  readonly disabled: number
  readonly runnersAlive: number
  /** Those that have not stopped normally, including dead ones. */
  readonly runnersKnown: number
}
