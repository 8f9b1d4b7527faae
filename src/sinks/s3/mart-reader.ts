import { VitrinaError } from '../../model/errors.js'
import type { MartSummary, RowDigest } from '../../ports/sink.js'
import type { TextValues } from '../../sql/copy-text.js'
import { digestOfTexts } from './digests.js'
import { around } from './key-spans.js'
import { type FileEntry, readManifest } from './manifest.js'
import type { MartContext, MartFiles } from './mart-files.js'
import type { ParquetColumns } from './parquet.js'
import type { Scalar, Storage } from './types.js'
import { S3ValueError } from './value-error.js'

/** The mart as its readers see it. */
export class MartReader {
  readonly #mart: MartContext
  readonly #files: MartFiles

  constructor(mart: MartContext, files: MartFiles) {
    this.#mart = mart
    this.#files = files
  }

  async summary(column: string): Promise<MartSummary> {
    const storage = this.#mart.storages.find(({ name }) => name === column)
    if (storage === undefined)
      throw new VitrinaError('KEY_MISSING', `The mart has no column "${column}".`, 'Use one of its columns.')
    const files = await this.#listed()
    const count = files.reduce((sum, { rows }) => sum + rows, 0)
    const known =
      storage === this.#mart.keys[0]
        ? around(
            storage,
            withRows(files).map(({ range }) => range ?? null),
          )
        : null
    if (known !== null) return { count, min: known.least, max: known.greatest }
    const { least, greatest } = await this.#bounds(files, storage)
    return { count, min: storage.text(least), max: storage.text(greatest) }
  }

  async #bounds(
    files: readonly FileEntry[],
    storage: Storage,
  ): Promise<{ least: Scalar | null; greatest: Scalar | null }> {
    let least: Scalar | null = null
    let greatest: Scalar | null = null
    const { compare } = storage
    if (compare === null) return { least, greatest }
    for (const file of files) {
      for await (const [values] of this.#files.portions(file, [storage])) {
        for (const value of values as readonly (Scalar | null)[]) {
          if (value === null) continue
          if (least === null || compare(value, least) < 0) least = value
          if (greatest === null || compare(value, greatest) > 0) greatest = value
        }
      }
    }
    return { least, greatest }
  }

  async *digests(): AsyncGenerator<readonly RowDigest[]> {
    for (const file of await this.#listed()) {
      for await (const columns of this.#files.allColumns(file)) yield this.#digestsOf(columns)
    }
  }

  #digestsOf(columns: ParquetColumns): RowDigest[] {
    const { storages } = this.#mart
    return Array.from(columns[0]!, (_, row) =>
      this.#digest(storages.map((storage, index) => storage.text(columns[index]![row]!))),
    )
  }

  /** A row that would be rejected equals no stored row: its digest is computed from its texts. */
  digestOf(row: TextValues): RowDigest {
    return this.#digest(
      this.#mart.storages.map((storage, index) => {
        try {
          return storage.text(storage.read(row[index]!))
        } catch (error) {
          if (error instanceof S3ValueError) return row[index]!
          throw error
        }
      }),
    )
  }

  #digest(texts: TextValues): RowDigest {
    const { storages, keys } = this.#mart
    const key = keys.map((storage) => texts[storages.indexOf(storage)]!)
    return { key, digest: digestOfTexts(texts).toString('hex') }
  }

  async #listed(): Promise<readonly FileEntry[]> {
    return (await readManifest(this.#mart.bucket, this.#mart.prefix))?.manifest.files ?? []
  }
}

const withRows = (files: readonly FileEntry[]) => files.filter(({ rows }) => rows > 0)
