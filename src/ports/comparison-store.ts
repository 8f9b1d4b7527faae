import type { Reconciliation } from '../model/reconcile.js'

export interface FoundComparison {
  readonly pipelineId: string
  readonly configVersion: number
  readonly durationMs: number
  readonly found: Reconciliation
}

/** Keeps what a comparison found, the last one of counts and the last one of all rows. */
export interface ComparisonStore {
  /** Nothing happens when the pipeline is gone meanwhile. */
  keep(comparison: FoundComparison): Promise<void>
}
