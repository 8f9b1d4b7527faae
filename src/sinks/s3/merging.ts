import { createHash } from 'node:crypto'
import type { BatchId } from '../../ports/sink.js'
import type { DeadRows } from './digests.js'
import { around, type FileKeyRange, rangeOf } from './key-spans.js'
import { folderOf, mergedFile } from './layout.js'
import type { FileEntry } from './manifest.js'
import type { MartContext, MartFiles } from './mart-files.js'
import type { ParquetColumns, ParquetFileWriter } from './parquet.js'
import type { Resolution } from './resolution.js'
import type { ParquetValue, Storage } from './types.js'

/** This many small files of similar size are merged into one. */
const TOGETHER = 8
const SMALLEST = 16_384
const ROWS_IN_GROUP = 100_000
const MEGABYTE = 1_048_576

interface Living {
  readonly file: FileEntry
  readonly dead: DeadRows
  readonly bytes: number
}

/**
 * Files of the next manifest: unchanged where all rows are current, rewritten where some are superseded. Small files of
 * similar size are merged, so that each row is copied only a few times and readers open few files.
 */
export async function mergeFiles(
  mart: MartContext,
  files: MartFiles,
  { resolution, id }: { readonly resolution: Resolution; readonly id: BatchId },
): Promise<FileEntry[]> {
  const living = resolution.files.flatMap((file) => {
    const dead = resolution.dead.get(file.path)!
    const left = file.rows - dead.count
    return left === 0 ? [] : [{ file, dead, bytes: (file.bytes * left) / file.rows }]
  })
  const groups = together(living, mart.options.file_size_mb * MEGABYTE)
  const grouped = new Set(groups.flat())
  const alone = living.filter((one) => !grouped.has(one))
  const kept = alone.filter(({ dead }) => dead.count === 0).map(({ file }) => file)
  const rewritten: FileEntry[] = []
  for (const group of [...alone.filter(({ dead }) => dead.count > 0).map((one) => [one]), ...groups]) {
    rewritten.push(await rewrite(mart, files, { group, id }))
  }
  return [...kept, ...rewritten]
}

function together(living: readonly Living[], most: number): Living[][] {
  const tiers = new Map<string, Living[]>()
  for (const one of living.filter(({ bytes }) => bytes < most / 2)) {
    const tier = Math.floor(Math.log(Math.max(one.bytes / SMALLEST, 1)) / Math.log(TOGETHER))
    const name = `${tier} ${partitionName(one.file)}`
    tiers.set(name, [...(tiers.get(name) ?? []), one])
  }
  return [...tiers.values()].filter((tier) => tier.length >= TOGETHER).flatMap((tier) => portions(tier, most))
}

const partitionName = ({ partition }: FileEntry) => JSON.stringify(partition ?? null)

function portions(tier: readonly Living[], most: number): Living[][] {
  const groups: Living[][] = []
  let size = most
  for (const one of tier) {
    if (size + one.bytes > most) {
      groups.push([])
      size = 0
    }
    groups.at(-1)!.push(one)
    size += one.bytes
  }
  return groups.filter((group) => group.length > 1)
}

async function rewrite(
  mart: MartContext,
  files: MartFiles,
  { group, id }: { readonly group: readonly Living[]; readonly id: BatchId },
): Promise<FileEntry> {
  const output = new Output(mart, files)
  const digest = createHash('sha256')
  for (const { file, dead } of group) {
    digest.update(file.path).update(dead.bytes)
    await output.take(file, dead)
  }
  const name = mergedFile(id, folderOf(group[0]!.file.path), digest.digest('hex').slice(0, 16))
  const { writer, range } = output.finish()
  return files.put(name, writer, range)
}

/** Collects current rows into row groups of a reasonable size. */
class Output {
  readonly #files: MartFiles
  readonly #writer: ParquetFileWriter
  readonly #key: Storage
  readonly #keyPlace: number
  readonly #ranges: (FileKeyRange | null)[] = []
  #waiting: ParquetValue[][] = []

  constructor(mart: MartContext, files: MartFiles) {
    this.#key = mart.keys[0]!
    this.#keyPlace = mart.storages.indexOf(this.#key)
    this.#files = files
    this.#writer = files.newWriter()
  }

  async take(file: FileEntry, dead: DeadRows): Promise<void> {
    let row = 0
    for await (const columns of this.#files.allColumns(file)) {
      this.#add(columns, row, dead)
      row += columns[0]!.length
      if (this.#waiting[0]!.length >= ROWS_IN_GROUP) this.#flush()
    }
  }

  finish(): { writer: ParquetFileWriter; range: FileKeyRange | null } {
    this.#flush()
    return { writer: this.#writer, range: around(this.#key, this.#ranges) }
  }

  #add(columns: ParquetColumns, first: number, dead: DeadRows): void {
    if (this.#waiting.length === 0) this.#waiting = columns.map(() => [])
    for (const [index, values] of columns.entries()) {
      const waiting = this.#waiting[index]!
      for (let at = 0; at < values.length; at++) if (!dead.has(first + at)) waiting.push(values[at]!)
    }
  }

  #flush(): void {
    if ((this.#waiting[0]?.length ?? 0) === 0) return
    this.#ranges.push(rangeOf(this.#key, this.#waiting[this.#keyPlace]!))
    this.#writer.write(this.#waiting)
    this.#waiting = []
  }
}
