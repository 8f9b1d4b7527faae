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

/** A row as far as it has to travel: its key, and a fingerprint of all its values. */
export interface Fingerprint {
  readonly key: KeyTexts
  readonly hash: string
}

/** The same with something else that its side knows of the row, seen at the same moment. */
export interface Marked extends Fingerprint {
  /** Null: the side knows nothing of it. */
  readonly mark: string | null
}

/** What a comparison asks of either side. */
export interface ComparedSide {
  summary(field: string): Promise<SideSummary>
  /** For each bucket of keys a checksum of its rows. */
  checksums(): Promise<Map<number, string>>
  /** The rows of some buckets. */
  fingerprintsOf(buckets: readonly number[]): Promise<Fingerprint[]>
  /** The rows with some keys, wherever they stand now, and with each what `mark` says of it, an SQL expression. */
  fingerprintsByKey(keys: readonly KeyTexts[], mark: string): Promise<Marked[]>
}

/** So many parts that a differing row condemns a thousandth of the table, and their sums still fit into one answer. */
export const BUCKETS = 1024

const HAS_MIN =
  /^(smallint|integer|bigint|numeric|real|double|timestamp|date|time|interval|text|character|inet|money|oid)/

/**
 * One side of a comparison: the query in the source, or the table of the mart. Fingerprints and their sums are computed
 * inside the database; only what differs travels.
 */
export class Side implements ComparedSide {
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

  /** The rows of some buckets. */
  fingerprintsOf(buckets: readonly number[]): Promise<Fingerprint[]> {
    return this.#fingerprints(`${this.#bucket()} IN (${buckets.join(', ')})`, "''")
  }

  /** The rows with some keys, wherever they stand now, and with each what `mark` says of it, an SQL expression. */
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

/** In the type of the mart: the value that stands there after it was assigned. */
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

/** SQL that is true for rows with one of some keys. A list, not a join: it is carried down to the indexes. */
export function inKeys(key: readonly ComparedColumn[], keys: readonly KeyTexts[]): string {
  const literal = (text: string | null, index: number) =>
    text === null ? 'NULL' : `${quoteLiteral(text)}::${key[index]!.type}`
  const values = keys.map((texts) => `(${texts.map(literal).join(', ')})`)
  return `(${key.map((column) => quoteIdentifier(column.name)).join(', ')}) IN (${values.join(', ')})`
}

/** A key as one text, to look it up by. */
export function keyText(key: KeyTexts): string {
  return JSON.stringify(key)
}

/** So many keys stand in one statement. */
const KEYS_AT_ONCE = 1_000

export function* portionsOf(keys: readonly KeyTexts[]): Generator<readonly KeyTexts[]> {
  for (let start = 0; start < keys.length; start += KEYS_AT_ONCE)
    yield keys.slice(start, start + KEYS_AT_ONCE)
}
