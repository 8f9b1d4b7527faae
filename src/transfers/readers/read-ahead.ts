import type { Phase } from '../../model/claim.js'
import type { TransformChain } from '../../ports/transforms.js'
import type { RowBatch } from '../../sql/row-batch.js'
import type { Portion, Reader } from './reader.js'

/** Reads and transforms ahead: while one batch is written, the next is transformed and the one after that is read. */
export class ReadAhead implements Reader<RowBatch> {
  readonly #reader: Reader<RowBatch>
  readonly #read: Ahead<Portion<RowBatch>>
  readonly #transformed: Ahead<Portion<RowBatch>>
  #limit = 1

  constructor(reader: Reader<RowBatch>, chain: TransformChain | null) {
    this.#reader = reader
    this.#read = new Ahead(async () => {
      const from = performance.now()
      const portion = await reader.next(this.#limit)
      return portion === null ? null : withPhase(portion, { name: 'read', from, to: performance.now() })
    })
    this.#transformed = new Ahead(async () => {
      const portion = await this.#read.take()
      if (portion === null || chain === null) return portion
      const from = performance.now()
      const rows = await chain.run(portion.rows)
      return withPhase({ ...portion, rows }, { name: 'transform', from, to: performance.now() })
    })
  }

  next(limit: number): Promise<Portion<RowBatch> | null> {
    this.#limit = limit
    return this.#transformed.take()
  }

  async close(): Promise<void> {
    await this.#transformed.settle()
    await this.#read.settle()
    await this.#reader.close?.()
  }
}

function withPhase(portion: Portion<RowBatch>, phase: Phase): Portion<RowBatch> {
  return { ...portion, phases: [...portion.phases, phase] }
}

/** Produces the next value while the last one is in use. At most one value waits. */
class Ahead<T> {
  readonly #produce: () => Promise<T | null>
  #next: Promise<T | null> | null = null
  #ended = false

  constructor(produce: () => Promise<T | null>) {
    this.#produce = produce
  }

  /** The next value; null: no more. */
  async take(): Promise<T | null> {
    const taken = await (this.#next ?? this.#begin())
    if (taken === null) this.#ended = true
    else this.#next = this.#begin()
    return this.#ended ? null : taken
  }

  /** Waits for the value in progress and discards it, also if it fails. */
  async settle(): Promise<void> {
    await this.#next?.catch(() => {})
  }

  #begin(): Promise<T | null> {
    const next = this.#produce()
    // `take` throws the error. Until then it must not end the process as an unhandled rejection.
    next.catch(() => {})
    return next
  }
}
