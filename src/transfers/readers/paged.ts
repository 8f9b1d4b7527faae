import { VitrinaError } from '../../model/errors.js'
import { databaseError } from '../../postgres/errors.js'
import type { Watermark } from '../../sources/postgres/horizon.js'
import { readLinesUpTo } from '../../sources/postgres/lines.js'
import type { RowBatch } from '../../sql/row-batch.js'
import {
  asRelation,
  type Cursor,
  columnList,
  cursorColumns,
  cursorOf,
  orderBy,
  range,
  where,
} from '../../sql/selection.js'
import type { Progression } from '../progression.js'
import { type Portion, queryableAs, type Reader, type SourceQuery, selectBetween } from './reader.js'

/** The end of a page. */
interface Bound {
  readonly watermark: Watermark
  /** Null: fewer rows are left. */
  readonly bound: Cursor | null
}

interface AheadBound {
  readonly limit: number
  readonly found: Promise<Bound>
}

/**
 * Reads the source along an index: each portion is a range of keys, read in its own snapshot. The end of a range is
 * looked up before its rows are read. That is faster than LIMIT and never splits equal keys.
 */
export class PagedReader implements Reader<string> {
  readonly #query: SourceQuery
  readonly #progression: Progression
  /** No user has set the size of the pages: the next one may be looked up before its size is known. */
  readonly #isAuto: boolean
  #after: Cursor | null
  /** The last row when the pass began. Later rows are left to the next run, or a busy source would keep this one busy. */
  #end: Cursor | null | undefined
  #shape: string | null = null
  #ahead: AheadBound | null = null

  constructor(query: SourceQuery, progression: Progression, { isAuto = false } = {}) {
    this.#query = query
    this.#progression = progression
    this.#isAuto = isAuto
    this.#after = progression.after
  }

  async next(limit: number): Promise<Portion<string> | null> {
    if (this.#end === undefined) this.#end = await this.#rowAt('DESC', 0, null)
    const end = this.#end
    if (end === null) return null
    const { watermark, bound } = await this.#bound(limit, end)
    const after = this.#after
    const last = bound ?? end
    const isLast = bound === null || bound.every((value, index) => value === end[index])
    this.#after = last
    if (isLast) this.#end = null
    const { source } = this.#query
    source.afterCopy(this.#isAuto && !isLast ? () => this.#lookAhead(limit, end) : null)
    const rows = selectBetween(this.#query, after, last)
    const queryable = queryableAs(source, rows)
    return { rows, count: null, after, last, isLast, watermark, queryable, phases: [] }
  }

  /** The next page begins where this one, which was the last, began. */
  back({ after, last, isLast }: Portion<string>): void {
    this.#after = after
    if (isLast) this.#end = last
  }

  /** The end of the next page, while the rows of this one are written: the target would wait for it. */
  #lookAhead(limit: number, end: Cursor): void {
    const found = this.#find(limit, end)
    // `next` throws the error. Until then it must not end the process as an unhandled rejection.
    found.catch(() => {})
    this.#ahead = { limit, found }
  }

  async #bound(limit: number, end: Cursor): Promise<Bound> {
    const ahead = this.#ahead
    this.#ahead = null
    if (ahead === null) return this.#find(limit, end)
    const found = await ahead.found
    // The size changes a little with each page; a user may set one during the run.
    const isNear = ahead.limit <= 2 * limit && limit <= 2 * ahead.limit
    if (!isNear) return this.#find(limit, end)
    await this.#requireUnchanged()
    return found
  }

  async #find(limit: number, end: Cursor): Promise<Bound> {
    const watermark = await this.#progression.beforeRead()
    await this.#requireUnchanged()
    return { watermark, bound: await this.#rowAt('ASC', limit - 1, end) }
  }

  /** If a column changed its type between two batches, the values would change on the way. */
  async #requireUnchanged(): Promise<void> {
    const { source, relations } = this.#query
    const [row] = await source.rows(
      `SELECT md5(string_agg(concat_ws(' ', attrelid, attnum, attname, atttypid, atttypmod, attisdropped), ',' ORDER BY attrelid, attnum)) AS shape
         FROM pg_attribute WHERE attrelid = ANY($1::regclass[]::oid[]) AND attnum > 0`,
      [relations],
    )
    const shape = row?.shape ?? ''
    if (this.#shape !== null && this.#shape !== shape) {
      throw new VitrinaError(
        'SOURCE_CHANGED',
        `The columns of ${relations.join(', ')} changed while the run was reading.`,
        'Check the query and the mart, then run again: the run continues from the last checkpoint.',
      )
    }
    this.#shape = shape
  }

  /** The row at an offset beyond the cursor, counted from either end. Only that row is turned into text. */
  async #rowAt(direction: 'ASC' | 'DESC', offset: number, upTo: Cursor | null): Promise<Cursor | null> {
    const { query, order, source } = this.#query
    const [row] = await source
      .rows(
        `SELECT ${cursorColumns(order)} FROM (SELECT ${columnList(order.columns)} FROM ${asRelation(query)}${where(range(order, this.#after, upTo))}
          ORDER BY ${orderBy(order, direction)} OFFSET ${offset} LIMIT 1) AS bound`,
      )
      .catch((error) => {
        throw databaseError(error, 'Reading the source', 'source')
      })
    return row === undefined ? null : cursorOf(row, order)
  }
}

/** Approximate size of a batch in memory. A few batches are held at a time. */
export const MAX_BATCH_BYTES = 16 * 1024 * 1024
/** How many times as large a batch may be. A page that is larger is read again as several. */
const TOLERANCE = 2

/** The same pages with their rows loaded. */
export class LoadedPages implements Reader<RowBatch> {
  readonly #query: SourceQuery
  readonly #pages: PagedReader
  readonly #batchBytes: number
  /** The average of the last page: wide rows make smaller batches. */
  #rowBytes = 0

  constructor(query: SourceQuery, progression: Progression, batchBytes = MAX_BATCH_BYTES) {
    this.#query = query
    this.#pages = new PagedReader(query, progression)
    this.#batchBytes = batchBytes
  }

  async next(limit: number): Promise<Portion<RowBatch> | null> {
    let most = this.#rowBytes === 0 ? limit : Math.min(limit, this.#fitting())
    let tooLarge: Cursor | null = null
    for (;;) {
      const page = await this.#pages.next(most)
      if (page === null) return null
      // Rows with the same key are never on two pages.
      const isShortest = most === 1 || (tooLarge !== null && String(page.last) === String(tooLarge))
      const { rows, count } = await this.#load(page, isShortest ? Number.POSITIVE_INFINITY : TOLERANCE)
      if (rows !== null) return { ...page, rows, count }
      this.#pages.back(page)
      tooLarge = page.last
      most = Math.max(1, Math.min(Math.floor(most / 2), this.#fitting()))
    }
  }

  /** How many rows of the average size a batch has. */
  #fitting(): number {
    return Math.ceil(this.#batchBytes / this.#rowBytes)
  }

  /** `rows` is null if the page is too large: how large its rows are is known only when they have arrived. */
  async #load(page: Portion<string>, tolerance: number): Promise<{ rows: RowBatch | null; count: number }> {
    const { source, order } = this.#query
    const selection = `${page.rows} ORDER BY ${orderBy(order)}`
    const { rows, count, bytes } = await readLinesUpTo(source, selection, this.#batchBytes * tolerance)
    if (count > 0) this.#rowBytes = bytes / count
    return { rows, count }
  }
}
