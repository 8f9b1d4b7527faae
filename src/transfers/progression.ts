import { setTimeout as wait } from 'node:timers/promises'
import { cursorFrom, type PassStart } from '../checkpoints/checkpoint.js'
import type { HeldBack } from '../model/run.js'
import type { Session } from '../postgres/session.js'
import type { SweepFrom } from '../sources/postgres/changes.js'
import { type Horizon, isClockKey, isSafe, type Seen, type Watermark } from '../sources/postgres/horizon.js'
import { quoteIdentifier, quoteLiteral } from '../sql/identifiers.js'
import { type Cursor, cursorColumns, cursorOf, type Order, orderBy } from '../sql/selection.js'
import type { StateAfter } from './batch.js'

/** Where the checkpoint stands after a batch: the two strategies that walk through rows differ only in this. */
export interface Progression {
  /** Where the pass begins. */
  readonly after: Cursor | null
  /** It goes on with a pass that an earlier run left, and whose position has to be forgotten at the end. */
  readonly unfinished: boolean
  /** Before the rows of a batch are read: what was certain then. It belongs to these rows, whatever is read meanwhile. */
  beforeRead(): Promise<Watermark>
  /**
   * After they were written. `relation` holds the rows of the batch and can be asked through `session`; `last` is the
   * last of them, null when there was none.
   */
  moved(batch: MovedBatch): Promise<StateAfter>
}

export interface MovedBatch {
  readonly last: Cursor | null
  readonly isLast: boolean
  readonly watermark: Watermark
  readonly session: Session
  readonly relation: string
}

/** Nothing waits for anything. */
export const NO_WATERMARK: Watermark = { limit: null, heldBack: null }

/** A full pass: the position is forgotten when its end is reached. */
export class FullProgression implements Progression {
  readonly after: Cursor | null
  readonly #name: string
  readonly #fingerprint: string
  readonly #from: StateAfter
  /** When the pass began, also if that was an earlier run. Null: not known. */
  readonly #begun: PassStart | null
  #last: Cursor | null

  constructor(name: string, fingerprint: string, from: StateAfter, begun: PassStart | null) {
    this.#name = name
    this.#fingerprint = fingerprint
    this.#from = from
    const { pass } = from.position
    this.after = pass?.name === name && pass.fingerprint === fingerprint ? pass.after : null
    this.#begun = this.after === null ? begun : (pass?.begun ?? null)
    this.#last = this.after
  }

  get unfinished(): boolean {
    return this.after !== null
  }

  async beforeRead(): Promise<Watermark> {
    return NO_WATERMARK
  }

