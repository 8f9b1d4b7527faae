import { gunzipSync, gzipSync } from 'node:zlib'
import type { AsyncBuffer, FileMetaData, SchemaElement } from 'hyparquet'
import type { S3Options } from './config.js'
import type { ParquetLibrary } from './libraries.js'
import type { ParquetValue, Storage } from './types.js'

const ROWS_IN_GROUP = 100_000
const CODECS = { snappy: 'SNAPPY', gzip: 'GZIP', uncompressed: 'UNCOMPRESSED' } as const
const deflate = { GZIP: (input: Uint8Array) => new Uint8Array(gzipSync(input)) }
const inflate = { GZIP: (input: Uint8Array) => new Uint8Array(gunzipSync(input)) }

/** Columnar: `columns[i][row]`. */
export type ParquetColumns = readonly (readonly ParquetValue[])[]

/** Builds one file. The same rows in the same portions give the same bytes. */
export class ParquetFileWriter {
  readonly #storages: readonly Storage[]
  readonly #bytes: InstanceType<ParquetLibrary['writer']['ByteWriter']>
  readonly #writer: InstanceType<ParquetLibrary['writer']['ParquetWriter']>
  rows = 0

  constructor(
    { writer }: ParquetLibrary,
    storages: readonly Storage[],
    compression: S3Options['compression'],
  ) {
    this.#storages = storages
    this.#bytes = new writer.ByteWriter()
    this.#writer = new writer.ParquetWriter({
      writer: this.#bytes,
      schema: schemaOf(storages, 'elements'),
      codec: CODECS[compression],
      compressors: deflate,
    })
  }

  write(columns: ParquetColumns): void {
    const count = columns[0]?.length ?? 0
    if (count === 0) return
    this.rows += count
    const columnData = this.#storages.map(({ name, encoding }, index) => ({
      name,
      data: columns[index] as ParquetValue[],
      ...(encoding === undefined ? {} : { encoding }),
    }))
    void this.#writer.write({ columnData, rowGroupSize: ROWS_IN_GROUP })
  }

  finish(): Uint8Array {
    this.#forgetFloatBounds()
    this.#writer.schema = schemaOf(this.#storages, 'footer')
    void this.#writer.finish()
    return this.#bytes.getBytes()
  }

  /** Statistics leave NaN out, but NaN is the greatest number in DuckDB, which would skip matching rows. */
  #forgetFloatBounds(): void {
    for (const { columns } of this.#writer.row_groups) {
      for (const { meta_data: chunk } of columns) {
        if (chunk?.statistics === undefined || (chunk.type !== 'FLOAT' && chunk.type !== 'DOUBLE')) continue
        delete chunk.statistics.min_value
        delete chunk.statistics.max_value
      }
    }
  }
}

function schemaOf(storages: readonly Storage[], which: 'elements' | 'footer'): SchemaElement[] {
  return [{ name: 'root', num_children: storages.length }, ...storages.flatMap((storage) => storage[which])]
}

/** Reads one file, a row group at a time. */
export class ParquetFileReader {
  readonly rows: number
  readonly #library: ParquetLibrary
  readonly #file: AsyncBuffer
  readonly #metadata: FileMetaData

  private constructor(library: ParquetLibrary, file: AsyncBuffer, metadata: FileMetaData) {
    this.#library = library
    this.#file = file
    this.#metadata = metadata
    this.rows = Number(metadata.num_rows)
  }

  static async open(library: ParquetLibrary, file: AsyncBuffer): Promise<ParquetFileReader> {
    const metadata = await library.reader.parquetMetadataAsync(file, { parsers: AS_THEY_ARE })
    return new ParquetFileReader(library, file, { ...metadata, schema: metadata.schema.map(physical) })
  }

  /** Values of these columns, in portions. */
  async *portions(storages: readonly Storage[]): AsyncGenerator<ParquetColumns> {
    const columns = storages.map(({ name }) => name)
    const scan = await this.#library.reader.parquetScan({
      file: this.#file,
      metadata: this.#metadata,
      columns,
      utf8: false,
      compressors: inflate,
    })
    for (const range of scan.ranges) {
      const raw = await Promise.all(columns.map((column) => scan.readColumn({ column, ...range })))
      yield raw.map((values, index) => Array.from(values as Iterable<unknown>, storages[index]!.restore))
    }
  }
}

/** Column bounds are read with the footer; ours may be truncated, and truncated JSON is invalid. */
const AS_THEY_ARE = {
  jsonFromBytes: (bytes: Uint8Array) => bytes,
  stringFromBytes: (bytes: Uint8Array) => bytes,
  uuidFromBytes: (bytes: Uint8Array) => bytes,
}

/** Without the annotations that make the reader convert decimals to doubles and microseconds to dates. */
function physical(element: SchemaElement): SchemaElement {
  if (element.type === undefined) return element
  const { converted_type: _converted, logical_type: _logical, ...rest } = element
  return rest
}
