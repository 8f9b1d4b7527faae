import type { RefusedRow, RowCounts } from '../../model/run.js'
import type { BatchId } from '../../ports/sink.js'
import type { TextValues } from '../../sql/copy-text.js'
import type { RowBatch } from '../../sql/row-batch.js'

/** What was done to a mart by one batch; `read` is left to whoever read. */
export interface MartChange {
  readonly rows: RowCounts
  readonly refused: readonly RefusedRow[]
  readonly marks: readonly string[]
}

/** What the rows way writes into: a table of PostgreSQL, or whatever stands behind a sink. */
export interface Mart {
  write(batch: RowBatch, id: BatchId): Promise<MartChange>
  /** Throws BRAKE first if these are more than this share of the mart. */
  remove(keys: readonly TextValues[], id: BatchId, brake: number): Promise<MartChange>
  /** `marks` are those that were not published yet. */
  removeAbsent(
    keys: AsyncIterable<readonly TextValues[]>,
    id: BatchId,
    marks: readonly string[],
  ): Promise<MartChange>
  replacement(): Promise<MartReplacement>
  /** Null: what is written is seen at once. */
  readonly publish: ((marks: readonly string[], id: BatchId) => Promise<void>) | null
}

export interface MartReplacement {
  /** What was built so far survives the attempt. */
  readonly isResumable: boolean
  write(batch: RowBatch, id: BatchId): Promise<MartChange>
  publish(id: BatchId, sofar: RowCounts, marks: readonly string[]): Promise<MartChange>
}
