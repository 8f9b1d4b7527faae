import type { RowCounts } from './run.js'
import type { PipelineStatus } from './status.js'

/** The ways a run ends. */
export const FINAL_STATUSES = ['SUCCESS', 'FAILED', 'PAUSED', 'CANCELLED'] as const
export type FinalStatus = (typeof FINAL_STATUSES)[number]

/** What one pipeline did since it is there, whichever runner did the work. */
export interface PipelineTotals {
  readonly pipeline: string
  readonly status: PipelineStatus
  readonly enabled: boolean
  readonly runs: Readonly<Record<FinalStatus, number>>
  readonly rows: Omit<RowCounts, 'duplicates'>
  /** How long its ended runs took. */
  readonly durations: Durations
  /** Seconds since 1970, null when no run succeeded yet. */
  readonly lastSuccess: number | null
  /** Seconds since 1970: how far an incremental pipeline has come. Null where its key is no time. */
  readonly watermark: number | null
  /** Seconds since 1970; null when it has no schedule, or is disabled. */
  readonly nextRun: number | null
}

/** How the runners are, in seconds since 1970. */
export interface Pulse {
  /** The newest sign of life of any runner; null: there was none. */
  readonly heartbeat: number | null
  readonly runners: number
  /** Pipelines that they can work on at the same time. */
  readonly slots: number
  /** Since when the run waits that waits longest; null: none does. */
  readonly oldestRequest: number | null
}

export interface Durations {
  readonly count: number
  readonly seconds: number
  /** For each bound of the buckets: the runs that took no longer. Empty: no run ended yet. */
  readonly within: readonly number[]
}
