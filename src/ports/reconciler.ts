import type { Pipeline } from '../model/pipeline.js'
import type { Proof, Reconciliation } from '../model/reconcile.js'

export interface ReconcileOptions {
  /** Row by row; else only counts and the range of the control field. */
  readonly deep: boolean
  /** The maximum number of keys returned for each kind of difference. */
  readonly sampleSize: number
  readonly signal: AbortSignal
}

/**
 * Compares a mart with the current result of its query, also while a run is in progress. It reads only; a repair is a
 * run.
 */
export interface Reconciler {
  compare(pipeline: Pipeline, options: ReconcileOptions): Promise<Reconciliation>
  /** The keys that a repair has to write or delete. */
  keysToRepair(pipeline: Pipeline, signal: AbortSignal): Promise<(string | null)[][]>
  /** Compares some rows again after their repair. */
  prove(
    pipeline: Pipeline,
    keys: readonly (readonly (string | null)[])[],
    signal: AbortSignal,
  ): Promise<Proof>
}
