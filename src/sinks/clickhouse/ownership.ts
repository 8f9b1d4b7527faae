import { randomUUID } from 'node:crypto'
import { VitrinaError } from '../../model/errors.js'
import type { BatchId } from '../../ports/sink.js'
import type { Server } from './client.js'
import { FENCE_CHECK } from './errors.js'
import { literal, quote } from './quoting.js'
import { findTable, type MartNames, VERSION } from './table.js'

/**
 * Who writes a table, kept in its comment. Each attempt of a run begins an epoch of its own: its rows are later than all
 * rows before, and a CHECK makes the server refuse rows of earlier epochs, so that what a frozen runner or a request
 * that was given up sends late does not get in (invariant 4).
 *
 * Not the fence alone: it counts for one pipeline, and a mart may be filled by another one after it, or by the same one
 * made anew. Its small fences would then lose against rows that are long there.
 */
interface Holding {
  readonly pipeline: string
  readonly fence: number
  readonly epoch: bigint
  /** The run that built this table to replace another; null for one that grew. */
  readonly run: string | null
  /** Names the attempt, so that it sees whether its word was the last. */
  readonly by: string
  /** Names the mart: a replacement keeps it, a table that was dropped and created again has another. */
  readonly mart: string
}

const MARK = 'vitrina '
/** Room for the number of a batch beside the epoch. */
const NUMBER_BITS = 24n
const ROUNDS = 3

/** The right of one attempt to write a table. */
export class Ownership {
  readonly #server: Server
  readonly #names: MartNames
  readonly #by = randomUUID()
  #epoch: bigint | null = null

  constructor(server: Server, names: MartNames) {
    this.#server = server
    this.#names = names
  }

  /** The version of the rows of a batch; takes the mart over when it is the first one. */
  async version(id: BatchId): Promise<bigint> {
    this.#epoch ??= await this.#take(id)
    return (this.#epoch << NUMBER_BITS) + BigInt(id.number)
  }

  /** Lets nobody earlier into a table that is being built, and notes which run builds it. */
  async extendTo(table: string, id: BatchId): Promise<void> {
    await this.version(id)
    await this.#note(table, this.#holding(id, this.#epoch!, { run: id.runId, mart: await this.identify() }))
  }

  /** Gives the mart a name when it has none, and answers it. */
  async identify(): Promise<string> {
    const { data } = this.#names
    const holder = await this.#read(data)
    if (holder !== null) return holder.mart
    const mart = randomUUID()
    await this.#note(data, {
      pipeline: '',
      fence: 0,
      epoch: await this.#lastEpoch(),
      run: null,
      by: '',
      mart,
    })
    return mart
  }

  async runThatBuilt(table: string): Promise<string | null> {
    return (await this.#read(table))?.run ?? null
  }

  /** The check refused our rows: somebody took over. */
  async lost(id: BatchId): Promise<VitrinaError> {
    const holder = await this.#read(this.#names.data)
    if (holder === null || holder.pipeline === id.pipelineId) return this.#stale()
    return new VitrinaError(
      'SINK_GONE',
      `Pipeline ${holder.pipeline} took ${this.#names.shown()} over while this one was writing it.`,
      'Let one pipeline fill a mart of ClickHouse, or run them one after another.',
    )
  }

  async #take(id: BatchId): Promise<bigint> {
    for (let round = 0; round < ROUNDS; round++) {
      const holder = await this.#read(this.#names.data)
      if (holder?.pipeline === id.pipelineId && holder.fence > id.fence) throw this.#stale()
      const epoch = (holder?.epoch ?? (await this.#lastEpoch())) + 1n
      const { run = null, mart = randomUUID() } = holder ?? {}
      await this.#note(this.#names.data, this.#holding(id, epoch, { run, mart }))
      // ALTER knows no "if nobody else did": look whether ours was the last.
      if ((await this.#read(this.#names.data))?.by === this.#by) return epoch
    }
    throw await this.lost(id)
  }

  #holding(id: BatchId, epoch: bigint, kept: Pick<Holding, 'run' | 'mart'>): Holding {
    return { pipeline: id.pipelineId, fence: id.fence, epoch, by: this.#by, ...kept }
  }

  async #read(table: string): Promise<Holding | null> {
    const facts = await findTable(this.#server, this.#names, table)
    return facts === null ? null : parse(facts.comment)
  }

  /** When somebody changed the comment, the rows themselves know. */
  async #lastEpoch(): Promise<bigint> {
    const [row] = await this.#server.rows({
      sql: `SELECT toString(max(${quote(VERSION)})) FROM ${this.#names.full(this.#names.data)}`,
      doing: `Looking for the last version in ${this.#names.shown()}`,
    })
    return BigInt(row![0]!) >> NUMBER_BITS
  }

  async #note(table: string, holding: Holding): Promise<void> {
    const comment = MARK + JSON.stringify({ ...holding, epoch: String(holding.epoch) })
    await this.#server.command({
      sql: `ALTER TABLE ${this.#names.full(table)} DROP CONSTRAINT IF EXISTS ${FENCE_CHECK},
        ADD CONSTRAINT ${FENCE_CHECK} CHECK ${quote(VERSION)} >= ${holding.epoch << NUMBER_BITS},
        MODIFY COMMENT ${literal(comment)}`,
      doing: `Taking over ${this.#names.shown(table)}`,
    })
  }

  #stale(): VitrinaError {
    return new VitrinaError(
      'LEASE_LOST',
      `${this.#names.shown()} is written by a later holder of the pipeline.`,
      'Nothing has to be done: the later holder goes on.',
    )
  }
}

function parse(comment: string): Holding | null {
  if (!comment.startsWith(MARK)) return null
  try {
    const { epoch, ...rest } = JSON.parse(comment.slice(MARK.length)) as Holding & { epoch: string }
    return { ...rest, epoch: BigInt(epoch) }
  } catch {
    return null
  }
}
