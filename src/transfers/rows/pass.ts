import type { BatchId } from '../../ports/sink.js'
import type { BatchDone, Step } from '../../ports/transfer.js'
import type { TransformChain } from '../../ports/transforms.js'
import type { Session } from '../../postgres/session.js'
import type { Position } from '../../sinks/postgres/checkpoint.js'
import type { RowBatch } from '../../sql/row-batch.js'
import type { BatchRunner, Moved, Spent } from '../batch.js'
import { closePass, keyText } from '../pass.js'
import type { Progression } from '../progression.js'
import { Ahead } from './ahead.js'
import type { Mart, MartChange } from './mart.js'
import type { ReadBatch, RowReader } from './reader.js'

/** What every step of the rows way works with. */
export interface RowsParts {
  readonly source: Session
  /** Where the checkpoint lives. */
  readonly session: Session
  readonly chain: TransformChain | null
  readonly mart: Mart
  readonly batches: BatchRunner
  /** What a comparison has to know of a pass over everything that began with this run; null: it cannot be told. */
  readonly read: Required<Position>['read'] | null
  /** Names a batch for the sink. */
  readonly idOf: (batch: number) => BatchId
}

/** Read, and changed by the transforms. */
export interface ReadyBatch extends ReadBatch {
  readonly ready: RowBatch
  readonly spent: Spent
}

/** Reads and transforms ahead: while a batch is written the next is transformed and the one after it is read. */
export class Preparation {
  readonly #reader: RowReader
  readonly #read: Ahead<ReadBatch & { readonly readMs: number }>
  readonly #ready: Ahead<ReadyBatch>
  #limit = 1

  constructor(reader: RowReader, chain: TransformChain | null) {
    this.#reader = reader
    this.#read = new Ahead(async () => {
      const began = performance.now()
      const batch = await reader.read(this.#limit)
      return batch === null ? null : { ...batch, readMs: performance.now() - began }
    })
    this.#ready = new Ahead(async () => {
      const batch = await this.#read.take()
      if (batch === null) return null
      const began = performance.now()
      const ready = chain === null ? batch.rows : await chain.run(batch.rows)
      const transformMs = chain === null ? null : performance.now() - began
      return { ...batch, ready, spent: { readMs: batch.readMs, transformMs, isAhead: true } }
    })
  }

  next(limit: number): Promise<ReadyBatch | null> {
    this.#limit = limit
    return this.#ready.take()
  }

  async close(): Promise<void> {
    await this.#ready.settle()
    await this.#read.settle()
    await this.#reader.close()
  }
}

/** A full or an incremental pass: which of the two, only the progression knows. */
export class RowsPass implements Step {
  readonly name: string
  readonly #parts: RowsParts
  readonly #progression: Progression
  readonly #preparation: Preparation
  readonly #write: (batch: RowBatch, id: BatchId) => Promise<MartChange>
  #began = false

  constructor(
    name: string,
    parts: RowsParts,
    reading: { readonly progression: Progression; readonly preparation: Preparation },
    write = (batch: RowBatch, id: BatchId) => parts.mart.write(batch, id),
  ) {
    this.name = name
    this.#parts = parts
    this.#progression = reading.progression
    this.#preparation = reading.preparation
    this.#write = write
  }

  async next(limit: number): Promise<BatchDone | null> {
    const batch = await this.#preparation.next(limit)
    const began = this.#began
    this.#began = true
    if (batch !== null) return this.#parts.batches.run(this.name, (number) => this.#apply(batch, number))
    if (began || !this.#progression.unfinished) return null
    const { batches, session: target } = this.#parts
    return closePass({ name: this.name, batches, target, progression: this.#progression })
  }

  async #apply(batch: ReadyBatch, number: number): Promise<Moved> {
    const { idOf, source } = this.#parts
    const change = await this.#write(batch.ready, idOf(number))
    const { last, isLast, watermark, relation, after } = batch
    const state = await this.#progression.moved({ last, isLast, watermark, session: source, relation })
    return {
      ...state,
      ...change,
      rows: { ...change.rows, read: batch.rows.count },
      firstKey: keyText(after),
      lastKey: keyText(last),
      spent: batch.spent,
      ends: isLast,
    }
  }
}
