import type { Guarantee, Pipeline, Strategy, Way } from './pipeline.js'
import type { AttemptEnd, RowCounts } from './run.js'

/** A runner's right to work on a pipeline until its lease ends or the fence moves on. */
export interface Claim {
  readonly pipeline: Pipeline
  readonly runId: string
  readonly fence: number
  /** Counts the tries inside this run, over all runners that had it. */
  readonly attempt: number
  /** True when an earlier holder died or gave the run back. */
  readonly recovered: boolean
  /** How often a holder died in this run since its last committed batch. */
  readonly deaths: number
  /** Who had it before, null when nobody had or when it was given back in order. */
  readonly previousOwner: string | null
  /** How the attempt of the earlier holder ended; null when there was none. */
  readonly previousEnd: AttemptEnd | null
  /** What started the run: sql, api, schedule, or repair. */
  readonly trigger: string
  /** Where the request stands in a trace, as W3C Trace Context writes it; null: nobody named one. */
  readonly traceparent: string | null
  /** How long the request waited for a runner. */
  readonly waitedMs: number
  /** What was asked for meanwhile. */
  readonly control: Control
}

/** What people asked for since the last batch. Heard between batches only. */
export interface Control {
  readonly pause: boolean
  readonly cancel: boolean
  /** Safe to change in the middle of a run; null is auto. */
  readonly batchSize: number | null
}

/** How far a run is. All numbers are totals since the run began, so that writing them twice changes nothing. */
export interface Progress {
  readonly rows: RowCounts
  readonly batches: number
}

/** What a run did over all its attempts and runners, as the meta store has it. */
export interface RunTotals extends Progress {
  /** From the first claim to the end, on the database's clock. */
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
  /** The checkpoint after this batch, when it lives in another database and is only copied here. */
  readonly copiedCheckpoint: { readonly key: string | null; readonly id: string | null } | null
}

/**
 * A part of a batch, between two moments of performance.now(). A reading that rows pass through happens while the batch
 * before is still being written; where rows never come here, reading is a part of writing.
 */
export interface Phase {
  readonly name: (typeof PHASES)[number]
  readonly from: number
  readonly to: number
}
export const PHASES = ['read', 'transform', 'write', 'checkpoint'] as const

/**
 * Where the time of a batch went. Reading and transforming may have been done ahead, while the batch before it was
 * written; then they are not part of its duration.
 */
export interface BatchPhases {
  /** Null where the database reads and writes in one statement, or where the rows were put aside earlier. */
  readonly readMs: number | null
  /** Null where there are no transforms. */
  readonly transformMs: number | null
  readonly writeMs: number
  readonly checkpointMs: number
}

export interface RunPlan {
  readonly strategy: Strategy
  readonly way: Way
  readonly guarantee: Guarantee
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
  readonly schedule: string
  readonly timezone: string
  readonly nextRunAt: string | null
}

export interface RunnerInfo {
  readonly id: string
  readonly host: string
  readonly pid: number
  readonly version: string
  readonly concurrency: number
}

/** What the sessions of a claim are called in a database, so that they can be told from those of an earlier holder. */
export const SESSION_PREFIX = 'vitrina-run '

export function sessionName({ pipeline, fence }: Claim): string {
  return `${SESSION_PREFIX}${pipeline.id}/${fence}`
}
