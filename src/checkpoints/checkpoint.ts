import { createHash } from 'node:crypto'
import { finalTarget, type Pipeline } from '../model/pipeline.js'
import type { RowCounts } from '../model/run.js'
import type { Cursor } from '../sql/selection.js'

/** The position of a pipeline after its last committed batch, stored next to the rows that it covers. */
export interface Checkpoint {
  readonly key: string | null
  readonly id: string | null
  readonly position: Position
}

/** A moment in the life of a database: transactions that commit later have an id from here on. */
export interface Moment {
  readonly from: string
  readonly system: string
}

/** What was committed at a moment: every transaction id below `from`, except those that were open. */
export interface Committed extends Moment {
  readonly open: readonly string[]
}

/** When a pass began, in the source and in the mart. */
export interface PassStart {
  readonly source: Moment
  readonly mart: Committed
}

/** The internal part of a checkpoint. It is stored as JSON, so its names are part of the storage format. */
export interface Position {
  /** What the current run has done so far. Totals, so that writing them twice changes nothing. */
  readonly run?: {
    readonly id: string
    readonly batches: number
    readonly rows: RowCounts
    /** Completed steps: an attempt that continues the run skips them. */
    readonly done: readonly string[]
    /** Its batches were published together with those of its group. */
    readonly together?: true
  }
  /** An unfinished pass: its name, what it reads, and how far it got. */
  readonly pass?: {
    readonly name: string
    readonly fingerprint: string
    readonly after: Cursor | null
    /** Rows written to the replacement of the mart so far. */
    readonly written?: RowCounts
    readonly begun?: PassStart
    /** The run that was cut into parts for it: the next run continues with those that are not committed. */
    readonly parts?: { readonly run: string }
  }
  /** When the last complete pass began. A comparison uses it to distinguish drift from rows that are still on their way. */
  readonly read?: PassStart & {
    readonly fingerprint: string
    /** The transaction id of the rows of its last batch, and whether that batch wrote all rows of the pass. */
    readonly wrote?: { readonly number: string; readonly isOnly: boolean }
  }
  /** When rows that are gone from the source were last removed from the mart. */
  readonly swept?: { readonly mart: Committed; readonly fingerprint: string }
  /**
   * The complete cursor with its columns; last_processed_key and last_processed_id hold its first two values. A full
   * pass stores no columns: the next run does not continue from its cursor.
   */
  readonly cursor?: { readonly columns: readonly string[]; readonly values: Cursor }
  /** The identity of the mart. A mart that was dropped and created again has another one. */
  readonly mart?: string
  /** What the sink has to publish before readers see these batches. */
  readonly unpublished?: readonly string[]
  /** Keys from a sequence become safe when every transaction that was open at `seenAt` has ended. */
  readonly seen?: { readonly key: string; readonly seenAt: string }
  /** Where the next search for new row versions starts. */
  readonly xmin?: Moment
  /** Where the pipeline is in the change log of its source. */
  readonly wal?: LogPosition
  /** For `capture: key` of a computed key: every row whose key is not above this one is in the mart. */
  readonly modified?: string
  /** What these three will be when a pass over every row, which is still unfinished, has ended. */
  readonly next?: Pick<Position, 'xmin' | 'wal'> & { readonly modified?: string | null }
  /** What audits have found so far. */
  readonly audit?: ScopeAudit
  /** `next.xmin`, as version 0.1 stored it. */
  readonly xminNext?: Moment
}

/** Random scopes are computed again after incremental runs, in the snapshot of the run, and compared. */
export interface ScopeAudit {
  /** Identifies the query (`QueryTrace.fingerprint`). Another one is audited from the start. */
  readonly query: string
  readonly since: string
  readonly scopes: number
  /** Time spent on incremental runs, and on audits among it. */
  readonly runMs: number
  readonly auditMs: number
  /** Rows differed: changes of this query are not followed any more. */
  readonly failed?: { readonly at: string; readonly rows: number; readonly key: string }
}

/** A place in the change log of a source database. */
export interface LogPosition {
  /** Changes with every new slot. */
  readonly generation: string
  /** The end of the last commit that was applied, as pg_lsn. */
  readonly endLsn: string
  /** Of the tables, and of the query with its views. */
  readonly fingerprint: string
}

/** Where the pipeline is after a batch, whatever the run did. */
export interface CheckpointState {
  readonly key: string | null
  readonly id: string | null
  readonly position: Omit<Position, 'run'>
}

export function withoutPass(state: CheckpointState): CheckpointState {
  const { pass: _pass, ...position } = state.position
  return { ...state, position }
}

/** Identifies what a position refers to. It is invalid for another query, target, key, database or list of transforms. */
export function passFingerprint(pipeline: Pipeline, query: string, key: readonly string[]): string {
  const { sourceConnection, targetConnection, tasks } = pipeline
  const transforms = tasks.slice(1).map((task) => task.body)
  return createHash('sha256')
    .update(
      JSON.stringify([query, finalTarget(pipeline), key, sourceConnection, targetConnection, transforms]),
    )
    .digest('hex')
    .slice(0, 16)
}

/**
 * The cursor to continue from. A checkpoint that a user has set has only its first values. Null if the cursor belongs
 * to other columns: the pipeline had another key or mode, so every row is read again.
 */
export function cursorFrom(
  { key, id, position: { cursor } }: CheckpointState,
  columns: readonly string[],
): Cursor | null {
  const isStored =
    cursor !== undefined && (cursor.values[0] ?? null) === key && (cursor.values[1] ?? null) === id
  if (isStored) return cursor.columns.join() === columns.join() ? cursor.values : null
  return key === null ? null : id === null ? [key] : [key, id]
}
