import type { Phase } from '../model/claim.js'
import { failpoint } from '../model/failpoints.js'
import { NO_ROWS } from '../model/run.js'
import type { BatchDone, Step } from '../ports/transfer.js'
import { databaseError } from '../postgres/errors.js'
import type { Session } from '../postgres/session.js'
import type { Watermark } from '../sources/postgres/horizon.js'
import {
  asRelation,
  type Column,
  type Cursor,
  columnList,
  cursorColumns,
  cursorOf,
  type Order,
  orderBy,
  range,
  selectRange,
  where,
} from '../sql/selection.js'
import { type BatchRunner, withNumber } from './batch.js'
import type { Mover } from './mover.js'
import { PageWalk } from './page-walk.js'
import { NO_WATERMARK, type Progression } from './progression.js'
import type { MartWriter } from './writer.js'

/** What both kinds of pass work with. */
export interface PassParts {
  readonly name: string
  readonly query: string
  readonly columns: readonly Column[]
  /** The tables behind the query. */
  readonly relations: readonly string[]
  readonly order: Order
  readonly source: Session
  readonly target: Session
  readonly mover: Mover
  readonly writer: MartWriter
  readonly batches: BatchRunner
  readonly progression: Progression
}

/** A cursor for people who look at the history of a run. */
export function keyText(cursor: Cursor | null): string | null {
  return cursor === null ? null : cursor.join(', ')
}

/** Walks along an index of the source: each batch is a range of keys and reads its own rows only, in a snapshot of its own. */
export class PagedPass implements Step {
  readonly name: string
  readonly #parts: PassParts
  readonly #walk: PageWalk
  #began = false

  constructor(parts: PassParts) {
    this.name = parts.name
    this.#parts = parts
    this.#walk = new PageWalk(parts, parts.progression.after)
  }

  async next(limit: number): Promise<BatchDone | null> {
    const { query, columns, order, source, writer, batches, progression } = this.#parts
    if (!(await this.#walk.hasMore())) {
      const isOver = this.#began
      this.#began = true
      return !isOver && progression.unfinished ? closePass(this.#parts) : null
    }
    this.#began = true
    const watermark = await progression.beforeRead()
    const { after, upTo, isLast } = await this.#walk.next(limit)
    return batches.run(this.name, async () => {
      const selection = selectRange(query, columns, order, after, upTo)
      const written = await writer.write(selection)
      const state = await progression.moved({
        last: upTo,
        isLast,
        watermark,
        session: source,
        relation: `(${selection}) AS batch`,
      })
      return { ...written, ...state, firstKey: keyText(after), lastKey: keyText(upTo), ends: isLast }
    })
  }
}

/** A pass that was left unfinished turns out to have nothing more: only its position has to be forgotten. */
export function closePass({
  name,
  batches,
  progression,
  target,
}: Pick<PassParts, 'name' | 'batches' | 'progression' | 'target'>): Promise<BatchDone> {
  return batches.run(name, async () => {
    const state = await progression.moved({
      last: null,
      isLast: true,
      watermark: NO_WATERMARK,
      session: target,
      relation: '',
    })
    return { rows: NO_ROWS, ...state, firstKey: null, lastKey: null, ends: true }
  })
}

const PASS_TABLE = 'vitrina_pass'

/**
 * For a query that cannot be read piecemeal (a join, an aggregate): it is run once, its rows wait in a temporary table
 * of the target, in order, and are applied from there in batches. A run that continues after a crash reads again, but
 * only beyond its cursor. Around `film_dim`, a run of the query for each batch took 25 s instead of 8.
 */
export class StagedPass implements Step {
  readonly name: string
  readonly #parts: PassParts
  #collected: number | null = null
  #applied = 0
  /** Where the last row that was applied stands in the table. */
  #place = '(0,0)'
  #done = false
  #watermark: Watermark = NO_WATERMARK
  /** The one reading of the pass; its time is that of the first batch. */
  #read: Phase[] = []

  constructor(parts: PassParts) {
    this.name = parts.name
    this.#parts = parts
  }

  async next(limit: number): Promise<BatchDone | null> {
    if (this.#done) return null
    const { columns, target, writer, batches, progression } = this.#parts
    const collected = this.#collected ?? (await this.#collect())
    if (collected === 0) {
      this.#done = true
      return progression.unfinished ? closePass(this.#parts) : null
    }
    const rows = Math.min(limit, collected - this.#applied)
    const isLast = this.#applied + rows === collected
    // The table was written in the order of the pass, and nothing was changed since: a place in it is a place in the pass.
    const { place, last } = await this.#rowAt(rows)
    const selection = `SELECT ${columnList(columns)} FROM pg_temp.${PASS_TABLE} WHERE ctid > '${this.#place}' AND ctid <= '${place}'`
    const apply = async () => {
      const written = await writer.write(selection)
      const state = await progression.moved({
        last,
        isLast,
        watermark: this.#watermark,
        session: target,
        relation: `(${selection}) AS batch`,
      })
      const position = isLast ? await withNumber(target, state.position, false) : state.position
      return { ...written, ...state, position, firstKey: null, lastKey: keyText(last), ends: isLast }
    }
    const done = await batches.run(this.name, apply, this.#read)
    this.#read = []
    this.#applied += rows
    this.#place = place
    this.#done = isLast
    if (isLast) await target.run(`DROP TABLE pg_temp.${PASS_TABLE}`)
    return done
  }

  async #collect(): Promise<number> {
    const { target, mover, columns, progression } = this.#parts
    this.#watermark = await progression.beforeRead()
    const from = performance.now()
    await target.run(`DROP TABLE IF EXISTS pg_temp.${PASS_TABLE}`)
    this.#collected = await mover.collect(this.#selection(), PASS_TABLE, columns).catch((error) => {
      throw databaseError(error, 'Reading the source', 'source')
    })
    this.#read = [{ name: 'read', from, to: performance.now() }]
    failpoint('pass.collected')
    return this.#collected
  }

  #selection(): string {
    const { query, columns, order, progression } = this.#parts
    const { after } = progression
    // A row without a key is beyond no cursor. It comes last, so a pass that goes on has still to refuse it.
    const beyondCursor = range(order, after, null).map((condition) =>
      progression.unfinished ? `(${condition}) IS NOT FALSE` : condition,
    )
    return `SELECT ${columnList(columns)} FROM ${asRelation(query)}${where(beyondCursor)} ORDER BY ${orderBy(order)}`
  }

  /** The n-th row after the last one that was applied. */
  async #rowAt(n: number): Promise<{ place: string; last: Cursor | null }> {
    const { order, target } = this.#parts
    const [row] = await target.rows(
      `SELECT ctid::text AS place, ${cursorColumns(order)} FROM pg_temp.${PASS_TABLE} WHERE ctid > '${this.#place}' OFFSET ${n - 1} LIMIT 1`,
    )
    return { place: row!.place!, last: Object.values(row!).includes(null) ? null : cursorOf(row!, order) }
  }
}
