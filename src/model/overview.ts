import type { LastComparisons } from './reconcile.js'
import type { HeldBack } from './run.js'
import type { PipelineStatus, RunStatus } from './status.js'

/** One line of a list that shows many pipelines at once: what it is, what it does, how it went. */
export interface PipelineLine {
  readonly id: string
  readonly name: string
  readonly description: string
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
  readonly lastSuccessAt: string | null
  /** Rows of the quarantine that nobody settled yet; counted up to 1,000. */
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
  /** What kept the checkpoint from moving on. */
  readonly heldBack: HeldBack | null
  readonly errorCode: string | null
  readonly error: string | null
  readonly errorHint: string | null
}

/** One bar of the last runs. */
export interface RunBar {
  readonly status: RunStatus
  readonly durationMs: number | null
  readonly rowsRead: number
  readonly rowsWritten: number
}

/** The whole fleet in a few numbers. */
export interface FleetSummary {
  /** The clock of the database: browsers have clocks of their own. */
  readonly now: string
  readonly pipelines: number
  readonly queued: number
  readonly running: number
  readonly paused: number
  readonly failed: number
  readonly disabled: number
  readonly runnersAlive: number
  /** Those that did not end in order, dead ones among them. */
  readonly runnersKnown: number
}
