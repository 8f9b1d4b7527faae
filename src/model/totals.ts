import type { RowCounts } from './run.js'
import {
  type ACTIVE_RUN_STATUSES,
  isOver,
  type PipelineStatus,
  RUN_STATUSES,
  type RunStatus,
} from './status.js'

/** How a run can end. */
export type FinalStatus = Exclude<RunStatus, (typeof ACTIVE_RUN_STATUSES)[number]>
export const FINAL_STATUSES = RUN_STATUSES.filter((status): status is FinalStatus => isOver(status))

/** What one pipeline has done since its creation, over all runners. */
export interface PipelineTotals {
  readonly pipeline: string
  readonly status: PipelineStatus
  readonly enabled: boolean
  readonly runs: Readonly<Record<FinalStatus, number>>
  readonly rows: Omit<RowCounts, 'duplicates'>
  /** The durations of its ended runs. */
  readonly durations: Durations
  /** Seconds since 1970; null if no run has succeeded yet. */
  readonly lastSuccess: number | null
  /** Seconds since 1970: the position of an incremental pipeline. Null if its key is not a time. */
  readonly watermark: number | null
  /** Seconds since 1970; null if it has no schedule or is disabled. */
  readonly nextRun: number | null
  /** Seconds since 1970: the mart contains everything that was committed before; null: never loaded. */
  readonly dataAsOf: number | null
  /** In seconds; null: not limited. */
  readonly freshnessLimit: number | null
}

/** The state of the runners; times in seconds since 1970. */
export interface Pulse {
  /** The latest heartbeat of any runner; null: none. */
  readonly heartbeat: number | null
  readonly runners: number
  /** Pipelines that they can run at the same time. */
  readonly slots: number
  /** When the run that has waited longest was requested; null: none waits. */
  readonly oldestRequest: number | null
}

export interface Durations {
  readonly count: number
  readonly seconds: number
  /** For each bound of the buckets: the runs that took no longer. Empty: no run has ended yet. */
  readonly within: readonly number[]
}
