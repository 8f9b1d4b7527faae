import type { SideSummary } from '../model/reconcile.js'
import { onSide } from '../postgres/errors.js'
import type { Session, TextRow } from '../postgres/session.js'
import { quoteIdentifier, quoteLiteral } from '../sql/identifiers.js'

/** A column as both sides see it: the mart's type decides how a value is written. */
export interface ComparedColumn {
  readonly name: string
  readonly type: string
}

/** The key of a row, each column as database text. */
export type KeyTexts = readonly (string | null)[]

/** The key of a row and a hash of all its values. */
export interface Fingerprint {
  readonly key: KeyTexts
  readonly hash: string
}

/** The same with the value of another expression on the row, read at the same time. */
export interface Marked extends Fingerprint {
  /** Null: this side cannot evaluate it. */
  readonly mark: string | null
}

/** What a comparison needs from either side. */
export interface ComparedSide {
  summary(field: string): Promise<SideSummary>
  /** For each bucket of keys a checksum of its rows. */
  checksums(): Promise<Map<number, string>>
  /** The rows of these buckets. */
  fingerprintsOf(buckets: readonly number[]): Promise<Fingerprint[]>
  /** The rows with these keys, each with the value of `mark`, an SQL expression. */
  fingerprintsByKey(keys: readonly KeyTexts[], mark: string): Promise<Marked[]>
}

/** Enough that one differing row makes only a thousandth of the table suspicious, few enough that all sums fit into one result. */
export const BUCKETS = 1024

const HAS_MIN =
  /^(smallint|integer|bigint|numeric|real|double|timestamp|date|time|interval|text|character|inet|money|oid)/

/**
 * One side of a comparison: the query in the source, or the table of the mart. Fingerprints and their sums are computed
 * inside the database; only differing rows are transferred.
 */
export class TableSide implements ComparedSide {
  readonly #rows: (text: string) => Promise<TextRow[]>
  readonly #relation: string
  readonly #columns: readonly ComparedColumn[]
  readonly #key: readonly ComparedColumn[]
  readonly #bytewise: boolean

  constructor(options: {
    session: Session
    side: 'source' | 'target'
    relation: string
    columns: readonly ComparedColumn[]
    key: readonly ComparedColumn[]
    /** The other side orders texts by their bytes. */
    bytewise?: boolean
  }) {
    const { session, side } = options
    this.#rows = (text) => onSide(side, `Comparing rows of the ${side}`, () => session.rows(text))
    this.#relation = options.relation
    this.#columns = options.columns
    this.#key = options.key
    this.#bytewise = options.bytewise ?? false
  }

  async summary(field: string): Promise<SideSummary> {
    const type = this.#columns.find((column) => column.name === field)?.type ?? ''
    // uuid and some other types have an order but no min().
    const isPlain = HAS_MIN.test(type) && !(this.#bytewise && /^(text|character)/.test(type))
    const column = `${quoteIdentifier(field)}${isPlain ? '' : '::text COLLATE "C"'}`
    const [row] = await this.#rows(
      `SELECT count(*) AS n, min(${column})::text AS low, max(${column})::text AS high FROM ${this.#relation}`,
    )
    return { count: Number(row!.n), min: row!.low ?? null, max: row!.high ?? null }
  }

  /** For each bucket of keys a checksum of its rows. */
  async checksums(): Promise<Map<number, string>> {
    const rows = await this.#rows(
      `SELECT bucket, count(*) AS n, sum(hash) AS sum FROM (SELECT ${this.#bucket()} AS bucket, ${this.#hash()} AS hash FROM ${this.#relation}) AS hashed GROUP BY bucket`,
    )
    return new Map(rows.map((row) => [Number(row.bucket), `${row.n}/${row.sum}`]))
  }

  /** The rows of these buckets. */
  fingerprintsOf(buckets: readonly number[]): Promise<Fingerprint[]> {
    return this.#fingerprints(`${this.#bucket()} IN (${buckets.join(', ')})`, "''")
  }

  /** The rows with these keys, each with the value of `mark`, an SQL expression. */
  async fingerprintsByKey(keys: readonly KeyTexts[], mark: string): Promise<Marked[]> {
    return keys.length === 0 ? [] : this.#fingerprints(inKeys(this.#key, keys), mark)
  }

  async #fingerprints(condition: string, mark: string): Promise<Marked[]> {
    const rows = await this.#rows(
      `SELECT ${keyColumns(this.#key)}, ${this.#hash()} AS hash, (${mark})::text AS mark FROM ${this.#relation} WHERE ${condition}`,
    )
    return rows.map((row) => ({ key: keyOf(row, this.#key), hash: row.hash!, mark: row.mark ?? '' }))
  }

  #hash(): string {
    return `hashtextextended(ROW(${this.#columns.map(value).join(', ')})::text, 0)`
  }

  #bucket(): string {
    return `(hashtextextended(ROW(${this.#key.map(value).join(', ')})::text, 1) & ${BUCKETS - 1})`
  }
}

/** In the type of the mart: the value after assignment. */
function value(column: ComparedColumn): string {
  return `${quoteIdentifier(column.name)}::${column.type}`
}

/** The columns of a key as text, called k0, k1, … */
export function keyColumns(key: readonly ComparedColumn[]): string {
  return key.map((column, index) => `${value(column)}::text AS k${index}`).join(', ')
}

export function keyOf(row: TextRow, key: readonly ComparedColumn[]): KeyTexts {
  return key.map((_, index) => row[`k${index}`] ?? null)
}

/** SQL that is true for rows with one of these keys. A list, not a join: the planner pushes it down to the indexes. */
export function inKeys(key: readonly ComparedColumn[], keys: readonly KeyTexts[]): string {
  const literal = (text: string | null, index: number) =>
    text === null ? 'NULL' : `${quoteLiteral(text)}::${key[index]!.type}`
  const values = keys.map((texts) => `(${texts.map(literal).join(', ')})`)
  return `(${key.map((column) => quoteIdentifier(column.name)).join(', ')}) IN (${values.join(', ')})`
}

/** A key as one text, for use in maps. */
export function serializeKey(key: KeyTexts): string {
  return JSON.stringify(key)
}

/** Keys per statement. */
const KEYS_AT_ONCE = 1_000

export function* portionsOf(keys: readonly KeyTexts[]): Generator<readonly KeyTexts[]> {
  for (let start = 0; start < keys.length; start += KEYS_AT_ONCE)
    yield keys.slice(start, start + KEYS_AT_ONCE)
}
