import { VitrinaError } from '../model/errors.js'
import { databaseError } from '../postgres/errors.js'
import type { Session } from '../postgres/session.js'
import {
  asRelation,
  type Cursor,
  cursorColumns,
  cursorOf,
  type Order,
  orderBy,
  range,
  where,
} from '../sql/selection.js'

/** A range of the source: rows after `after`, up to and with `upTo`. */
export interface Page {
  readonly after: Cursor | null
  readonly upTo: Cursor
  readonly isLast: boolean
}

interface WalkParts {
  readonly source: Session
  readonly query: string
  readonly order: Order
  /** The tables behind the query. */
  readonly relations: readonly string[]
}

/**
 * Walks along an index of the source, range by range. The end of a range is looked up before its rows are read: that
 * beats LIMIT, and it never splits equal keys.
 */
export class PageWalk {
  readonly #parts: WalkParts
  #after: Cursor | null
  /** The last row when the walk began: rows that keep arriving are left to the next run, or this one would never end. */
  #end: Cursor | null | undefined
  #shape: string | null = null

  constructor(parts: WalkParts, after: Cursor | null) {
    this.#parts = parts
    this.#after = after
  }

  /** Whether there is another page; asked again only after `next`. */
  async hasMore(): Promise<boolean> {
    if (this.#end === undefined) this.#end = await this.#edge('DESC', 0, null)
    return this.#end !== null
  }

  /** The next range of about `limit` rows. There must be one. */
  async next(limit: number): Promise<Page> {
    await this.#requireUnchanged()
    const after = this.#after
    const end = this.#end!
    const bound = await this.#edge('ASC', limit - 1, end)
    const upTo = bound ?? end
    const isLast = bound === null || bound.every((value, index) => value === end[index])
    this.#after = upTo
    if (isLast) this.#end = null
    return { after, upTo, isLast }
  }

  /** A column that changes its type between two batches would change the values on the way. */
  async #requireUnchanged(): Promise<void> {
    const [row] = await this.#parts.source.rows(
      `SELECT md5(string_agg(concat_ws(' ', attrelid, attnum, attname, atttypid, atttypmod, attisdropped), ',' ORDER BY attrelid, attnum)) AS shape
         FROM pg_attribute WHERE attrelid = ANY($1::regclass[]::oid[]) AND attnum > 0`,
      [this.#parts.relations],
    )
    const shape = row!.shape ?? ''
    if (this.#shape !== null && this.#shape !== shape) {
      throw new VitrinaError(
        'SOURCE_CHANGED',
        `The columns of ${this.#parts.relations.join(', ')} changed while the run was reading.`,
        'Look at the query and the mart, then run again: it goes on from the last checkpoint.',
      )
    }
    this.#shape = shape
  }

  /** The row at a position beyond the cursor, from either end. */
  async #edge(direction: 'ASC' | 'DESC', offset: number, upTo: Cursor | null): Promise<Cursor | null> {
    const { query, order, source } = this.#parts
    const [row] = await source
      .rows(
        `SELECT ${cursorColumns(order)} FROM ${asRelation(query)}${where(range(order, this.#after, upTo))} ORDER BY ${orderBy(order, direction)} OFFSET ${offset} LIMIT 1`,
      )
      .catch((error) => {
        throw databaseError(error, 'Reading the source', 'source')
      })
    return row === undefined ? null : cursorOf(row, order)
  }
}
