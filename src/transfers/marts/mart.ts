import type { CheckResult } from '../../model/check.js'
import type { Phase } from '../../model/claim.js'
import { NO_ROWS, type RefusedRow, type RowCounts } from '../../model/run.js'
import type { BatchId } from '../../ports/sink.js'
import type { TextValues } from '../../sql/copy-text.js'
import type { RowBatch } from '../../sql/row-batch.js'

/** What one batch did to a mart. */
export interface MartChange {
  readonly rows: RowCounts
  readonly refused: readonly RefusedRow[]
  /** What the sink needs to know when it publishes the batch. */
  readonly marks: readonly string[]
  /** The time spent on reading the source, if the mart did that. */
  readonly read?: Phase
  /** What checks found; absent: every row passed. */
  readonly checks?: readonly CheckResult[]
}

export const NO_CHANGE: MartChange = { rows: NO_ROWS, refused: [], marks: [] }

export function deletedRows(deleted: number, marks: readonly string[] = []): MartChange {
  return { rows: { ...NO_ROWS, deleted }, refused: [], marks }
}

/** Applies something that was read before; called inside the batch. */
export type Apply = (id: BatchId) => Promise<MartChange>

/** Writes the rows of a portion. */
export interface MartWriter<Rows> {
  write(rows: Rows, id: BatchId): Promise<MartChange>
}

/** Values of some columns of the key, each of which identifies a part of the mart. */
export interface Scopes {
  readonly columns: readonly { readonly name: string; readonly type: string }[]
  /** One array for each column; all have the same length. */
  readonly values: readonly (readonly string[])[]
}

/** A mart that takes rows from this process: a table of PostgreSQL, or what is behind a sink. */
export interface RowMart extends MartWriter<RowBatch> {
  /** Throws BRAKE first if these are more than this share of the mart. */
  remove(keys: readonly TextValues[], id: BatchId, brake: number): Promise<MartChange>
  /** Whether rows can be found by these columns of the key. */
  findsScopes(columns: readonly string[]): boolean
  /** Removes the rows of these scopes whose key is not among `kept`; see `remove`. */
  removeWithin(scopes: Scopes, kept: readonly TextValues[], removal: RemovalWithin): Promise<MartChange>
  /** Removes every row whose key is not among these. `marks` are those of the batches that are not published yet. */
  removeAbsent(
    keys: AsyncIterable<readonly TextValues[]>,
    id: BatchId,
    marks: readonly string[],
  ): Promise<MartChange>
  replacement(): Promise<MartReplacement>
  /** Null: readers see what is written at once. */
  readonly publish: ((marks: readonly string[], id: BatchId) => Promise<void>) | null
}

export interface RemovalWithin {
  readonly id: BatchId
  readonly brake: number
}

/** A new version of a mart, built next to the one that people query. */
export interface MartReplacement extends MartWriter<RowBatch> {
  /** What was built so far survives the attempt. */
  readonly isResumable: boolean
  publish(id: BatchId, written: RowCounts, marks: readonly string[]): Promise<MartChange>
}

/** A mart before the run has changed anything. */
export interface FoundMart<M> {
  /** The columns that identify a row; none: the mart does not exist, and the pipeline names no key_columns. */
  readonly key: readonly string[]
  /** Creates what is missing. */
  create(): Promise<CreatedMart<M>>
}

export interface CreatedMart<M> {
  readonly mart: M
  /** Changes when the mart is dropped and created again; null: not tracked. */
  readonly identity: string | null
  /** It did not exist before. */
  readonly isNew: boolean
}
