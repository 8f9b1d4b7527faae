import type { BatchPhases, Claim, Phase } from './claim.js'
import type { EngineJob } from './engine.js'
import type { RowCounts } from './run.js'

/** Rows after `lo`, up to and including `hi`. Null: open on that side. */
export interface KeyRange {
  readonly lo: readonly string[] | null
  readonly hi: readonly string[] | null
}

/** What the parts of a run have in common. */
export interface PartPlan {
  readonly step: string
  /** Identifies query, target, key and connections: a runner that sees others does not execute a part. */
  readonly fingerprint: string
  /** The snapshot of the source that every part reads, exported by the holder of the run. */
  readonly snapshot: string
  /** How many parts may be executed at the same time. */
  readonly width: number
  /** The mart had no rows when the run was cut. */
  readonly isEmpty: boolean
  /** Where the rows are gathered before they are published, as quoted SQL; null: in the mart itself, or behind a sink. */
  readonly into: string | null
  /** What a sink returned to the holder of the run for all who write parts; null: the mart is a table. */
  readonly ticket: string | null
  /** The columns of the key that the ranges refer to. */
  readonly columns: readonly string[]
  /** The number of the batch in front of the first part. */
  readonly batchBefore: number
  /** For an engine outside the runners; null: runners execute the parts. */
  readonly job: EngineJob | null
}

/** A part that is not claimed yet. */
export interface OpenPart extends KeyRange {
  /** An earlier run has committed it. */
  readonly isDone: boolean
  /** What a sink has to know about its rows when it publishes them. */
  readonly marks: readonly string[]
}

/** A runner's right to execute a part: it ends with its lease, with that of the run, or when the fence moves on. */
export interface PartClaim extends Claim {
  readonly part: number
  readonly range: KeyRange
  /** Counts the claims of this part. Only the last one can commit. */
  readonly partAttempt: number
  readonly plan: PartPlan
  /** Rows that the run has quarantined so far. */
  readonly refusedSoFar: number
}

/** What a part did. */
export interface PartRecord {
  readonly rows: RowCounts
  /** What a sink has to know about its rows when it publishes them. */
  readonly marks: readonly string[]
  readonly durationMs: number
  readonly phases: BatchPhases
  readonly spans: readonly Phase[]
}

/** The parts of a run that are not committed. */
export interface PartStates {
  readonly open: number
  /** Why one of them failed; null: none did. */
  readonly failed: { readonly code: string; readonly message: string; readonly hint: string } | null
}
