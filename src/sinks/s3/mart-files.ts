import { createHash } from 'node:crypto'
import type { AsyncBuffer } from 'hyparquet'
import { VitrinaError } from '../../model/errors.js'
import type { TextValues } from '../../sql/copy-text.js'
import type { Bucket } from './client.js'
import { digestOfTexts } from './digests.js'
import type { FileKeyRange } from './key-spans.js'
import type { ParquetLibrary } from './libraries.js'
import { entryOf, type FileEntry } from './manifest.js'
import { type ParquetColumns, ParquetFileReader, ParquetFileWriter } from './parquet.js'
import type { MartShape } from './schema.js'
import type { Storage } from './types.js'

/** Smaller files are read with one request: a second one costs more than the bytes. */
const WHOLE_BYTES = 1_000_000
const LOOKS_AT_ONCE = 16

/** For files that no manifest names yet. */
const RESET = 'Reset the pipeline and run it in full.'
/** For files in the manifest: a full run reads them too and would fail the same way. */
const REBUILD =
  'If the object cannot be restored, remove manifest.json there, reset the pipeline and run it in full to rebuild the mart.'

/** The context of everything that works on the files of a mart. */
export interface MartContext extends MartShape {
  readonly bucket: Bucket
  readonly parquet: ParquetLibrary
  readonly storages: readonly Storage[]
  readonly keys: readonly Storage[]
  /** Share of the mart that one run may remove. */
  readonly brake: number
  readonly signal: AbortSignal
  readonly now: () => Date
}

/** The Parquet files of one mart. */
export class MartFiles {
  readonly #mart: MartContext

  constructor(mart: MartContext) {
    this.#mart = mart
  }

  newWriter(): ParquetFileWriter {
    return new ParquetFileWriter(this.#mart.parquet, this.#mart.storages, this.#mart.options.compression)
  }

  async put(path: string, writer: ParquetFileWriter, range: FileKeyRange | null): Promise<FileEntry> {
    const bytes = writer.finish()
    await this.#mart.bucket.put(this.#mart.prefix + path, bytes, 'application/vnd.apache.parquet')
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    return entryOf({ path, rows: writer.rows, bytes: bytes.length, sha256 }, range)
  }

  /** A manifest with a missing file would break every reader. */
  async requireThere(entries: readonly FileEntry[]): Promise<void> {
    for (let start = 0; start < entries.length; start += LOOKS_AT_ONCE) {
      await Promise.all(entries.slice(start, start + LOOKS_AT_ONCE).map((entry) => this.#requireSize(entry)))
    }
  }

  async #requireSize(file: FileEntry): Promise<void> {
    const bytes = await this.#mart.bucket.size(this.#mart.prefix + file.path)
    if (bytes === null) throw this.#gone(file, 'does not exist', RESET)
    if (bytes !== file.bytes) throw this.#gone(file, `has ${bytes} bytes instead of ${file.bytes}`, RESET)
  }

  /** Portions of some columns, in row order. */
  async *portions(file: FileEntry, storages: readonly Storage[]): AsyncGenerator<ParquetColumns> {
    const whole = storages.length === this.#mart.storages.length || file.bytes <= WHOLE_BYTES
    const buffer = whole ? await this.#fetch(file) : this.#ranges(file)
    const reader = await ParquetFileReader.open(this.#mart.parquet, buffer)
    if (reader.rows !== file.rows)
      throw this.#gone(file, `contains ${reader.rows} rows instead of ${file.rows}`)
    for await (const columns of reader.portions(storages)) {
      this.#mart.signal.throwIfAborted()
      yield columns
    }
  }

  /** Complete rows, in portions. */
  allColumns(file: FileEntry): AsyncGenerator<ParquetColumns> {
    return this.portions(file, this.#mart.storages)
  }

  /** The key of every row, as texts. */
  async *keys(file: FileEntry): AsyncGenerator<{ readonly row: number; readonly key: TextValues }> {
    const { keys } = this.#mart
    let row = 0
    for await (const columns of this.portions(file, keys)) {
      const count = columns[0]!.length
      for (let at = 0; at < count; at++) {
        yield { row: row + at, key: keys.map((storage, index) => storage.text(columns[index]![at]!)) }
      }
      row += count
    }
  }

  async *keyDigests(file: FileEntry): AsyncGenerator<readonly Buffer[]> {
    const { keys } = this.#mart
    for await (const columns of this.portions(file, keys)) {
      yield Array.from(columns[0]!, (_, at) =>
        digestOfTexts(keys.map((storage, index) => storage.text(columns[index]![at]!))),
      )
    }
  }

  async #fetch(file: FileEntry): Promise<AsyncBuffer> {
    const object = await this.#mart.bucket.get(this.#mart.prefix + file.path)
    if (object === null) throw this.#gone(file, 'does not exist')
    if (object.bytes.length !== file.bytes)
      throw this.#gone(file, `has ${object.bytes.length} bytes instead of ${file.bytes}`)
    const buffer = arrayBuffer(object.bytes)
    return { byteLength: buffer.byteLength, slice: (start, end) => buffer.slice(start, end) }
  }

  #ranges(file: FileEntry): AsyncBuffer {
    return {
      byteLength: file.bytes,
      slice: async (start, end = file.bytes) => {
        const object = await this.#mart.bucket.get(this.#mart.prefix + file.path, [start, end])
        if (object === null) throw this.#gone(file, 'does not exist')
        return arrayBuffer(object.bytes)
      },
    }
  }

  #gone(file: FileEntry, what: string, remedy = REBUILD): VitrinaError {
    return new VitrinaError(
      'SINK_GONE',
      `${this.#mart.prefix}${file.path} in bucket ${this.#mart.bucket.name} ${what}.`,
      `Another program changes objects below the prefix. ${remedy}`,
    )
  }
}

/** A separate buffer even when small: Node.js allocates small buffers inside a shared one. */
function arrayBuffer(bytes: Buffer): ArrayBuffer {
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer
}
