import type { Session } from '../../postgres/session.js'
import type { Watermark } from '../../sources/postgres/horizon.js'
import { linesOf, readLines } from '../../sources/postgres/lines.js'
import { RowBatch } from '../../sql/row-batch.js'
import {
  asRelation,
  type Column,
  type Cursor,
  columnList,
  type Order,
  orderBy,
  range,
  selectRange,
  where,
} from '../../sql/selection.js'
import { PageWalk } from '../page-walk.js'
import { NO_WATERMARK, type Progression } from '../progression.js'
import { Spool } from './spool.js'

/** Rows that the source gave, and where they stand in it (R4.8: nothing of this comes from the transforms). */
export interface ReadBatch {
  readonly rows: RowBatch
  readonly after: Cursor | null
  /** The last of them; null when its key cannot be a cursor. */
  readonly last: Cursor | null
  readonly isLast: boolean
  readonly watermark: Watermark
  /** The same rows as a relation of the source, called `batch`. */
  readonly relation: string
}

/** Gives the rows of a pass in portions; null: no more. */
export interface RowReader {
  read(limit: number): Promise<ReadBatch | null>
  close(): Promise<void>
}

export interface ReaderParts {
  readonly source: Session
  readonly query: string
  readonly columns: readonly Column[]
  readonly relations: readonly string[]
  readonly order: Order
  readonly progression: Progression
}

/** So many bytes of a batch are held in memory, give or take; a few batches are under way at a time. */
const MOST_BYTES = 16 * 1024 * 1024

/** Along an index: each portion is read in a snapshot of its own. */
export class PagedReader implements RowReader {
  readonly #parts: ReaderParts
  readonly #walk: PageWalk
  /** Of the rows so far; wide rows make smaller batches. */
  #rowBytes = 0

  constructor(parts: ReaderParts) {
    this.#parts = parts
    this.#walk = new PageWalk(parts, parts.progression.after)
  }

  async read(limit: number): Promise<ReadBatch | null> {
    const { source, query, columns, order, progression } = this.#parts
    if (!(await this.#walk.hasMore())) return null
    const watermark = await progression.beforeRead()
    const most = this.#rowBytes === 0 ? limit : Math.ceil(MOST_BYTES / this.#rowBytes)
    const { after, upTo, isLast } = await this.#walk.next(Math.min(limit, most))
    const selection = selectRange(query, columns, order, after, upTo)
    const rows = await readLines(source, `${selection} ORDER BY ${orderBy(order)}`)
    if (rows.count > 0) this.#rowBytes = rows.bytes.length / rows.count
    return { rows, after, last: upTo, isLast, watermark, relation: `(${selection}) AS batch` }
  }

  async close(): Promise<void> {}
}

/**
 * A query that cannot be read piecemeal is run once; its rows wait in a file. So the snapshot on the source lasts as
 * long as the source needs, not as long as a slow target does.
 */
export class OnceReader implements RowReader {
  readonly #parts: ReaderParts
  #spool: Spool | null = null
  #watermark: Watermark | null = null
  #after: Cursor | null

  constructor(parts: ReaderParts) {
    this.#parts = parts
    this.#after = parts.progression.after
  }

  async read(limit: number): Promise<ReadBatch | null> {
    this.#spool ??= await this.#collect()
    const { rows, isLast } = await this.#spool.read(limit, MOST_BYTES)
    if (rows.count === 0) return null
    const { query, columns, order } = this.#parts
    const after = this.#after
    const last = this.#cursorOf(rows)
    this.#after = last ?? after
    const selection = selectRange(query, columns, order, after, last)
    return {
      rows,
      after,
      last,
      isLast,
      watermark: this.#watermark!,
      relation: `(${selection}) AS batch`,
    }
  }

  async close(): Promise<void> {
    await this.#spool?.close()
  }

  async #collect(): Promise<Spool> {
    const { source, query, columns, order, progression } = this.#parts
    this.#watermark = await progression.beforeRead()
    // A row without a key is beyond no cursor. It comes last, so a pass that goes on has still to refuse it.
    const beyondCursor = range(order, progression.after, null).map((condition) =>
      progression.unfinished ? `(${condition}) IS NOT FALSE` : condition,
    )
    const selection = `SELECT ${columnList(columns)} FROM ${asRelation(query)}${where(beyondCursor)} ORDER BY ${orderBy(order)}`
    return Spool.of(linesOf(source, selection))
  }

  #cursorOf(rows: RowBatch): Cursor | null {
    const { columns, order } = this.#parts
    const end = rows.bytes.lastIndexOf(0x0a, rows.bytes.length - 2) + 1
    const [last] = RowBatch.ofLines(rows.bytes.subarray(end), 1).rows
    const values = order.columns.map(
      (column) => last![columns.findIndex(({ name }) => name === column.name)] ?? null,
    )
    return values.includes(null) ? null : (values as string[])
  }
}

/** Rows that were put aside already, and that no checkpoint follows. */
export class SpoolReader implements RowReader {
  readonly #spool: Spool

  constructor(spool: Spool) {
    this.#spool = spool
  }

  async read(limit: number): Promise<ReadBatch | null> {
    const { rows, isLast } = await this.#spool.read(limit, MOST_BYTES)
    if (rows.count === 0) return null
    return { rows, isLast, after: null, last: null, watermark: NO_WATERMARK, relation: '' }
  }

  close(): Promise<void> {
    return this.#spool.close()
  }
}
