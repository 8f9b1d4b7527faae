import type { RowCounts } from './run.js'

/** The ways a run ends. */
export const FINAL_STATUSES = ['SUCCESS', 'FAILED', 'PAUSED', 'CANCELLED'] as const
export type FinalStatus = (typeof FINAL_STATUSES)[number]

/** What one pipeline did as far as its history goes back, whichever runner did the work. */
export interface PipelineTotals {
  readonly pipeline: string
  readonly runs: Readonly<Record<FinalStatus, number>>
  readonly rows: Omit<RowCounts, 'duplicates'>
  /** How long its ended runs took. */
  readonly durations: Durations
  /** Seconds since 1970, null when no run succeeded yet. */
  readonly lastSuccess: number | null
}

export interface Durations {
  readonly count: number
  readonly seconds: number
  /** For each bound that was asked for: the runs that took no longer. */
  readonly within: readonly number[]
}
