import { setTimeout as wait } from 'node:timers/promises'
import { type CheckpointState, cursorFrom, type PassStart } from '../checkpoints/checkpoint.js'
import type { HeldBack } from '../model/run.js'
import type { Session } from '../postgres/session.js'
import {
  type Horizon,
  isClockKey,
  isSafe,
  type SeenKey,
  type Watermark,
} from '../sources/postgres/horizon.js'
import { quoteIdentifier, quoteLiteral } from '../sql/identifiers.js'
import { type Cursor, cursorColumns, cursorOf, type Order, orderBy } from '../sql/selection.js'
import type { NextPosition } from './changes/change-source.js'

/** Where the checkpoint is after each batch. This is the only difference between full and incremental passes. */
export interface Progression {
  /** Where the pass starts. */
  readonly after: Cursor | null
  /** The pass continues one that an earlier run left unfinished; its position is removed at the end. */
  readonly unfinished: boolean
  /** Called before the rows of a batch are read. The watermark belongs to these rows, whatever is read meanwhile. */
  beforeRead(): Promise<Watermark>
  /** Called after the rows of a batch were written: the checkpoint to store with them. */
  moved(end: BatchEnd): Promise<CheckpointState>
}

/** The end of a batch in the order of its pass. */
export interface BatchEnd {
  /** The last row; null: the batch has no rows, or the key of the last one contains NULL. */
  readonly last: Cursor | null
  readonly isLast: boolean
  readonly watermark: Watermark
  /** Where the rows of the batch can be queried; null: nowhere. */
  readonly queryable: { readonly session: Session; readonly relation: string } | null
}

export const NO_WATERMARK: Watermark = { limit: null, heldBack: null }

/** The end of a pass that turned out to have no more rows. */
export const END_OF_PASS: BatchEnd = { last: null, isLast: true, watermark: NO_WATERMARK, queryable: null }

interface FullPass {
  readonly name: string
  readonly fingerprint: string
  readonly from: CheckpointState
  /** Null: unknown. */
  readonly start: PassStart | null
}

/** A full pass: its position is removed when it is complete. */
export class FullProgression implements Progression {
  readonly after: Cursor | null
  readonly #pass: FullPass
  /** When the pass began, possibly in an earlier run. */
  readonly #start: PassStart | null
  #last: Cursor | null

  constructor(pass: FullPass) {
    this.#pass = pass
    const { pass: unfinished } = pass.from.position
    const isSame = unfinished?.name === pass.name && unfinished.fingerprint === pass.fingerprint
    this.after = isSame ? unfinished.after : null
    const isContinued = isSame && (unfinished.after !== null || unfinished.parts !== undefined)
    this.#start = isContinued ? (unfinished.begun ?? null) : pass.start
    this.#last = this.after
  }

  get unfinished(): boolean {
    return this.after !== null
  }

  async beforeRead(): Promise<Watermark> {
    return NO_WATERMARK
  }

