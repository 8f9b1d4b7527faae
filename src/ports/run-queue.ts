import type {
  BatchRecord,
  Claim,
  Control,
  Progress,
  Release,
  RunEnd,
  RunnerInfo,
  RunPlan,
  RunTotals,
  ScheduledPipeline,
} from '../model/claim.js'
import type { HeldBack, HeldRow, RefusedRow, RepairKey } from '../model/run.js'

/** A session of the main database, when the batch that is being committed lives there too. */
export interface MetaSession {
  query(text: string, values: readonly unknown[]): Promise<{ rows: unknown[] }>
}

/**
 * The meta store as the runner sees it. Every method that takes a claim proves it by its fence, and throws LEASE_LOST
 * when somebody else holds the pipeline (invariants 3 and 4). The runner cannot edit configuration.
 */
export interface RunQueue {
  /** Takes the oldest requested pipeline, or one whose holder went silent. Null: nothing to do. */
  claim(runnerId: string, leaseSeconds: number): Promise<Claim | null>
  /** Renews the lease; also the heartbeat of a long batch. */
  renew(claim: Claim, leaseSeconds: number): Promise<Control>
  planned(claim: Claim, plan: RunPlan): Promise<void>
  /**
   * Writes down a batch and renews the lease, last before the batch is committed. With `session`, inside the very
   * transaction of the batch.
   */
  record(
    claim: Claim,
    batch: BatchRecord,
    progress: Progress,
    leaseSeconds: number,
    session: MetaSession | null,
  ): Promise<Control>
  /** Keeps rows that the target refused, with the reason. Repeating it changes nothing. */
  quarantine(claim: Claim, rows: readonly RefusedRow[], session: MetaSession | null): Promise<void>
  /** A checkpoint that somebody set by hand, until it is settled. */
  resetWish(claim: Claim): Promise<{ readonly key: string | null; readonly id: string | null } | null>
  resetDone(claim: Claim): Promise<void>
  /** Rows of the quarantine that somebody wants to be tried again. */
  toReplay(claim: Claim): Promise<HeldRow[]>
  replayed(claim: Claim, rows: readonly HeldRow[], session: MetaSession | null): Promise<void>
  /** The rows that somebody wants to be mended. */
  toRepair(claim: Claim): Promise<RepairKey[]>
  repaired(claim: Claim, rows: readonly RepairKey[], session: MetaSession | null): Promise<void>
  heldBack(claim: Claim, by: HeldBack | null): Promise<void>
  retrying(
    claim: Claim,
    attempt: number,
    error: { message: string; code: string; hint: string },
  ): Promise<void>
  /**
   * Ends the run and lets the pipeline go: IDLE, PAUSED or FAILED. Returns what the run did over all its attempts.
   * Null, and nothing is ended: it was about to succeed, and has just been handed rows to repair.
   */
  finish(claim: Claim, end: RunEnd): Promise<RunTotals | null>
  /**
   * Hands the run back unfinished and records why: any runner may continue it at once. False: another runner holds it.
   */
  release(claim: Claim, release: Release): Promise<boolean>
  /** Pipelines whose schedule has to be looked at, with the database's own time. */
  dueSchedules(): Promise<{ now: string; pipelines: readonly ScheduledPipeline[] }>
  /** Sets the next time, and requests a run if `start`. False: another runner did it first. */
  reschedule(pipeline: ScheduledPipeline, next: string | null, start: boolean): Promise<boolean>
  /** A sign of life, for people who look at the fleet. */
  heartbeat(runner: RunnerInfo): Promise<void>
  gone(runnerId: string): Promise<void>
}
