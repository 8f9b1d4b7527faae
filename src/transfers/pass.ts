import { failpoint } from '../model/failpoints.js'
import { NO_ROWS } from '../model/run.js'
import { databaseError } from '../postgres/errors.js'
import type { Session } from '../postgres/session.js'
import type { BatchDone, Step } from '../ports/transfer.js'
import { asRelation, type Column, type Cursor, columnList, cursorColumns, cursorOf, type Order, orderBy, range, selectRange, where } from '../sql/selection.js'
import type { BatchRunner } from './batch.js'
import type { Mover } from './mover.js'
import type { Progression } from './progression.js'
import type { MartWriter } from './writer.js'

/** What both kinds of pass work with. */
export interface PassParts {
  readonly name: string
  readonly query: string
  readonly columns: readonly Column[]
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

/**
 * Walks along an index of the source: each batch is a range of keys and reads its own rows only, in a snapshot of its
 * own. The end of a range is looked up before its rows are read: that beats LIMIT, and it never splits equal keys.
 */
export class PagedPass implements Step {
  readonly name: string
  readonly #parts: PassParts
  #after: Cursor | null
  /** The last row when the pass began: rows that keep arriving are left to the next run, or this one would never end. */
  #end: Cursor | null | undefined

  constructor(parts: PassParts) {
    this.name = parts.name
    this.#parts = parts
    this.#after = parts.progression.after
  }

  async next(limit: number): Promise<BatchDone | null> {
    const { query, columns, order, source, writer, batches, progression } = this.#parts
    if (this.#end === undefined) {
      this.#end = await this.#edge('DESC', 0, null)
      if (this.#end === null && progression.unfinished) return closePass(this.#parts)
    }
    if (this.#end === null) return null
    await progression.beforeRead()
    const after = this.#after
    const bound = await this.#edge('ASC', limit - 1, this.#end)
    const upTo = bound ?? this.#end
    const isLast = bound === null || bound.every((value, index) => value === this.#end?.[index])
    const rows = bound === null ? await this.#count(after, upTo) : limit
    const done = await batches.run(this.name, async () => {
      const selection = selectRange(query, columns, order, after, upTo)
      const written = await writer.write(selection, rows)
      const state = await progression.moved({ last: upTo, isLast, session: source, relation: `(${selection}) AS batch` })
      return { ...written, ...state, firstKey: keyText(after), lastKey: keyText(upTo) }
    })
    this.#after = upTo
    if (isLast) this.#end = null
    return done
  }

  /** The row at a position beyond the cursor, from either end. */
  async #edge(direction: 'ASC' | 'DESC', offset: number, upTo: Cursor | null): Promise<Cursor | null> {
    const { query, order, source } = this.#parts
    const [row] = await source
      .rows(`SELECT ${cursorColumns(order)} FROM ${asRelation(query)}${where(range(order, this.#after, upTo))} ORDER BY ${orderBy(order, direction)} OFFSET ${offset} LIMIT 1`)
      .catch((error) => {
        throw databaseError(error, 'Reading the source')
      })
    return row === undefined ? null : cursorOf(row, order)
  }

  async #count(after: Cursor | null, upTo: Cursor): Promise<number> {
    const { query, order, source } = this.#parts
    const [row] = await source.rows(`SELECT count(*) AS n FROM ${asRelation(query)}${where(range(order, after, upTo))}`)
    return Number(row!.n)
  }
}

/** A pass that was left unfinished turns out to have nothing more: only its position has to be forgotten. */
function closePass({ name, batches, progression, target }: PassParts): Promise<BatchDone> {
  return batches.run(name, async () => {
    const state = await progression.moved({ last: null, isLast: true, session: target, relation: '' })
    return { rows: NO_ROWS, ...state, firstKey: null, lastKey: null }
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
  #collected: { rows: number; blocks: number } | null = null
  #block = 0
  #done = false

  constructor(parts: PassParts) {
    this.name = parts.name
    this.#parts = parts
  }

  async next(limit: number): Promise<BatchDone | null> {
    if (this.#done) return null
    const { columns, target, writer, batches, progression } = this.#parts
    const collected = this.#collected ?? (await this.#collect())
    if (collected.rows === 0) {
      this.#done = true
      return progression.unfinished ? closePass(this.#parts) : null
    }
    // A temporary table is written in order: a range of its blocks is a range of the pass.
    const span = Math.max(1, Math.ceil((limit / collected.rows) * collected.blocks))
    const first = this.#block
    const beyond = Math.min(first + span, collected.blocks)
    const isLast = beyond >= collected.blocks
    const inRange = `ctid >= '(${first},0)' AND ctid < '(${beyond},0)'`
    const selection = `SELECT ${columnList(columns)} FROM pg_temp.${PASS_TABLE} WHERE ${inRange}`
    const done = await batches.run(this.name, async () => {
      const last = await this.#lastOf(beyond)
      const rows = Number((await target.rows(`SELECT count(*) AS n FROM pg_temp.${PASS_TABLE} WHERE ${inRange}`))[0]!.n)
      const written = await writer.write(selection, rows)
      const state = await progression.moved({ last, isLast, session: target, relation: `(${selection}) AS batch` })
      return { ...written, ...state, firstKey: null, lastKey: keyText(last) }
    })
    this.#block = beyond
    this.#done = isLast
    if (isLast) await target.run(`DROP TABLE pg_temp.${PASS_TABLE}`)
    return done
  }

  async #collect(): Promise<{ rows: number; blocks: number }> {
    const { query, columns, order, target, mover, progression } = this.#parts
    await progression.beforeRead()
    const selection = `${selectRange(query, columns, order, progression.after, null)} ORDER BY ${orderBy(order)}`
    await target.run(`DROP TABLE IF EXISTS pg_temp.${PASS_TABLE}`)
    const rows = await mover.collect(selection, PASS_TABLE, columns).catch((error) => {
      throw databaseError(error, 'Reading the source')
    })
    const [size] = await target.rows(`SELECT (pg_relation_size('pg_temp.${PASS_TABLE}') / current_setting('block_size')::bigint)::text AS blocks`)
    this.#collected = { rows, blocks: Number(size!.blocks) }
    failpoint('pass.collected')
    return this.#collected
  }

  async #lastOf(beyond: number): Promise<Cursor | null> {
    const { order, target } = this.#parts
    const [row] = await target.rows(
      `SELECT ${cursorColumns(order)} FROM pg_temp.${PASS_TABLE} WHERE ctid >= '(${beyond - 1},0)' AND ctid < '(${beyond},0)' ORDER BY ctid DESC LIMIT 1`,
    )
    return row === undefined || Object.values(row).includes(null) ? null : cursorOf(row, order)
  }
}
