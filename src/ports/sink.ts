import type { TargetKind } from '../model/target.js'
import type { Finding } from '../model/validation.js'
import type { TextValues } from '../sql/copy-text.js'
import type { RowBatch } from '../sql/row-batch.js'
import type { Column } from '../sql/selection.js'

/** Identifies one batch of one run. The later of two batches has a greater fence, or the same fence and a greater number. */
export interface BatchId {
  readonly pipelineId: string
  readonly runId: string
  readonly fence: number
  /** Counts the batches of the run, from 1. A batch that is repeated after a crash has the same number. */
  readonly number: number
}

/**
 * Some rows of one part of a run. `number` is that of the batch in front of the parts, the same for all of them; of two
 * claims of a part, the rows of the later one count.
 */
export interface PartBatchId extends BatchId {
  readonly part: number
  readonly claim: number
  /** Counts the batches of this claim, from 1. */
  readonly portion: number
}

/** A row that the sink rejects, by its index in the batch. */
export interface RejectedRow {
  readonly row: number
  readonly reason: string
}

export interface WriteResult {
  readonly inserted: number
  readonly updated: number
  readonly unchanged: number
  /** Rows that a later row of the same batch with the same key replaced. */
  readonly duplicates: number
  readonly refused: readonly RejectedRow[]
  /** What `publish` needs to know about this batch; stored with the checkpoint until then. */
  readonly marks?: readonly string[]
}

export interface Removal {
  readonly deleted: number
  readonly marks?: readonly string[]
}

/** The number of rows that all batches wrote, of which `rewritten` may have been written before, and their marks. */
export interface Written {
  readonly rows: number
  readonly rewritten: number
  readonly marks: readonly string[]
}

/** A new version of a mart, built next to the one that people query. */
export interface Replacement {
  /** What was built so far survives the attempt: the next one continues after the last batch. */
  readonly isResumable: boolean
  write(batch: RowBatch, id: BatchId): Promise<WriteResult>
  /**
   * Publishes it in place of the old one, atomically. Checks the count, and throws BRAKE if too many rows would
   * disappear.
   */
  publish(id: BatchId, written: Written): Promise<Removal>
}

/**
 * The ability to take the rows of one pass from several processes at the same time. Each of them writes parts; the
 * holder of the run begins and ends, and no other process creates, removes or publishes anything.
 *
 * The line of a part in the ledger is committed after its rows are here. So a part may be written more than once, by
 * claims that follow each other, and a claim that was frozen may write when all is over: where the server supports it,
 * it must not overwrite what later claims and later batches wrote.
 */
export interface Parting {
  /**
   * Called in every attempt of a run, before any part of it can be claimed. What earlier attempts of the run handed out
   * cannot undo what this one writes. `replaces`: the rows are gathered next to the mart, from the beginning.
   */
  begin(id: BatchId, replaces: boolean): Promise<PartedPass>
  /** In any process. Creates nothing. `ticket` is that of the pass. */
  open(ticket: string): Promise<PartWriter>
  /**
   * The server refuses what an earlier holder of the run sends late. If it does not, parts are not executed again
   * before the leases of earlier claims have ended.
   */
  readonly refusesLate: boolean
}

/** A pass whose parts may be written. */
export interface PartedPass {
  /** Everything that a process has to know in order to write a part. */
  readonly ticket: string
  /**
   * Every part is committed, and nothing has been written since. With `replaces`, publishes what was gathered in place
   * of the old rows as a replacement does; otherwise `publish` of the sink follows at the end of the run.
   */
  end(id: BatchId, written: Written): Promise<Removal>
}

export interface PartWriter {
  write(batch: RowBatch, id: PartBatchId): Promise<WriteResult>
}

/**
 * A mart on a server that cannot commit rows and checkpoint together. One instance serves one attempt of one run, or one
 * inspection; its methods are called strictly one after another.
 *
 * A sink translates and classifies: it throws VitrinaError (whose class decides about retries) and does not log. It
 * retries only what the server asks it to send again later.
 */
