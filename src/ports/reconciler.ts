import type { Pipeline } from '../model/pipeline.js'
import type { Proof, Reconciliation } from '../model/reconcile.js'

export interface ReconcileOptions {
  /** Row by row; else only counts and the ends of the control field. */
  readonly deep: boolean
  /** How many keys of each kind of difference are told. */
  readonly sampleSize: number
  readonly signal: AbortSignal
}

/** Compares a mart with what its query says now, also while a run goes on. It reads only; a repair is a run. */
export interface Reconciler {
  compare(pipeline: Pipeline, options: ReconcileOptions): Promise<Reconciliation>
  /** The keys that a repair has to mend. */
  keysToRepair(pipeline: Pipeline, signal: AbortSignal): Promise<(string | null)[][]>
  /** Looks at some rows again, after they were mended. */
  prove(
    pipeline: Pipeline,
    keys: readonly (readonly (string | null)[])[],
    signal: AbortSignal,
  ): Promise<Proof>
}
