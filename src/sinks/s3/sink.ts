import { VitrinaError } from '../../model/errors.js'
import type {
  BatchId,
  Examination,
  MartSummary,
  Parting,
  Removal,
  Replacement,
  RowDigest,
  Sink,
  WriteResult,
} from '../../ports/sink.js'
import type { TextValues } from '../../sql/copy-text.js'
import type { RowBatch } from '../../sql/row-batch.js'
import { type ReadManifest, readManifest } from './manifest.js'
import { type MartContext, MartFiles } from './mart-files.js'
import { MartReader } from './mart-reader.js'
import { Publisher } from './publisher.js'
import { Remover } from './remover.js'
import { requireFit, shapeProblems, warnings } from './schema.js'
import { S3Writer } from './writer.js'

/** A mart of Parquet files. Batches add files; a manifest lists the files that make up the mart. */
export class S3Sink implements Sink {
  readonly #mart: MartContext
  readonly #writer: S3Writer
  readonly #remover: Remover
  readonly #publisher: Publisher
  readonly #reader: MartReader
  #wasThere = false

  constructor(mart: MartContext) {
    const files = new MartFiles(mart)
    this.#mart = mart
    this.#writer = new S3Writer(mart, files)
    this.#remover = new Remover(mart, files)
    this.#publisher = new Publisher(mart, files)
    this.#reader = new MartReader(mart, files)
  }

  async examine(): Promise<Examination> {
    const seen = await this.#inspect()
    const errors = shapeProblems(this.#mart, seen?.manifest ?? null)
    return { exists: seen !== null, errors, warnings: warnings(this.#mart.columns) }
  }

  /** Creates nothing: an administrator has to create the bucket. */
  async prepare(): Promise<void> {
    const seen = await this.#inspect()
    requireFit(this.#mart, seen?.manifest ?? null)
    this.#wasThere = seen !== null
  }

  write(batch: RowBatch, id: BatchId): Promise<WriteResult> {
    return this.#writer.write(batch, id)
  }

  remove(keys: readonly TextValues[], id: BatchId): Promise<Removal> {
    return this.#remover.remove(keys, id)
  }

  removeAbsent(
    keys: AsyncIterable<readonly TextValues[]>,
    id: BatchId,
    marks: readonly string[],
  ): Promise<Removal> {
    return this.#remover.removeAbsent(keys, id, marks)
  }

  async replacement(): Promise<Replacement> {
    return {
      isResumable: true,
      write: (batch, id) => this.#writer.write(batch, id),
      publish: async (id, { marks, ...written }) => ({
        deleted: await this.#publisher.replace(marks, id, written),
      }),
    }
  }

  /** Files of a part have names of their own for each claim, and only those that the ledger knows are published. */
  readonly parting: Parting = {
    refusesLate: true,
    begin: async (_id, replaces) => ({
      ticket: '',
      end: async (id, { marks, ...written }) => ({
        deleted: replaces ? await this.#publisher.replace(marks, id, written) : 0,
      }),
    }),
    open: async () => this.#writer,
  }

  async publish(marks: readonly string[], id: BatchId): Promise<void> {
    await this.#requireStillThere()
    await this.#publisher.append(marks, id)
  }

  summary(column: string): Promise<MartSummary> {
    return this.#reader.summary(column)
  }

  digests(): AsyncIterable<readonly RowDigest[]> {
    return this.#reader.digests()
  }

  digestOf(row: TextValues): RowDigest {
    return this.#reader.digestOf(row)
  }

  async close(): Promise<void> {
    this.#mart.bucket.close()
  }

  async #inspect(): Promise<ReadManifest | null> {
    await this.#mart.bucket.requireThere()
    return readManifest(this.#mart.bucket, this.#mart.prefix)
  }

  /** Otherwise a mart whose manifest was removed would consist of the rows of the last run only. */
  async #requireStillThere(): Promise<void> {
    if (!this.#wasThere || (await readManifest(this.#mart.bucket, this.#mart.prefix)) !== null) return
    throw new VitrinaError(
      'SINK_GONE',
      `The manifest of ${this.#mart.prefix} in bucket ${this.#mart.bucket.name} disappeared during the run.`,
      'Reset the pipeline and run it in full to rebuild the mart.',
    )
  }
}
