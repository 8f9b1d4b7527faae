import { VitrinaError } from '../../model/errors.js'
import type { BatchId, PartBatchId, RejectedRow, WriteResult } from '../../ports/sink.js'
import type { TextValues } from '../../sql/copy-text.js'
import type { RowBatch } from '../../sql/row-batch.js'
import { rangeOf } from './key-spans.js'
import { batchFile, LONGEST_PARTITION, partitionFolder } from './layout.js'
import { type FileEntry, fileMark } from './manifest.js'
import type { MartContext, MartFiles } from './mart-files.js'
import type { ParquetValue } from './types.js'
import { S3ValueError } from './value-error.js'

const UPLOADS_AT_ONCE = 8
/** Each is a file: a column with more values in one batch is a key, not a partition. */
const MOST_PARTITIONS = 500

interface ParquetRow {
  readonly values: readonly ParquetValue[]
  readonly key: string
  readonly folder: string
}

/** Writes batches to files, one for each partition. */
export class S3Writer {
  readonly #mart: MartContext
  readonly #files: MartFiles

  constructor(mart: MartContext, files: MartFiles) {
    this.#mart = mart
    this.#files = files
  }

  async write(batch: RowBatch, id: BatchId | PartBatchId): Promise<WriteResult> {
    const { rows, refused, duplicates } = this.#sort(batch.rows)
    const folders = byFolder(rows)
    if (folders.size > MOST_PARTITIONS) throw this.#tooMany(folders.size)
    const written = await this.#upload([...folders], id)
    return {
      inserted: rows.length,
      updated: 0,
      unchanged: 0,
      duplicates,
      refused,
      marks: written.map(fileMark),
    }
  }

  /** The rows to write: the last one of each key, without rows that do not fit. */
  #sort(batch: readonly TextValues[]): { rows: ParquetRow[]; refused: RejectedRow[]; duplicates: number } {
    const refused: RejectedRow[] = []
    const byKey = new Map<string, ParquetRow>()
    let fit = 0
    for (const [index, texts] of batch.entries()) {
      const row = this.#read(texts)
      if (typeof row === 'string') {
        refused.push({ row: index, reason: row })
        continue
      }
      fit += 1
      byKey.set(row.key, row)
    }
    return { rows: [...byKey.values()], refused, duplicates: fit - byKey.size }
  }

  /** The row, or the reason why it is rejected. */
  #read(texts: TextValues): ParquetRow | string {
    const { storages, keys } = this.#mart
    const values: ParquetValue[] = []
    for (const [index, storage] of storages.entries()) {
      const value = valueOr(() => storage.read(texts[index]!))
      if (value instanceof S3ValueError) return `${storage.name}: ${value.message}`
      values.push(value)
    }
    const key = keys.map((storage) => storage.text(values[storages.indexOf(storage)]!))
    const none = key.indexOf(null)
    if (none >= 0) return `${keys[none]!.name}: a key column is NULL`
    const folder = this.#folder(values)
    if (folder === null)
      return `${this.#mart.options.partition_by}: the name of the partition would exceed ${LONGEST_PARTITION} characters`
    return { values, key: JSON.stringify(key), folder }
  }

  #folder(values: readonly ParquetValue[]): string | null {
    const { storages, options } = this.#mart
    if (options.partition_by === null) return ''
    const index = storages.findIndex(({ name }) => name === options.partition_by)
    return partitionFolder(options.partition_by, storages[index]!.text(values[index]!))
  }

  async #upload(
    folders: readonly (readonly [string, ParquetRow[]])[],
    id: BatchId | PartBatchId,
  ): Promise<FileEntry[]> {
    const entries: FileEntry[] = []
    for (let start = 0; start < folders.length; start += UPLOADS_AT_ONCE) {
      const some = folders.slice(start, start + UPLOADS_AT_ONCE)
      entries.push(
        ...(await Promise.all(some.map(([folder, rows]) => this.#put(batchFile(id, folder), rows)))),
      )
    }
    return entries
  }

  #put(path: string, rows: readonly ParquetRow[]): Promise<FileEntry> {
    const writer = this.#files.newWriter()
    const columns = this.#mart.storages.map((_, index) => rows.map(({ values }) => values[index]!))
    writer.write(columns)
    const [first] = this.#mart.keys
    return this.#files.put(path, writer, rangeOf(first!, columns[this.#mart.storages.indexOf(first!)]!))
  }

  #tooMany(count: number): VitrinaError {
    return new VitrinaError(
      'TARGET_VALUE',
      `One batch has ${count} values of "${this.#mart.options.partition_by}", one file each; at most ${MOST_PARTITIONS} are allowed.`,
      'Partition by a column with few values, such as a month, or do not partition.',
    )
  }
}

function byFolder(rows: readonly ParquetRow[]): Map<string, ParquetRow[]> {
  const folders = new Map<string, ParquetRow[]>()
  for (const row of rows) {
    const same = folders.get(row.folder)
    if (same === undefined) folders.set(row.folder, [row])
    else same.push(row)
  }
  return folders
}

function valueOr(read: () => ParquetValue): ParquetValue | S3ValueError {
  try {
    return read()
  } catch (error) {
    if (error instanceof S3ValueError) return error
    throw error
  }
}
