import type { Guarantee, Pipeline, Strategy, Way } from './pipeline.js'
import type { AttemptEnd, HeldBack, RowCounts, RunCost } from './run.js'
import type { TagSlots } from './tag-slots.js'

/** A runner's right to work on a pipeline until its lease ends or the fence moves on. */
export interface Claim {
  readonly pipeline: Pipeline
  readonly runId: string
  readonly fence: number
  /** Counts the attempts of this run, over all runners. */
  readonly attempt: number
  /** True if an earlier holder died or handed the run back. */
  readonly recovered: boolean
  /** How often a holder died in this run since its last committed batch. */
  readonly deaths: number
  /** The previous holder; null for the first holder, or if it handed the run back normally. */
  readonly previousOwner: string | null
  /** How the attempt of the previous holder ended; null for the first holder. */
  readonly previousEnd: AttemptEnd | null
  /** What started the run: sql, api, schedule, or repair. */
  readonly trigger: string
  /** The position of the request in a trace, in the format of W3C Trace Context; null: not traced. */
  readonly traceparent: string | null
  /** How long the request waited for a runner. */
  readonly waitedMs: number
  /** Requests made meanwhile. */
  readonly control: Control
  /** The claims of its group, this one included, in the order in which they are computed; null: it runs by itself. */
  readonly group: readonly Claim[] | null
}

/** Requests since the last batch. Checked only between batches. */
export interface Control {
  readonly pause: boolean
  readonly cancel: boolean
  /** Safe to change during a run; null is auto. */
  readonly batchSize: number | null
}

/** The progress of a run. All numbers are totals since the run began, so that writing them twice changes nothing. */
export interface Progress {
  readonly rows: RowCounts
  readonly batches: number
}

/** What a run did over all its attempts and runners, from the meta store. */
export interface RunTotals extends Progress {
  /** From the first claim to the end, by the clock of the database. */
  readonly durationMs: number
}

export interface BatchRecord {
  readonly batch: number
  readonly step: string
  readonly rows: RowCounts
  readonly firstKey: string | null
  readonly lastKey: string | null
  readonly durationMs: number
  readonly phases: BatchPhases
  /** The checkpoint after this batch, if it lives in another database and is only copied here. */
  readonly copiedCheckpoint: { readonly key: string | null; readonly id: string | null } | null
}

/**
 * A part of a batch, between two moments of performance.now(). Rows that pass through the runner are read while the
 * previous batch is still being written. A statement that reads and writes is a part of writing.
 */
export interface Phase {
  readonly name: (typeof PHASES)[number]
  readonly from: number
  readonly to: number
}
export const PHASES = ['read', 'transform', 'write', 'checkpoint'] as const

/**
 * Where the time of a batch went. Reading and transforming may happen ahead, while the previous batch is written;
 * then they are not part of its duration.
 */
export interface BatchPhases {
  /** Null if the database reads and writes in one statement, or if the rows were staged earlier. */
  readonly readMs: number | null
  /** Null if there are no transforms. */
  readonly transformMs: number | null
  readonly writeMs: number
  readonly checkpointMs: number
}

export interface RunPlan {
  readonly strategy: Strategy
  readonly way: Way
  readonly guarantee: Guarantee
}

/** What is recorded together with the end of a run. */
export interface EndNotes {
  /** Null: it was recorded before. */
  readonly plan: RunPlan | null
  readonly measured: Measured
}

/** Of one attempt. */
export interface Measured {
  readonly heldBack: HeldBack | null
  /** Null: not known. */
  readonly cost: RunCost | null
}

export type RunEnd =
  | { readonly status: 'SUCCESS' | 'PAUSED' | 'CANCELLED' }
  | { readonly status: 'FAILED'; readonly error: string; readonly code: string; readonly hint: string }

/** Why a runner hands a run back before it has ended. */
export type Release =
  | { readonly end: 'given_back' }
  | {
      readonly end: 'connection_lost'
      readonly error: string
      readonly code: string
      readonly hint: string
    }

export interface ScheduledPipeline {
  readonly id: string
  readonly name: string
  /** Null: it is to run all the time. */
  readonly schedule: string | null
  readonly timezone: string
  readonly nextRunAt: string | null
}

export interface RunnerInfo {
  readonly id: string
  readonly host: string
  readonly pid: number
  readonly version: string
  readonly concurrency: number
  /** Null: it takes every pipeline. */
  readonly tags: TagSlots | null
  readonly connectionLimits: ConnectionLimits
}

/** Runs at once by connection, over all runners. */
export type ConnectionLimits = Readonly<Record<string, number>>

/** What a runner can take now. */
export interface Capacity {
  /** Null: every pipeline. */
  readonly free: TagSlots | null
  readonly limits: ConnectionLimits
}

/** A queued run that no live runner takes. */
export interface StalledRun {
  readonly runId: string
  readonly pipelineId: string
  readonly pipelineName: string
  readonly tags: readonly string[]
}

/** The application_name of the sessions of a claim, which distinguishes them from those of an earlier holder. */
export const SESSION_PREFIX = 'vitrina-run '

export function sessionName({ pipeline, fence }: Claim): string {
  return `${SESSION_PREFIX}${pipeline.id}/${fence}`
}

/** The same for a part of a run, followed by the part and how often it was claimed. */
export function partSessionName(claim: Claim, part: number, attempt: number): string {
  return `${sessionName(claim)}/${part}.${attempt}`
}
