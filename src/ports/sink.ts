import type { TargetKind } from '../model/target.js'
import type { Finding } from '../model/validation.js'
import type { TextValues } from '../sql/copy-text.js'
import type { RowBatch } from '../sql/row-batch.js'
import type { Column } from '../sql/selection.js'

/** Names one batch of one run. Of two batches of a pipeline the later one has the greater fence, or the same and a greater number. */
export interface BatchId {
  readonly pipelineId: string
  readonly runId: string
  readonly fence: number
  /** Counts the batches of the run, from 1. A batch that is repeated after a crash has its number again. */
  readonly number: number
}

/** A row that the sink will not take, by its place in the batch. */
export interface Refusal {
  readonly row: number
  readonly reason: string
}

export interface WriteResult {
  readonly inserted: number
  readonly updated: number
  readonly unchanged: number
  /** Rows that a later row of the same batch with the same key replaced. */
  readonly duplicates: number
  readonly refused: readonly Refusal[]
  /** What `publish` has to know of this batch; kept with the checkpoint until it was called. */
  readonly marks?: readonly string[]
}

export interface Removal {
  readonly deleted: number
  readonly marks?: readonly string[]
}

/** A mart that is built beside the one that people read. */
export interface Replacement {
  /** What was built so far survives the run: an attempt that continues it goes on after its last batch. */
  readonly isResumable: boolean
  write(batch: RowBatch, id: BatchId): Promise<WriteResult>
  /**
   * Lets readers see it in the place of the old one, all at once. `written` is how many rows all batches wrote, of which
   * `rewritten` may have been written before, and the marks of all batches: the count is checked, and the brake is asked
   * before rows disappear.
   */
  publish(
    id: BatchId,
    written: { readonly rows: number; readonly rewritten: number; readonly marks: readonly string[] },
  ): Promise<Removal>
}

/**
 * Where a mart lives, when that is not a PostgreSQL that could commit rows and checkpoint together. One instance serves
 * one attempt of one run, or one look; its methods are called strictly one after another.
 *
 * A sink translates and classifies: it throws VitrinaError (whose class decides about retries), it does not log, and it
 * does not retry but what the server asked it to send again later.
 */
export interface Sink {
  /** What speaks against writing these columns there, or should be known. Changes nothing. */
  examine(): Promise<Examination>
  /** Creates what is missing: table, index, mapping. Safe before every run. */
  prepare(): Promise<void>
  /**
   * Which mart this is, after `prepare`: one that was deleted and created again has another identity, and a checkpoint
   * that was reached with the old one says nothing about what is in it.
   */
  identity?(): Promise<string>
  /**
   * Puts the whole batch there and returns when the server has it, or throws. A batch is repeated after a crash, so
   * writing it twice leaves the mart as after the first time (invariant 2), and a batch that comes late must not undo a
   * later one where the server can tell (invariant 4).
   */
  write(batch: RowBatch, id: BatchId): Promise<WriteResult>
  /** Removes rows by key, each key as texts in the order of the key columns. Absent ones are no error. */
  remove(keys: readonly TextValues[], id: BatchId): Promise<Removal>
  /**
   * Removes every row whose key is not among these; throws BRAKE first if that is more than the brake allows. `marks` are
   * those of all batches since the last `publish`: what they wrote counts as there.
   */
  removeAbsent(
    keys: AsyncIterable<readonly TextValues[]>,
    id: BatchId,
    marks?: readonly string[],
  ): Promise<Removal>
  replacement(runId: string): Promise<Replacement>
  /** After the last batch of a run that wrote something: lets readers see it, where that needs a word. `marks` are those of all batches since the last call. */
  publish(marks: readonly string[], id: BatchId): Promise<void>
  /** Rows, least and greatest value of a column, as readers see them now. */
  summary(column: string): Promise<MartSummary>
  /** Every row as readers see it now, in portions, in any order. For comparing. */
  digests(): AsyncIterable<readonly RowDigest[]>
  /** What `digests` would give for this row once it is written. */
  digestOf(row: TextValues): RowDigest
  close(): Promise<void>
}

export interface Examination {
  /** Null: the mart is not there yet and will be created. */
  readonly exists: boolean
  readonly errors: readonly Finding[]
  readonly warnings: readonly Finding[]
}

export interface MartSummary {
  readonly count: number
  readonly min: string | null
  readonly max: string | null
}

export interface RowDigest {
  /** Texts in the order of the key columns, as the source would write them. */
  readonly key: TextValues
  /** Equal when the rows are. */
  readonly digest: string
}

/** What a sink is opened for. */
export interface SinkMart {
  /** The address after its prefix: the name of the index, of the table, the prefix in the bucket. */
  readonly name: string
  /** What is written, with PostgreSQL types. */
  readonly columns: readonly Column[]
  /** Columns that identify a row. */
  readonly key: readonly string[]
  /** target_options of the pipeline, as `readOptions` of the kind returned them. */
  readonly options: Readonly<Record<string, unknown>>
  /** Share of the mart that one run may remove. */
  readonly brake: number
  /** Runs build the mart anew (`full_strategy` replace): what is there now need not fit. */
  readonly replaces?: boolean
  readonly signal: AbortSignal
  /** Throws when the lease has passed. For a sink to ask before a request that its server would take however late it comes. */
  readonly requireLease?: () => void
}

/** One kind of sink: everything that the rest of the product has to know of it. Registered in src/sinks/index.ts. */
export interface SinkKind extends TargetKind {
  /** What keeps it from being used at all (no address configured, client not installed), with the remedy; null: nothing. */
  missing(): Promise<{ readonly message: string; readonly hint: string } | null>
  /** What is wrong with a name, by the rules of the server; null: nothing. */
  nameProblem(name: string): string | null
  /** Other names of the same mart: one may leave out what the settings say. */
  otherNames?(name: string): readonly string[]
  /** How OpenLineage calls the mart of this name: the server as namespace, without credentials. Null: no server is configured. */
  datasetName?(name: string): { readonly namespace: string; readonly name: string } | null
  /** Options with their defaults, or what is wrong with each. */
  readOptions(
    raw: Readonly<Record<string, unknown>>,
  ):
    | { readonly options: Readonly<Record<string, unknown>> }
    | { readonly problems: readonly { readonly field: string; readonly message: string }[] }
  /** Whether the server answers, for doctor. Throws what is wrong. */
  ping(signal: AbortSignal): Promise<string>
  /** Where the server is, without login and password; null or absent: not configured, or no server. */
  readonly address?: string | null
  /** What the server says it is, where it says so. */
  version?(signal: AbortSignal): Promise<string>
  open(mart: SinkMart): Promise<Sink>
}
