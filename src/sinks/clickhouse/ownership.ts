import { randomUUID } from 'node:crypto'
import { VitrinaError } from '../../model/errors.js'
import type { BatchId, PartBatchId } from '../../ports/sink.js'
import type { ClickHouseServer } from './client.js'
import { FENCE_CHECK } from './errors.js'
import { literal, quote } from './quoting.js'
import { findStoredTable, type MartNames, VERSION_COLUMN } from './schema.js'

/**
 * The current writer of a table, stored in the table's comment. Each attempt of a run begins a new epoch: its rows are
 * later than all existing rows, and a CHECK makes the server reject rows of earlier epochs, so that late requests of a
 * frozen runner or of an abandoned attempt have no effect (invariant 4).
 *
 * The fence alone is not enough: it counts per pipeline, and another or a recreated pipeline may fill the mart later.
 * Its lower fences would lose against the existing rows.
 */
interface TableOwner {
  readonly pipeline: string
  readonly fence: number
  readonly epoch: bigint
  /** What built this table as a replacement: a run, or the parts of one of its attempts; null for a table filled in place. */
  readonly run: string | null
  /** Identifies the attempt, so that it can check whether its comment is the latest. */
  readonly by: string
  /** Identifies the mart: a replacement keeps it, a table that was dropped and created again gets a new one. */
  readonly mart: string
}

const MARK = 'vitrina '
/** Bits for the batch number, next to the epoch. */
const NUMBER_BITS = 24n
const ROUNDS = 3

/**
 * So many epochs belong to the parts of a pass: a later claim of a part writes later rows. When all parts are committed,
 * the next epoch rejects whatever their claims still send.
 */
const CLAIMS = 1024n

/** The right to write rows of a mart. */
export interface Right {
  /** Version of the rows of a batch. */
  version(id: BatchId | PartBatchId): Promise<bigint>
  /** The error for rows rejected by the CHECK: another writer took over. */
  lost(id: BatchId): Promise<VitrinaError>
}

/** The right of one attempt to write to a table. */
export class MartOwnership implements Right {
  readonly #server: ClickHouseServer
  readonly #names: MartNames
  readonly #by = randomUUID()
  #epoch: bigint | null = null

  constructor(server: ClickHouseServer, names: MartNames) {
    this.#server = server
    this.#names = names
  }

  /** The first call takes over the mart. */
  async version(id: BatchId): Promise<bigint> {
    this.#epoch ??= await this.#take(id)
    return (this.#epoch << NUMBER_BITS) + BigInt(id.number)
  }

  /** Takes over the mart for all who write parts of a pass. The next call of `version` takes it back. */
  async share(id: BatchId): Promise<bigint> {
    this.#epoch = null
    return this.#take(id, CLAIMS)
  }

  /** The right of those who write parts. Takes nothing over. */
  ofParts(first: bigint): Right {
    return {
      version: async (id) => {
        const claim = 'claim' in id ? BigInt(id.claim) : 0n
        return ((first + (claim < CLAIMS ? claim : CLAIMS - 1n)) << NUMBER_BITS) + BigInt(id.number)
      },
      lost: (id) => this.lost(id),
    }
  }

  /** Rejects earlier writers of a table that is being built, and records what it is built as. */
  async extendTo(table: string, id: BatchId, built = id.runId): Promise<void> {
    await this.version(id)
    await this.#note(table, this.#holding(id, this.#epoch!, { run: built, mart: await this.identify() }))
  }

  /** Returns the identity of the mart, and assigns one if it has none. */
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

  async builtAs(table: string): Promise<string | null> {
    return (await this.#read(table))?.run ?? null
  }

  async lost(id: BatchId): Promise<VitrinaError> {
    const holder = await this.#read(this.#names.data)
    if (holder === null || holder.pipeline === id.pipelineId) return this.#stale()
    return new VitrinaError(
      'SINK_GONE',
      `Pipeline ${holder.pipeline} took over ${this.#names.shown()} while this pipeline was writing to it.`,
      'Let only one pipeline fill a ClickHouse mart, or run them one after another.',
    )
  }

  /** Returns the first of so many epochs. */
  async #take(id: BatchId, count = 1n): Promise<bigint> {
    for (let round = 0; round < ROUNDS; round++) {
      const holder = await this.#read(this.#names.data)
      if (holder?.pipeline === id.pipelineId && holder.fence > id.fence) throw this.#stale()
      const epoch = (holder?.epoch ?? (await this.#lastEpoch())) + 1n
      const { run = null, mart = randomUUID() } = holder ?? {}
      await this.#note(this.#names.data, this.#holding(id, epoch + count - 1n, { run, mart }), epoch)
      // ALTER has no compare-and-set: check whether ours was the last one.
      if ((await this.#read(this.#names.data))?.by === this.#by) return epoch
    }
    throw await this.lost(id)
  }

  #holding(id: BatchId, epoch: bigint, kept: Pick<TableOwner, 'run' | 'mart'>): TableOwner {
    return { pipeline: id.pipelineId, fence: id.fence, epoch, by: this.#by, ...kept }
  }

  async #read(table: string): Promise<TableOwner | null> {
    const facts = await findStoredTable(this.#server, this.#names, table)
    return facts === null ? null : parse(facts.comment)
  }

  /** If the comment was edited, the rows still contain the latest version. */
  async #lastEpoch(): Promise<bigint> {
    const [row] = await this.#server.rows({
      sql: `SELECT toString(max(${quote(VERSION_COLUMN)})) FROM ${this.#names.full(this.#names.data)}`,
      doing: `Reading the latest version in ${this.#names.shown()}`,
    })
    return BigInt(row![0]!) >> NUMBER_BITS
  }

  async #note(table: string, holding: TableOwner, since = holding.epoch): Promise<void> {
    const comment = MARK + JSON.stringify({ ...holding, epoch: String(holding.epoch) })
    await this.#server.command({
      sql: `ALTER TABLE ${this.#names.full(table)} DROP CONSTRAINT IF EXISTS ${FENCE_CHECK},
        ADD CONSTRAINT ${FENCE_CHECK} CHECK ${quote(VERSION_COLUMN)} >= ${since << NUMBER_BITS},
        MODIFY COMMENT ${literal(comment)}`,
      doing: `Taking over ${this.#names.shown(table)}`,
    })
  }

  #stale(): VitrinaError {
    return new VitrinaError(
      'LEASE_LOST',
      `${this.#names.shown()} is now written by a later holder of the pipeline.`,
      'No action needed: the later holder continues.',
    )
  }
}

function parse(comment: string): TableOwner | null {
  if (!comment.startsWith(MARK)) return null
  try {
    const { epoch, ...rest } = JSON.parse(comment.slice(MARK.length)) as TableOwner & { epoch: string }
    return { ...rest, epoch: BigInt(epoch) }
  } catch {
    return null
  }
}
