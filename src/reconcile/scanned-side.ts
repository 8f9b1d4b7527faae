import { createHash } from 'node:crypto'
import type { SideSummary } from '../model/reconcile.js'
import type { RowDigest } from '../ports/sink.js'
import {
  BUCKETS,
  type ComparedSide,
  type Fingerprint,
  type KeyTexts,
  type Marked,
  serializeKey,
} from './side.js'

interface SideScan {
  /** All rows, or those with some keys; in any order. */
  rows(keys: readonly KeyTexts[] | null): AsyncIterable<readonly RowDigest[]>
  /** The value of `mark` for the rows with these keys. Null: this side cannot evaluate it. */
  marks(keys: readonly KeyTexts[], mark: string): Promise<ReadonlyMap<string, string> | null>
  summary(field: string): Promise<SideSummary>
}

/**
 * A side whose rows cannot be hashed inside a database: rows made by transforms, documents, files. Every operation scans
 * all of them, but keeps only sums and the rows of suspicious buckets.
 */
export class ScannedSide implements ComparedSide {
  readonly #scan: SideScan

  constructor(scan: SideScan) {
    this.#scan = scan
  }

  summary(field: string): Promise<SideSummary> {
    return this.#scan.summary(field)
  }

  async checksums(): Promise<Map<number, string>> {
    const sums = new Map<number, { count: number; sum: bigint }>()
    for await (const portion of this.#scan.rows(null)) {
      for (const row of portion) {
        const bucket = bucketOf(row.key)
        const { count, sum } = sums.get(bucket) ?? { count: 0, sum: 0n }
        sums.set(bucket, { count: count + 1, sum: sum + BigInt(`0x${hash(row.digest)}`) })
      }
    }
    return new Map([...sums].map(([bucket, { count, sum }]) => [bucket, `${count}/${sum}`]))
  }

  async fingerprintsOf(buckets: readonly number[]): Promise<Fingerprint[]> {
    const wanted = new Set(buckets)
    return this.#collect(null, ({ key }) => wanted.has(bucketOf(key)))
  }

  async fingerprintsByKey(keys: readonly KeyTexts[], mark: string): Promise<Marked[]> {
    const wanted = new Set(keys.map(serializeKey))
    const rows = await this.#collect(keys, ({ key }) => wanted.has(serializeKey(key)))
    const marks = await this.#scan.marks(keys, mark)
    return rows.map((row) => ({
      ...row,
      mark: marks === null ? null : (marks.get(serializeKey(row.key)) ?? ''),
    }))
  }

  async #collect(
    keys: readonly KeyTexts[] | null,
    isWanted: (row: RowDigest) => boolean,
  ): Promise<Fingerprint[]> {
    const found: Fingerprint[] = []
    for await (const portion of this.#scan.rows(keys))
      for (const row of portion) if (isWanted(row)) found.push({ key: row.key, hash: hash(row.digest) })
    return found
  }
}

function hash(text: string): string {
  return createHash('md5').update(text).digest('hex').slice(0, 16)
}

function bucketOf(key: KeyTexts): number {
  return Number.parseInt(hash(serializeKey(key)).slice(0, 8), 16) % BUCKETS
}
