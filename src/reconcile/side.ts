import type { SideSummary } from '../model/reconcile.js'
import type { Session } from '../postgres/session.js'
import { quoteIdentifier, quoteLiteral } from '../sql/identifiers.js'

/** A column as both sides see it: the mart's type decides how a value is written. */
export interface ComparedColumn {
  readonly name: string
  readonly type: string
}

/** A row as far as it has to travel: its key, and a fingerprint of all its values. */
export interface Fingerprint {
  readonly key: readonly (string | null)[]
  readonly hash: string
}

/** So many parts that a differing row condemns a thousandth of the table, and their sums still fit into one answer. */
const BUCKETS = 1024

const HAS_MIN =
  /^(smallint|integer|bigint|numeric|real|double|timestamp|date|time|interval|text|character|inet|money|oid)/

/**
 * One side of a comparison: the query in the source, or the table of the mart. Fingerprints and their sums are computed
 * inside the database; only what differs travels.
 */
export class Side {
  readonly #session: Session
  readonly #relation: string
  readonly #columns: readonly ComparedColumn[]
  readonly #key: readonly ComparedColumn[]

  constructor(options: {
    session: Session
    relation: string
    columns: readonly ComparedColumn[]
    key: readonly ComparedColumn[]
  }) {
    this.#session = options.session
    this.#relation = options.relation
    this.#columns = options.columns
    this.#key = options.key
  }

  async summary(field: string): Promise<SideSummary> {
    const type = this.#columns.find((column) => column.name === field)?.type ?? ''
    // uuid and some other types have an order but no min().
    const column = `${quoteIdentifier(field)}${HAS_MIN.test(type) ? '' : '::text COLLATE "C"'}`
    const [row] = await this.#session.rows(
      `SELECT count(*) AS n, min(${column})::text AS low, max(${column})::text AS high FROM ${this.#relation}`,
    )
    return { count: Number(row!.n), min: row!.low ?? null, max: row!.high ?? null }
  }

  /** For each bucket of keys a checksum of its rows. */
  async checksums(condition: string | null): Promise<Map<number, string>> {
    const rows = await this.#session.rows(
      `SELECT bucket, count(*) AS n, sum(hash) AS sum FROM (SELECT ${this.#bucket()} AS bucket, ${this.#hash()} AS hash FROM ${this.#relation}${where(condition)}) AS hashed GROUP BY bucket`,
    )
    return new Map(rows.map((row) => [Number(row.bucket), `${row.n}/${row.sum}`]))
  }

  /** The rows of some buckets. */
  fingerprintsOf(buckets: readonly number[], condition: string | null): Promise<Fingerprint[]> {
    const inBuckets = `${this.#bucket()} IN (${buckets.join(', ')})`
    return this.#fingerprints(condition === null ? inBuckets : `(${condition}) AND ${inBuckets}`)
  }

  /** The rows with some keys, wherever they stand now. */
  async fingerprintsByKey(
    keys: readonly (readonly (string | null)[])[],
    condition: string | null = null,
  ): Promise<Fingerprint[]> {
    if (keys.length === 0) return []
    const values = keys.map(
      (key) =>
        `(${key.map((text, index) => (text === null ? 'NULL' : `${quoteLiteral(text)}::${this.#key[index]!.type}`)).join(', ')})`,
    )
    const inKeys = `(${this.#key.map((column) => quoteIdentifier(column.name)).join(', ')}) IN (${values.join(', ')})`
    return this.#fingerprints(condition === null ? inKeys : `(${condition}) AND ${inKeys}`)
  }

  async #fingerprints(condition: string): Promise<Fingerprint[]> {
    const key = this.#key.map((column, index) => `${this.#value(column)}::text AS k${index}`)
    const rows = await this.#session.rows(
      `SELECT ${key.join(', ')}, ${this.#hash()} AS hash FROM ${this.#relation}${where(condition)}`,
    )
    return rows.map((row) => ({
      key: this.#key.map((_, index) => row[`k${index}`] ?? null),
      hash: row.hash!,
    }))
  }

  #hash(): string {
    return `hashtextextended(ROW(${this.#columns.map((column) => this.#value(column)).join(', ')})::text, 0)`
  }

  #bucket(): string {
    return `(hashtextextended(ROW(${this.#key.map((column) => this.#value(column)).join(', ')})::text, 1) & ${BUCKETS - 1})`
  }

  /** In the type of the mart: the value that stands there after it was assigned. */
  #value(column: ComparedColumn): string {
    return `${quoteIdentifier(column.name)}::${column.type}`
  }
}

function where(condition: string | null): string {
  return condition === null ? '' : ` WHERE ${condition}`
}
