import type { Session } from '../../postgres/session.js'
import { linesOf } from '../../sources/postgres/lines.js'
import { RowBatch } from '../../sql/row-batch.js'
import type { Cursor } from '../../sql/selection.js'
import { NO_WATERMARK, type Progression } from '../progression.js'
import { MAX_BATCH_BYTES } from './paged.js'
import {
  type Portion,
  queryableAs,
  type Reader,
  type SourceQuery,
  selectBetween,
  selectRemaining,
} from './reader.js'
import { Spool } from './spool.js'

/**
 * For a query that cannot be read in ranges: it runs once and its rows wait in a file. So the snapshot of the source
 * lasts as long as reading takes, however slow the target is.
 */
export class OnceReader implements Reader<RowBatch> {
  readonly #query: SourceQuery
  readonly #progression: Progression
  #collected: (Pick<Portion<RowBatch>, 'watermark'> & { readonly spool: Spool }) | null = null
  readonly #batchBytes: number
  #after: Cursor | null

  constructor(query: SourceQuery, progression: Progression, batchBytes = MAX_BATCH_BYTES) {
    this.#query = query
    this.#progression = progression
    this.#batchBytes = batchBytes
    this.#after = progression.after
  }

  async next(limit: number): Promise<Portion<RowBatch> | null> {
    this.#collected ??= await this.#collect()
    const { spool, watermark } = this.#collected
    const { rows, isLast } = await spool.read(limit, this.#batchBytes)
    if (rows.count === 0) return null
    const after = this.#after
    const last = this.#lastOf(rows)
    this.#after = last ?? after
    const queryable = queryableAs(this.#query.source, selectBetween(this.#query, after, last))
    return { rows, count: rows.count, after, last, isLast, watermark, queryable, phases: [] }
  }

  async close(): Promise<void> {
    await this.#collected?.spool.close()
  }

  async #collect(): Promise<Pick<Portion<RowBatch>, 'watermark'> & { readonly spool: Spool }> {
    const watermark = await this.#progression.beforeRead()
    const selection = selectRemaining(this.#query, this.#progression)
    return { watermark, spool: await Spool.of(linesOf(this.#query.source, selection)) }
  }

  /** The cursor of the last row; null if a part of its key is NULL. */
  #lastOf(rows: RowBatch): Cursor | null {
    const { columns, order } = this.#query
    const start = rows.bytes.lastIndexOf(0x0a, rows.bytes.length - 2) + 1
    const [last = []] = RowBatch.ofLines(rows.bytes.subarray(start), 1).rows
    const values = order.columns.map(
      (column) => last[columns.findIndex(({ name }) => name === column.name)] ?? null,
    )
    return values.includes(null) ? null : (values as string[])
  }
}

/** The rows of one selection, collected at once. The checkpoint does not follow them. */
export class SpoolReader implements Reader<RowBatch> {
  readonly #spool: Spool

  private constructor(spool: Spool) {
    this.#spool = spool
  }

  static async of(source: Session, selection: string): Promise<SpoolReader> {
    return new SpoolReader(await Spool.of(linesOf(source, selection)))
  }

  async next(limit: number): Promise<Portion<RowBatch> | null> {
    const { rows, isLast } = await this.#spool.read(limit, MAX_BATCH_BYTES)
    if (rows.count === 0) return null
    const end = { after: null, last: null, isLast, watermark: NO_WATERMARK, queryable: null }
    return { rows, count: rows.count, phases: [], ...end }
  }

  close(): Promise<void> {
    return this.#spool.close()
  }
}