  async moved(batch: { last: Cursor | null; isLast: boolean }): Promise<StateAfter> {
    this.#last = batch.last ?? this.#last
    const { pass: _pass, ...rest } = this.#from.position
    const fingerprint = this.#fingerprint
    const begun = this.#begun
    const kept = { ...rest, cursor: { columns: [], values: this.#last ?? [] } }
    const pass = { name: this.#name, fingerprint, after: this.#last, ...(begun === null ? {} : { begun }) }
    const read = begun === null ? {} : { read: { ...begun, fingerprint } }
    return {
      key: this.#last?.[0] ?? null,
      id: this.#last?.[1] ?? null,
      position: batch.isLast ? { ...kept, ...read } : { ...kept, pass },
    }
  }
}

/** A full pass at whose end the next sweep over row versions knows where to begin: that was taken before the pass. */
export function initialSweep(
  fingerprint: string,
  from: StateAfter,
  taken: SweepFrom,
  began: PassStart | null,
): Progression {
  // The place of an earlier sweep is no use, or this would not be the first one; numbers that grow would make it look as if.
  const { xmin: _unusable, ...position } = from.position
  // Of a pass that was interrupted, the place that was taken before its beginning.
  const begun = position.pass === undefined ? taken : (position.xminNext ?? taken)
  const state = { ...from, position: { ...position, xminNext: begun } }
  const full = new FullProgression('initial', fingerprint, state, began)
  return {
    after: full.after,
    unfinished: true,
    beforeRead: () => full.beforeRead(),
    moved: async (batch) => {
      const after = await full.moved(batch)
      if (!batch.isLast) return after
      const { xminNext, ...kept } = after.position
      return { ...after, position: { ...kept, ...(xminNext === undefined ? {} : { xmin: xminNext }) } }
    },
  }
}

/** How long a run waits for transactions that could undercut a key from a sequence. */
const PATIENCE_MS = 500

/**
 * An incremental pass. Every visible row is written; the checkpoint follows only as far as no open transaction can
 * undercut it (R4.4). Once it had to stop it stays for the rest of the pass: what was read before a later, higher
 * watermark may lack rows that this watermark no longer waits for.
 */
export class IncrementalProgression implements Progression {
  readonly after: Cursor | null
  readonly unfinished = false
  readonly #order: Order
  readonly #columns: readonly string[]
  readonly #horizon: Horizon
  readonly #from: StateAfter
  #safe: Cursor | null
  #stopped = false
  #watermark: Watermark = NO_WATERMARK
  #seen: Seen | null = null
  #heldBack: HeldBack | null = null

  constructor(order: Order, horizon: Horizon, from: StateAfter) {
    this.#order = order
    this.#horizon = horizon
    this.#from = from
    this.#columns = order.columns.map((column) => column.name)
    this.after = cursorFrom(from, this.#columns)
    this.#safe = this.after
  }

  get heldBack(): HeldBack | null {
    return this.#heldBack
  }

  async beforeRead(): Promise<Watermark> {
    if (this.#stopped) return this.#watermark
    if (isClockKey(this.#order.columns[0]!)) this.#watermark = await this.#horizon.watermark(null)
    else if (this.#seen === null) await this.#settle()
    return this.#watermark
  }

  async moved(batch: MovedBatch): Promise<StateAfter> {
    if (batch.last !== null && !this.#stopped) await this.#follow(batch.last, batch)
    const { pass: _pass, seen: _seen, cursor: _cursor, ...kept } = this.#from.position
    const position = {
      ...kept,
      ...(this.#seen === null ? {} : { seen: this.#seen }),
      ...(this.#safe === null ? {} : { cursor: { columns: this.#columns, values: this.#safe } }),
    }
    return { key: this.#safe?.[0] ?? null, id: this.#safe?.[1] ?? null, position }
  }

  async #follow(last: Cursor, { watermark, session, relation }: MovedBatch): Promise<void> {
    const key = this.#order.columns[0]!
    const [verdict] = await session.rows(
      `SELECT (${isSafe(watermark, key, `${quoteLiteral(last[0]!)}::${key.type}`)})::text AS safe`,
    )
    if (verdict!.safe === 'true') {
      this.#safe = last
      return
    }
    this.#stopped = true
    this.#heldBack = watermark.heldBack
    const [row] = await session.rows(
      `SELECT ${cursorColumns(this.#order)} FROM ${relation} WHERE ${isSafe(watermark, key, quoteIdentifier(key.name))} ORDER BY ${orderBy(this.#order, 'DESC')} LIMIT 1`,
    )
    if (row !== undefined) this.#safe = cursorOf(row, this.#order)
  }

  /** Keys from a sequence: the highest one now is safe when everything that was open then has ended. */
  async #settle(): Promise<void> {
    this.#seen = await this.#horizon.newest()
    for (const until = performance.now() + PATIENCE_MS; ; ) {
      this.#watermark = await this.#horizon.watermark(this.#seen)
      if (this.#watermark.limit !== null || performance.now() > until) break
      await wait(10)
    }
    // What an earlier run saw may have settled since, although newer keys have not.
    const { seen, cursor } = this.#from.position
    if (this.#watermark.limit === null && seen !== undefined && cursor?.columns[0] === this.#columns[0]) {
      const { heldBack } = this.#watermark
      this.#watermark = { ...(await this.#horizon.watermark(seen)), heldBack }
    }
  }
}