  async moved({ last, isLast }: Pick<BatchEnd, 'last' | 'isLast'>): Promise<CheckpointState> {
    this.#last = last ?? this.#last
    const { name, fingerprint, from } = this.#pass
    const { pass: _pass, ...rest } = from.position
    const start = this.#start
    const kept = { ...rest, cursor: { columns: [], values: this.#last ?? [] } }
    const pass = { name, fingerprint, after: this.#last, ...(start === null ? {} : { begun: start }) }
    const read = start === null ? {} : { read: { ...start, fingerprint } }
    return {
      key: this.#last?.[0] ?? null,
      id: this.#last?.[1] ?? null,
      position: isLast ? { ...kept, ...read } : { ...kept, pass },
    }
  }
}

/**
 * A pass over every row, after which the pipeline follows changes: at its end, the next run searches for those since
 * `start`, which was taken before anything was read.
 */
export function initialProgression(pass: Omit<FullPass, 'name'>, start: NextPosition): Progression {
  // An earlier starting point is unusable, or this would not be a pass over every row.
  const { xmin: _xmin, wal: _wal, modified: _modified, ...position } = pass.from.position
  // An unfinished pass keeps the starting point that was taken when it began.
  const next = position.pass === undefined ? start : (storedStart(position) ?? start)
  const from = { ...pass.from, position: { ...withoutStart(position), next } }
  const full = new FullProgression({ ...pass, name: 'initial', from })
  return {
    after: full.after,
    unfinished: true,
    beforeRead: () => full.beforeRead(),
    moved: async (end) => {
      const state = await full.moved(end)
      return end.isLast ? movedTo({ ...state, position: withoutStart(state.position) }, next) : state
    },
  }
}

function storedStart({ next, xminNext }: CheckpointState['position']): NextPosition | undefined {
  return next ?? (xminNext === undefined ? undefined : { xmin: xminNext })
}

function withoutStart({
  next: _next,
  xminNext: _xminNext,
  ...position
}: CheckpointState['position']): CheckpointState['position'] {
  return position
}

/** For `capture: key` the position is the checkpoint that users see. */
export function movedTo(state: CheckpointState, next: NextPosition): CheckpointState {
  const { modified, ...others } = next
  if (modified === undefined) return { ...state, position: { ...state.position, ...others } }
  const { cursor: _cursor, seen: _seen, modified: _modified, ...position } = state.position
  return { key: modified, id: null, position: { ...position, ...(modified === null ? {} : { modified }) } }
}

/** How long a run waits for transactions that could still commit a lower key from a sequence. */
const SETTLE_MS = 500

/**
 * An incremental pass. Every visible row is written, but the checkpoint moves only up to the watermark: an open
 * transaction may still commit a lower key (R4.4). Once it has stopped, the checkpoint stays for the rest of the pass:
 * rows that were read before a later, higher watermark may be incomplete below it.
 */
export class IncrementalProgression implements Progression {
  readonly after: Cursor | null
  readonly unfinished = false
  readonly #order: Order
  readonly #columns: readonly string[]
  readonly #horizon: Horizon
  readonly #from: CheckpointState
  #safe: Cursor | null
  #stopped = false
  #watermark: Watermark = NO_WATERMARK
  #seen: SeenKey | null = null
  #heldBack: HeldBack | null = null

  constructor(order: Order, horizon: Horizon, from: CheckpointState) {
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

  async moved(end: BatchEnd): Promise<CheckpointState> {
    if (end.last !== null && !this.#stopped) await this.#follow(end.last, end)
    const { pass: _pass, seen: _seen, cursor: _cursor, ...kept } = this.#from.position
    const position = {
      ...kept,
      ...(this.#seen === null ? {} : { seen: this.#seen }),
      ...(this.#safe === null ? {} : { cursor: { columns: this.#columns, values: this.#safe } }),
    }
    return { key: this.#safe?.[0] ?? null, id: this.#safe?.[1] ?? null, position }
  }

  async #follow(last: Cursor, { watermark, queryable }: BatchEnd): Promise<void> {
    if (queryable === null) return
    const { session, relation } = queryable
    const key = this.#order.columns[0]!
    const [verdict] = await session.rows(
      `SELECT (${isSafe(watermark, key, `${quoteLiteral(last[0]!)}::${key.type}`)})::text AS safe`,
    )
    if (verdict?.safe === 'true') {
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

  /** Keys from a sequence: the highest visible one is safe when every transaction that was open then has ended. */
  async #settle(): Promise<void> {
    this.#seen = await this.#horizon.newest()
    for (const until = performance.now() + SETTLE_MS; ; ) {
      this.#watermark = await this.#horizon.watermark(this.#seen)
      if (this.#watermark.limit !== null || performance.now() > until) break
      await wait(10)
    }
    // Keys that an earlier run saw may be safe by now, although newer ones are not.
    const { seen, cursor } = this.#from.position
    if (this.#watermark.limit === null && seen !== undefined && cursor?.columns[0] === this.#columns[0]) {
      const { heldBack } = this.#watermark
      this.#watermark = { ...(await this.#horizon.watermark(seen)), heldBack }
    }
  }
}
