import type { JobSegment } from '../model/engine.js'
import type { TransformChain } from '../ports/transforms.js'
import { RowBatch } from '../sql/row-batch.js'
import type { Column } from '../sql/selection.js'
import type { Segment } from './segment.js'

/** The transforms of one plan: consecutive segments, each with its own host. */
export class Chain implements TransformChain {
  readonly columns: readonly Column[]
  readonly #segments: readonly Segment[]
  readonly #signal: AbortSignal
  readonly #cut: () => void
  readonly #closed: () => void
  #turn: Promise<unknown> = Promise.resolve()

  constructor(
    columns: readonly Column[],
    segments: readonly Segment[],
    options: { readonly signal: AbortSignal; readonly closed: () => void },
  ) {
    this.columns = segments.at(-1)?.columns ?? columns
    this.#segments = segments
    this.#signal = options.signal
    this.#closed = options.closed
    this.#cut = () => void this.#end(options.signal.reason, 'kill')
    options.signal.addEventListener('abort', this.#cut)
  }

  get segments(): readonly JobSegment[] {
    return this.#segments.map((segment) => segment.job)
  }

  async open(): Promise<void> {
    this.#signal.throwIfAborted()
    await Promise.all(this.#segments.map((segment) => segment.open()))
  }

  /** Without rows, no function is called. */
  run(batch: RowBatch): Promise<RowBatch> {
    const before = this.#turn
    const mine = batch.count === 0 ? Promise.resolve(RowBatch.NONE) : this.#through(batch)
    this.#turn = mine.catch(() => {})
    return before.then(() => mine)
  }

  async close(): Promise<void> {
    this.#signal.removeEventListener('abort', this.#cut)
    await this.#end(new Error('The transforms were closed.'), 'close')
    this.#closed()
  }

  async #through(batch: RowBatch): Promise<RowBatch> {
    let rows = batch
    for (const segment of this.#segments) if (rows.count > 0) rows = await segment.run(rows)
    return rows
  }

  async #end(reason: unknown, how: 'close' | 'kill'): Promise<void> {
    await Promise.all(this.#segments.map((segment) => segment.end(reason, how)))
  }
}
