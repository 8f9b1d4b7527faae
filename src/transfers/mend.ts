import type { MetaSession } from '../ports/run-queue.js'
import type { BatchDone, Step } from '../ports/transfer.js'
import { databaseError } from '../postgres/errors.js'
import { quoteIdentifier, quoteLiteral } from '../sql/identifiers.js'
import { asRelation, type Column, columnList } from '../sql/selection.js'
import { deleteAbsent, type WholeParts } from './replace.js'

/** The key of a row, each column as database text. */
export type KeyTexts = readonly (string | null)[]

interface MendParts extends WholeParts {
  readonly key: readonly Column[]
  readonly keys: readonly KeyTexts[]
  /** Rows of the mart with these keys go when the source has none. */
  readonly removeAbsent: boolean
  /** Writes down, with each batch, what was settled by it. */
  readonly settle: (first: number, count: number, meta: MetaSession | null) => Promise<void>
}

/** So many keys fit into one statement without a thought. */
const MOST_KEYS = 1_000

/**
 * Brings some rows of the mart into line with the source: those that a comparison found different, or that were held in
 * quarantine and are to be tried again. They are read anew by their keys: what was once read may be older than what the
 * mart has got since.
 */
export class Mend implements Step {
  readonly name: string
  readonly #parts: MendParts
  #next = 0

  constructor(name: 'repair' | 'replay', parts: MendParts) {
    this.name = name
    this.#parts = parts
  }

  async next(limit: number): Promise<BatchDone | null> {
    const { keys, batches, writer, columns, removeAbsent, settle } = this.#parts
    const first = this.#next
    const portion = keys.slice(first, first + Math.min(limit, MOST_KEYS))
    if (portion.length === 0) return null
    await this.#collect(portion)
    const done = await batches.run(this.name, async () => {
      const deleted = removeAbsent
        ? await deleteAbsent({ ...this.#parts, brake: 1 }, 'pg_temp.vitrina_pass', this.#asRelation(portion))
        : 0
      const written = await writer.write(`SELECT ${columnList(columns)} FROM pg_temp.vitrina_pass`)
      const text = (key: KeyTexts | undefined) => key?.join(', ') ?? null
      return {
        ...batches.state,
        refused: written.refused,
        settle: (meta: MetaSession | null) => settle(first, portion.length, meta),
        rows: { ...written.rows, deleted },
        firstKey: text(portion[0]),
        lastKey: text(portion.at(-1)),
      }
    })
    this.#next = first + portion.length
    return done
  }

  async #collect(portion: readonly KeyTexts[]): Promise<void> {
    const { query, columns, mover, target } = this.#parts
    await target.run('DROP TABLE IF EXISTS pg_temp.vitrina_pass')
    const conditions = portion.map(
      (key) => `(${key.map((text, index) => this.#equals(index, text)).join(' AND ')})`,
    )
    const selection = `SELECT ${columnList(columns)} FROM ${asRelation(query)} WHERE ${conditions.join(' OR ')}`
    await mover.collect(selection, 'vitrina_pass', columns).catch((error) => {
      throw databaseError(error, 'Reading the source', 'source')
    })
  }

  #equals(index: number, text: string | null): string {
    const column = this.#parts.key[index]!
    return text === null
      ? `${quoteIdentifier(column.name)} IS NULL`
      : `${quoteIdentifier(column.name)} = ${quoteLiteral(text)}::${column.type}`
  }

  #asRelation(portion: readonly KeyTexts[]): string {
    const { key } = this.#parts
    const rows = portion.map(
      (texts) =>
        `(${texts.map((text, index) => `${text === null ? 'NULL' : quoteLiteral(text)}::${key[index]!.type}`).join(', ')})`,
    )
    return `(SELECT * FROM (VALUES ${rows.join(', ')}) AS mended (${columnList(key)}))`
  }
}