export interface Sink {
  /** Reasons why these columns cannot be written there, and warnings. Changes nothing. */
  examine(): Promise<Examination>
  /** Creates what is missing: table, index, mapping. Safe before every run. */
  prepare(): Promise<void>
  /**
   * Which mart this is, after `prepare`. A mart that was deleted and created again has another identity, and the
   * checkpoint of the old one does not apply to it.
   */
  identity?(): Promise<string>
  /**
   * Writes the whole batch and returns when the server has it, or throws. A batch is repeated after a crash, so writing
   * it twice leaves the mart as after the first time (invariant 2). Where the server supports it, a late batch must not
   * overwrite a later one (invariant 4).
   */
  write(batch: RowBatch, id: BatchId): Promise<WriteResult>
  /**
   * Keys of the rows that have one of these combinations of values in these columns, which are some of the key. Absent:
   * the server would have to read the whole mart, so that a change of one row of a group writes every row again.
   */
  keysWithin?(columns: readonly string[], values: readonly TextValues[]): Promise<readonly TextValues[]>
  /** Removes rows by key, each key as texts in the order of the key columns. Absent keys are not an error. */
  remove(keys: readonly TextValues[], id: BatchId): Promise<Removal>
  /**
   * Removes every row whose key is not among these; throws BRAKE first if that is more than the brake allows. `marks` are
   * those of all batches since the last `publish`: their rows count as part of the mart.
   */
  removeAbsent(
    keys: AsyncIterable<readonly TextValues[]>,
    id: BatchId,
    marks?: readonly string[],
  ): Promise<Removal>
  replacement(runId: string): Promise<Replacement>
  /** Absent: one process at a time can write the mart. */
  readonly parting?: Parting
  /** Called after the last batch of a run that wrote something: makes it visible to readers. `marks` are those of all batches since the last call. */
  publish(marks: readonly string[], id: BatchId): Promise<void>
  /** Number of rows, lowest and highest value of a column, as readers see them now. */
  summary(column: string): Promise<MartSummary>
  /** Every row as readers see it now, in portions, in any order. For comparisons. */
  digests(): AsyncIterable<readonly RowDigest[]>
  /**
   * What `digests` would return for this row once it is written. Its key is equal for two keys that are one row here; it
   * is also asked with NULL in the other columns.
   */
  digestOf(row: TextValues): RowDigest
  close(): Promise<void>
}

export interface Examination {
  /** False: the mart does not exist yet and will be created. */
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
  /** Equal if the rows are equal. */
  readonly digest: string
}

/** The mart that a sink is opened for. */
export interface MartDefinition {
  /** The address after its prefix: the name of the index, of the table, the prefix in the bucket. */
  readonly name: string
  /** The columns that are written, with PostgreSQL types. */
  readonly columns: readonly Column[]
  /** Columns that identify a row. */
  readonly key: readonly string[]
  /** target_options of the pipeline, as `readOptions` of the kind returned them. */
  readonly options: Readonly<Record<string, unknown>>
  /** Share of the mart that one run may remove. */
  readonly brake: number
  /** Every run builds the mart from scratch (`full_strategy` replace): an existing one does not have to fit. */
  readonly replaces?: boolean
  readonly signal: AbortSignal
  /** Throws if the lease has expired. To be called before a request that the server would accept however late it arrives. */
  readonly requireLease?: () => void
}

/** One kind of sink: everything that the rest of the product needs to know about it. Registered in src/sinks/index.ts. */
export interface SinkKind extends TargetKind {
  /** Why it cannot be used at all (no address configured, client not installed), with the remedy; null: it can. */
  missing(): Promise<{ readonly message: string; readonly hint: string } | null>
  /** What is wrong with a name by the rules of the server; null: nothing. */
  nameProblem(name: string): string | null
  /** Other names of the same mart: a name may omit what the settings define. */
  otherNames?(name: string): readonly string[]
  /** The OpenLineage name of this mart: the server as namespace, without credentials. Null: no server is configured. */
  datasetName?(name: string): { readonly namespace: string; readonly name: string } | null
  /** Options with their defaults, or what is wrong with each. */
  readOptions(
    raw: Readonly<Record<string, unknown>>,
  ):
    | { readonly options: Readonly<Record<string, unknown>> }
    | { readonly problems: readonly { readonly field: string; readonly message: string }[] }
  /** Checks that the server responds, for `vitrina doctor`. Throws otherwise. */
  ping(signal: AbortSignal): Promise<string>
  /** The address of the server, without credentials; null or absent: not configured, or no server. */
  readonly address?: string | null
  /** The version that the server reports, if it reports one. */
  version?(signal: AbortSignal): Promise<string>
  open(mart: MartDefinition): Promise<Sink>
}
