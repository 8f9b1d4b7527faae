import type { CheckResult } from '../model/check.js'
import type {
  BatchRecord,
  Capacity,
  Claim,
  Control,
  EndNotes,
  Progress,
  Release,
  RunEnd,
  RunnerInfo,
  RunPlan,
  RunTotals,
  ScheduledPipeline,
  StalledRun,
} from '../model/claim.js'
import type { Pipeline } from '../model/pipeline.js'
import type { HeldRow, RefusedRow, RepairKey, RunCost } from '../model/run.js'
import type { TableName } from '../model/table-name.js'

export interface RecordOptions {
  readonly progress: Progress
  readonly leaseSeconds: number
  readonly session: MetaSession | null
}

export interface CheckedOptions {
  /** The number of the batch, which may be repeated; null: the mart was checked, or all batches passed. */
  readonly batch: number | null
  /** The number is that of a part: any of them may be repeated. */
  readonly isPart?: boolean
  readonly session: MetaSession | null
}

/** Pipelines whose data would become too old. */
export interface DueByFreshness {
  /** The names of those whose run was requested. */
  readonly requested: readonly string[]
  /** The ids of those that wait for their first run until it is known which tables they read. */
  readonly unknown: readonly string[]
  /** When to look again, if that is sooner than a runner usually does. */
  readonly againMs: number | null
}

/** The tables that the query of a pipeline names. */
export type TablesOf = (pipeline: Pipeline) => Promise<readonly TableName[]>

/** A session of the main database, if the batch that is being committed is there too. */
export interface MetaSession {
  query(text: string, values: readonly unknown[]): Promise<{ rows: unknown[] }>
}

/**
 * The meta store as the runner sees it. Every method that takes a claim proves it by its fence, and throws LEASE_LOST
 * if another runner holds the pipeline (invariants 3 and 4). The runner cannot edit configuration.
 */
export interface RunQueue {
  /**
   * Claims a pipeline whose holder is silent, or a requested one that fits into the capacity; queues take turns.
   * Without a capacity every pipeline fits. Null: nothing to do.
   */
  claim(runnerId: string, leaseSeconds: number, capacity?: Capacity): Promise<Claim | null>
  /** Renews the lease; also the heartbeat of a long batch. */
  renew(claim: Claim, leaseSeconds: number): Promise<Control>
  planned(claim: Claim, plan: RunPlan): Promise<void>
  /** Stores the tables that the pipeline reads. What would close a cycle is not followed. */
  reads(claim: Claim, tables: readonly { readonly schema: string; readonly table: string }[]): Promise<void>
  /** A live pipeline has committed changes in another database: its followers are due. */
  changed(claim: Claim): Promise<void>
  /** Requests the runs of followers that are due; returns their ids. Any runner may do so at any moment. */
  requestDue(): Promise<string[]>
  /**
   * Records a batch and renews the lease, last before the batch is committed. With `session`, inside the transaction
   * of the batch.
   */
  record(claim: Claim, batch: BatchRecord, options: RecordOptions): Promise<Control>
  /** Stores rows that the target rejected, with the reason. Repeating it changes nothing. */
  quarantine(claim: Claim, rows: readonly RefusedRow[], session: MetaSession | null): Promise<void>
  /** Adds what checks found to the results of the run. Repeating it for the same batch changes nothing. */
  checked(claim: Claim, results: readonly CheckResult[], options: CheckedOptions): Promise<void>
  /** Numbers of rows that earlier results of a check observed, newest first. */
  usualRows(claim: Claim, check: string): Promise<number[]>
  /** A checkpoint that a user set, until it is applied. */
  requestedReset(claim: Claim): Promise<{ readonly key: string | null; readonly id: string | null } | null>
  resetDone(claim: Claim): Promise<void>
  /** Quarantined rows whose retry is requested. */
  toReplay(claim: Claim): Promise<HeldRow[]>
  replayed(claim: Claim, rows: readonly HeldRow[], session: MetaSession | null): Promise<void>
  /** The rows whose repair is requested. */
  toRepair(claim: Claim): Promise<RepairKey[]>
  repaired(claim: Claim, rows: readonly RepairKey[], session: MetaSession | null): Promise<void>
  /** Some rows of the pipeline are in quarantine. */
  hasRefusedRows(claim: Claim): Promise<boolean>
  /** Adds what a part of the run cost. */
  spent(claim: Claim, cost: RunCost): Promise<void>
  retrying(
    claim: Claim,
    attempt: number,
    error: { message: string; code: string; hint: string },
  ): Promise<void>
  /**
   * Ends the run and releases the pipeline: IDLE, PAUSED or FAILED. Returns what the run did over all its attempts.
   * Null, and nothing is ended but `notes` are recorded: it was about to succeed, and there are rows to repair.
   */
  finish(claim: Claim, end: RunEnd, notes?: EndNotes): Promise<RunTotals | null>
  /**
   * Ends the runs of a group, all of them or none. Null: they were about to succeed, and one has just received rows to
   * repair.
   */
  finishGroup(
    group: readonly { readonly claim: Claim; readonly end: RunEnd }[],
  ): Promise<readonly RunTotals[] | null>
  /**
   * Hands the runs back unfinished and records why: any runner may continue them at once. False: another runner holds
   * the run.
   */
  release(claims: readonly Claim[], release: Release): Promise<readonly boolean[]>
  /** Pipelines whose schedule has to be checked, with the time of the database. */
  dueSchedules(): Promise<{ now: string; pipelines: readonly ScheduledPipeline[] }>
  /** Sets the next time, and requests a run if `start`. False: another runner did it first. */
  reschedule(pipeline: ScheduledPipeline, next: string | null, start: boolean): Promise<boolean>
  /** Requests runs of pipelines whose data would become too old. `learned`: ids for which `learnReads` was called. */
  requestByFreshness(learned: readonly string[]): Promise<DueByFreshness>
  /** Stores which tables these pipelines read: their first runs wait for the marts among them. */
  learnReads(ids: readonly string[], tablesOf: TablesOf): Promise<void>
  /** A heartbeat, shown in the list of runners. */
  heartbeat(runner: RunnerInfo): Promise<void>
  gone(runnerId: string): Promise<void>
  /** Marks queued runs that no live runner takes. Each is returned once, to one runner. */
  markStalled(): Promise<StalledRun[]>
}
