import type { FailedAudit, RowCounts } from '../../model/run.js'
import type { BatchId } from '../../ports/sink.js'
import type { Traced } from '../../scopes/index.js'
import type { TextValues } from '../../sql/copy-text.js'
import type { Column } from '../../sql/selection.js'
import type { Apply, MartChange, MartWriter, Scopes } from '../marts/mart.js'
import type { RowSource } from '../marts/table-writer.js'
import type { Progression } from '../progression.js'
import type { Reader } from '../readers/reader.js'

/**
 * Which reader goes with which mart. The steps are the same for every route; `Rows` identifies the rows of a portion:
 * a selection that the databases run themselves (pushdown and relay), or rows in this process.
 *
 * Methods are called outside a batch and read from the source; what they return is applied inside a batch.
 */
export interface Route<Rows> {
  /** The whole mart can be rebuilt from one snapshot in one batch. */
  readonly rebuildsAtOnce: boolean
  /** Null: readers see rows as soon as they are committed. */
  readonly publish: ((marks: readonly string[], id: BatchId) => Promise<void>) | null
  /** The rows of a pass, and what writes them. */
  pass(name: string, progression: Progression): Stream<Rows>
  /** Whether rows of the mart can be found by these columns of its key. */
  findsScopes(columns: readonly string[]): boolean
  /** Null: the mart is not audited. */
  readonly auditor: Auditor | null
  /** Called in the snapshot of the source in which the rows are to be computed. */
  changes(rows: AffectedRows): Promise<Recomputed<Rows>>
  /**
   * Called when the step is created, so that rows which an earlier step quarantines do not count twice. The returned
   * function reads the whole mart, to be replaced at once.
   */
  rebuild(): () => Promise<Rebuild<Rows>>
  /** Reads the keys of the source; applying it removes all other rows of the mart. */
  sweep(): Promise<Apply>
  /** The returned function reads the rows with some keys. Applying it writes them and, if requested, removes absent ones. */
  repair(removeAbsent: boolean): (keys: readonly TextValues[]) => Promise<Apply>
}

export interface Stream<Rows> {
  readonly reader: Reader<Rows>
  readonly writer: MartWriter<Rows>
  readonly progression: Progression
}

/** Compares a few rows of the mart with what the query returns for them. */
export interface Auditor {
  /** Computes random scopes in the snapshot of the source. Null: the mart has none. */
  collect(trace: Traced): Promise<CollectedAudit | null>
}

export interface CollectedAudit {
  readonly scopes: number
  /** Called inside the batch, after its rows were written. Null: the rows are equal. */
  compare(): Promise<Pick<FailedAudit, 'rows' | 'key'> | null>
}

/** Rows that are computed again. */
export interface AffectedRows {
  /** A statement without parameters that returns them, in the order of the key. */
  readonly selection: string
  /** Rows of the mart in these scopes that are not returned are deleted; null: all rows that are not returned. */
  readonly scopes: Scopes | null
}

export interface Recomputed<Rows> {
  /** Rows to be written in batches of their own; null: all are part of `finish`. */
  readonly stream: Omit<Stream<Rows>, 'progression'> | null
  /** The last batch. */
  readonly finish: Apply
}

export interface Rebuild<Rows> {
  /** Rows to be written next to the mart; null: all were collected, and `publish` applies the difference. */
  readonly stream: Stream<Rows> | null
  /** What was written survives the attempt, so the checkpoint follows it. */
  readonly isResumable: boolean
  publish(id: BatchId, written: RowCounts): Promise<MartChange>
}

/** How the rows of a selection get into the session of the target: the only difference between pushdown and relay. */
export interface Mover extends RowSource<string> {
  /** Reads all rows of a selection once, in its order, into the new temporary table `into`. */
  collect(selection: string, into: string, columns: readonly Column[]): Promise<number>
}
