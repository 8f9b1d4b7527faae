import type { BatchRecord, Claim, Control, Phase, Progress, RunPlan } from '../model/claim.js'
import type { HeldBack, HeldRow, RefusedRow, RepairKey } from '../model/run.js'
import type { MetaSession } from './run-queue.js'

/** What a batch did and what people asked for meanwhile. */
export interface BatchDone {
  readonly record: BatchRecord
  readonly progress: Progress
  readonly control: Control
  /** Where its time went. */
  readonly phases: readonly Phase[]
}

/** A stretch of work inside a run, done batch by batch. */
export interface Step {
  readonly name: string
  /** Moves about `limit` rows and the checkpoint with them, or throws and leaves both. Null: this step is done. */
  next(limit: number): Promise<BatchDone | null>
}

/** Where a transfer writes down what it does. `session` is given when the batch lives in the main database itself. */
export interface Ledger {
  record(batch: BatchRecord, progress: Progress, session: MetaSession | null): Promise<Control>
  /** A checkpoint that somebody set by hand and that the target has not got yet; null: none. */
  resetWish(): Promise<{ readonly key: string | null; readonly id: string | null } | null>
  resetDone(): Promise<void>
  quarantine(rows: readonly RefusedRow[], session: MetaSession | null): Promise<void>
  replayed(rows: readonly HeldRow[], session: MetaSession | null): Promise<void>
  repaired(rows: readonly RepairKey[], session: MetaSession | null): Promise<void>
  /** The mart that the checkpoint speaks of is gone, and another one stands in its place: everything is read anew. */
  martIsNew(): void
  /** Throws when the lease has passed, so that what is about to be sent would come late. */
  requireLease(): void
  /** A line that a transform printed. */
  said(line: { readonly transform: string; readonly text: string }): void
}

/**
 * How the rows of one pipeline reach its target. One instance serves one attempt of one run; its methods are called
 * strictly one after another. The strategy asks for the steps it needs and knows nothing of databases.
 */
export interface Transfer {
  /** Opens what it needs, refuses what cannot work before anything is read, creates the target, takes the fence. */
  prepare(): Promise<RunPlan>
  /** Rows of the quarantine, read anew by their keys and tried again. */
  replay(held: readonly HeldRow[]): Step
  /** Rows that differ, read anew by their keys: written, or removed when the source has none. */
  repair(asked: readonly RepairKey[]): Step
  /** Every row of the source, in batches; goes on where an unfinished pass was left. */
  fullPass(): Step
  /** Rows beyond the checkpoint, in batches. */
  incrementalPass(): Step
  /** Rows whose version changed since the last sweep, recomputed; gone ones are deleted. */
  changedRows(): Step
  /** The whole mart at once: built beside, then exchanged so that no reader sees anything in between. */
  replace(): Step
  /** Removes rows that the source no longer has. */
  sweep(): Step
  /** Lets readers see what the other steps wrote; null: they see it as it is committed. */
  publish(): Step | null
  /** How long a batch should take where nobody set its size: long enough for its fixed costs to vanish. */
  readonly batchMs: number
  readonly heldBack: HeldBack | null
  close(): Promise<void>
}

export interface TransferFactory {
  open(claim: Claim, ledger: Ledger, signal: AbortSignal): Transfer
}
