import type { CheckResult } from '../model/check.js'
import type { BatchRecord, Claim, Control, Phase, Progress, RunPlan } from '../model/claim.js'
import type { OpenPart, PartClaim, PartPlan, PartRecord, PartStates } from '../model/part.js'
import type { FailedAudit, HeldBack, HeldRow, RefusedRow, RepairKey, RunCost } from '../model/run.js'
import type { CheckedOptions, MetaSession } from './run-queue.js'

/** What a batch did, and what users have requested meanwhile. */
export interface BatchDone {
  readonly record: BatchRecord
  readonly progress: Progress
  readonly control: Control
  /** Where its time went. */
  readonly phases: readonly Phase[]
}

/** A part of a run, executed batch by batch. */
export interface Step {
  readonly name: string
  /** Moves about `limit` rows and the checkpoint with them, or throws and leaves both. Null: the step is complete. */
  next(limit: number): Promise<BatchDone | Idle | OpenParts | null>
}

/** The step is cut into parts that any runner may execute: work on them, and call the step again. */
export const OPEN_PARTS = 'open parts'
export type OpenParts = typeof OPEN_PARTS

/** Nothing to do for now: the executor checks for requests of users and calls the step again. */
export const IDLE = 'idle'
export type Idle = typeof IDLE

/** The parts of a run, as the holder of the run keeps them. */
export interface PartBook {
  /** Runner slots that are free besides the one of the run. */
  freeSlots(): Promise<number>
  /** The parts that this run or an earlier one was cut into; empty: none. */
  partsOf(runId: string): Promise<readonly OpenPart[]>
  /** Stores the parts of the run. None can be claimed before `open`. */
  store(parts: readonly OpenPart[]): Promise<void>
  /** Whether runners may still be working on parts for an earlier holder of the run. */
  hasEarlierClaims(): Promise<boolean>
  open(plan: PartPlan): Promise<void>
  states(): Promise<PartStates>
  /** The run continues with parts that an earlier attempt or run has left, in a new snapshot of the source. */
  continued(done: number, total: number): void
}

/** Where a part records what it does. */
export interface PartNotes
  extends Pick<Ledger, 'quarantine' | 'transformOutput' | 'checked' | 'requireLease'> {
  /** Throws if the part is no longer held. Renews its lease. */
  require(): Promise<void>
  /** With `session`, inside the transaction of the rows; otherwise after it. */
  done(record: PartRecord, session: MetaSession | null): Promise<void>
}

/**
 * Executes one part: its rows and its line in the ledger are committed together, or not at all. A sink has the rows
 * before the line is committed.
 */
export interface PartTransfer {
  run(): Promise<PartRecord>
  /** What its sessions have cost; null: unknown. */
  cost(): Promise<RunCost | null>
  close(): Promise<void>
}

/** Where a transfer records what it does. `session` is set if the batch is committed in the main database itself. */
export interface Ledger {
  /** The tables that the query reads, for the order of pipelines. */
  reads(tables: readonly { readonly schema: string; readonly table: string }[]): Promise<void>
  record(batch: BatchRecord, progress: Progress, session: MetaSession | null): Promise<Control>
  /** A checkpoint that a user has set and that is not applied yet; null: none. */
  requestedReset(): Promise<{ readonly key: string | null; readonly id: string | null } | null>
  resetApplied(): Promise<void>
  quarantine(rows: readonly RefusedRow[], session: MetaSession | null): Promise<void>
  /** Adds what checks found to the results of the run. */
  checked(results: readonly CheckResult[], options: CheckedOptions): Promise<void>
  /** Numbers of rows that earlier results of a check observed, newest first. */
  usualRows(check: string): Promise<readonly number[]>
  replayed(rows: readonly HeldRow[], session: MetaSession | null): Promise<void>
  repaired(rows: readonly RepairKey[], session: MetaSession | null): Promise<void>
  /** Some rows of the pipeline are in quarantine. */
  hasRefusedRows(): Promise<boolean>
  /** Rows of the mart differ from the query although every change was followed. */
  auditFailed(audit: FailedAudit): void
  /** Changes were not followed in this batch; a sentence says why. */
  everyRowComputed(reason: string): void
  /** The mart was dropped and created again since the last checkpoint: every row is read again. */
  martRecreated(): void
  /** Throws if the lease has expired: what is about to be sent would arrive too late. */
  requireLease(): void
  /** A line that a transform printed. */
  transformOutput(line: { readonly transform: string; readonly text: string }): void
  readonly parts: PartBook
}

/**
 * Moves the rows of one pipeline to its target. One instance serves one attempt of one run; its methods are called
 * strictly one after another. The strategy chooses the steps and knows nothing about databases.
 */
export interface Transfer {
  readonly plan: RunPlan
  /** Quarantined rows, read again by their keys and tried again. */
  replay(held: readonly HeldRow[]): Step
  /** Rows that differ, read again by their keys: written, or removed if the source does not have them. */
  repair(rows: readonly RepairKey[]): Step
  /** Every row of the source, in batches; continues an unfinished pass. */
  fullPass(): Step
  /** Every row of the source, and the checkpoint stays where it is: for an incremental pipeline in a group. */
  recompute(): Step
  /** What has changed since the checkpoint: rows beyond it in batches, or the rows that changes have affected. */
  incrementalPass(): Step
  /** Applies changes of the source as they are committed, for some minutes; null: it cannot. */
  follow(): Step | null
  /** The whole mart at once: built next to the old one, then published so that no reader sees a mixture. */
  replace(): Step
  /** Removes rows that the source no longer has. */
  sweep(): Step
  /** Makes what the other steps wrote visible to readers; null: they see it as soon as it is committed. */
  publish(): Step | null
  /** Evaluates the checks of the mart and records those that passed; null: the pipeline has no checks. */
  check(): Step | null
  /** How long a batch should take if the pipeline sets no size. */
  readonly batchMs: number
  readonly heldBack: HeldBack | null
  /** What the sessions have cost since the last call; null: unknown. */
  cost(): Promise<RunCost | null>
  close(): Promise<void>
}

/** A member of a group, and where its transfer records what it does. */
export interface GroupMember {
  readonly claim: Claim
  readonly ledger: Ledger
}

/**
 * The transfers of a group: one snapshot of each source, and one transaction in the database of the marts, in which a
 * member sees what those before it have written.
 */
export interface GroupTransfer {
  /** The transfer of a member, one after the other. It is not closed. */
  open(claim: Claim): Promise<Transfer>
  /** Moves the checkpoints and records the batches of every member, and commits. Throws, and nothing is published. */
  publish(): Promise<void>
  /** Rolls back what was not published. */
  close(): Promise<void>
}

export interface TransferFactory {
  /**
   * Opens what the attempt needs, rejects what cannot work before anything is read, creates the target and takes the
   * fence. If it throws, nothing stays open.
   */
  open(claim: Claim, ledger: Ledger, signal: AbortSignal): Promise<Transfer>
  /** The same for every member of a group, before the transaction of the group begins. */
  openGroup(members: readonly GroupMember[], signal: AbortSignal): Promise<GroupTransfer>
  /** The same for a part of a run that another runner may hold. Nothing is created, and the fence is not taken. */
  openPart(part: PartClaim, notes: PartNotes, signal: AbortSignal): Promise<PartTransfer>
}
