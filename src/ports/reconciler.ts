import type { Pipeline } from '../model/pipeline.js'
import type { Reconciliation } from '../model/reconcile.js'

export interface ReconcileOptions {
  /** Row by row; else only counts and the ends of the control field. */
  readonly deep: boolean
  /** How many keys of each kind of difference are told. */
  readonly sampleSize: number
  /** How far an incremental pipeline has come: rows beyond it are not drift. */
  readonly checkpoint: readonly string[] | null
  readonly signal: AbortSignal
}

/** Compares a mart with what its query says now. It reads only; a repair is a run. */
export interface Reconciler {
  compare(pipeline: Pipeline, options: ReconcileOptions): Promise<Reconciliation>
  /** The keys that a repair has to mend. */
  keysToRepair(pipeline: Pipeline, options: ReconcileOptions): Promise<(string | null)[][]>
}
