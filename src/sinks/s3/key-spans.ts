import type { ParquetColumns } from './parquet.js'
import type { Scalar, Storage } from './types.js'

/** Minimum and maximum of the first key column, as texts; stored in marks and in the manifest for each file. */
export interface FileKeyRange {
  readonly least: string
  readonly greatest: string
}

/** A manifest is read as a whole, so very long keys are left out. */
const LONGEST = 100

/** Null: unknown, so the file may contain any key. */
export function rangeOf(storage: Storage, values: ParquetColumns[number]): FileKeyRange | null {
  const { compare } = storage
  if (compare === null || values.length === 0) return null
  let [least, greatest] = [values[0] as Scalar, values[0] as Scalar]
  for (const value of values as readonly Scalar[]) {
    if (compare(value, least) < 0) least = value
    else if (compare(value, greatest) > 0) greatest = value
  }
  return short({ least: storage.text(least)!, greatest: storage.text(greatest)! })
}

/** The range that covers all of them. */
export function around(storage: Storage, ranges: readonly (FileKeyRange | null)[]): FileKeyRange | null {
  if (ranges.length === 0 || ranges.includes(null)) return null
  const known = ranges as readonly FileKeyRange[]
  const values = known.flatMap(({ least, greatest }) => [storage.read(least), storage.read(greatest)])
  return rangeOf(storage, values)
}

function short(range: FileKeyRange): FileKeyRange | null {
  return range.least.length > LONGEST || range.greatest.length > LONGEST ? null : range
}

interface KeySpan {
  readonly least: Scalar
  greatest: Scalar
}

/** Ranges of one column; finds others that may share a key with them. */
export class KeySpans {
  readonly #storage: Storage
  /** Disjoint and sorted; null: some range is unknown, so any key may be shared. */
  readonly #spans: readonly KeySpan[] | null

  constructor(storage: Storage, ranges: readonly (FileKeyRange | null)[]) {
    this.#storage = storage
    this.#spans =
      ranges.includes(null) || storage.compare === null
        ? null
        : this.#merged(ranges as readonly FileKeyRange[])
  }

  touch(range: FileKeyRange | null): boolean {
    const spans = this.#spans
    if (spans === null || range === null) return true
    const { least, greatest } = this.#span(range)
    const compare = this.#storage.compare!
    let [low, high] = [0, spans.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (compare(spans[middle]!.greatest, least) < 0) low = middle + 1
      else high = middle
    }
    return low < spans.length && compare(spans[low]!.least, greatest) <= 0
  }

  #merged(ranges: readonly FileKeyRange[]): KeySpan[] {
    const compare = this.#storage.compare!
    const merged: KeySpan[] = []
    for (const span of ranges.map((range) => this.#span(range)).sort((a, b) => compare(a.least, b.least))) {
      const last = merged.at(-1)
      if (last === undefined || compare(last.greatest, span.least) < 0) merged.push(span)
      else if (compare(span.greatest, last.greatest) > 0) last.greatest = span.greatest
    }
    return merged
  }

  #span({ least, greatest }: FileKeyRange): KeySpan {
    return { least: this.#storage.read(least) as Scalar, greatest: this.#storage.read(greatest) as Scalar }
  }
}
