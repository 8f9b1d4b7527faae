import type { Position } from '../../checkpoints/checkpoint.js'
import type { Phase } from '../../model/claim.js'
import type { BatchId } from '../../ports/sink.js'
import type { BatchDone, Step } from '../../ports/transfer.js'
import type { TransformChain } from '../../ports/transforms.js'
import type { Session } from '../../postgres/session.js'
import type { RowBatch } from '../../sql/row-batch.js'
import type { BatchRunner, Moved } from '../batch.js'
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
  readonly phases: readonly Phase[]
}

/** Reads and transforms ahead: while a batch is written the next is transformed and the one after it is read. */
export class Preparation {
  readonly #reader: RowReader
  readonly #read: Ahead<ReadyBatch>
  readonly #ready: Ahead<ReadyBatch>
  #limit = 1

  constructor(reader: RowReader, chain: TransformChain | null) {
    this.#reader = reader
    this.#read = new Ahead(() => this.#readOne())
    this.#ready = new Ahead(async () => {
      const batch = await this.#read.take()
      if (batch === null || chain === null) return batch
      const from = performance.now()
      const ready = await chain.run(batch.rows)
      const transformed: Phase = { name: 'transform', from, to: performance.now() }
      return { ...batch, ready, phases: [...batch.phases, transformed] }
    })
  }

  next(limit: number): Promise<ReadyBatch | null> {
    this.#limit = limit
    return this.#ready.take()
  }

  async #readOne(): Promise<ReadyBatch | null> {
    const from = performance.now()
    const batch = await this.#reader.read(this.#limit)
    if (batch === null) return null
    return { ...batch, ready: batch.rows, phases: [{ name: 'read', from, to: performance.now() }] }
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
    if (batch !== null)
      return this.#parts.batches.run(this.name, (number) => this.#apply(batch, number), batch.phases)
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
      ends: isLast,
    }
  }
}
