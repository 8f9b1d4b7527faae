import type { Reconciliation } from '../model/reconcile.js'

export interface FoundComparison {
  readonly pipelineId: string
  readonly configVersion: number
  readonly durationMs: number
  readonly found: Reconciliation
}

/** Stores the results of comparisons, the latest one of counts and the latest one of all rows. */
export interface ComparisonStore {
  /** Has no effect if the pipeline has been deleted meanwhile. */
  keep(comparison: FoundComparison): Promise<void>
}
