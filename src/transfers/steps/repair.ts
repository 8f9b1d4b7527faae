import type { MetaSession } from '../../ports/run-queue.js'
import type { BatchDone, Step } from '../../ports/transfer.js'
import type { TextValues } from '../../sql/copy-text.js'
import type { Apply } from '../marts/mart.js'
import type { RunBatches } from '../run-batches.js'

interface RepairParts {
  readonly batches: RunBatches
  readonly keys: readonly TextValues[]
  /** Reads the rows with these keys; the result writes them. */
  readonly read: (keys: readonly TextValues[]) => Promise<Apply>
  /** Records, with each batch, which of the keys it has settled. */
  readonly settle: (first: number, count: number, meta: MetaSession | null) => Promise<void>
}

/** This many keys fit into one statement. */
const MAX_KEYS = 1_000

/**
 * Updates some rows of the mart from the source: rows that a comparison found different, or quarantined rows that are
 * tried again. They are read again by their keys: the mart may have newer rows than those that were read before.
 */
export class Repair implements Step {
  readonly name: string
  readonly #parts: RepairParts
  #next = 0

  constructor(name: 'repair' | 'replay', parts: RepairParts) {
    this.name = name
    this.#parts = parts
  }

  async next(limit: number): Promise<BatchDone | null> {
    const { keys, batches, read, settle } = this.#parts
    const first = this.#next
    const portion = keys.slice(first, first + Math.min(limit, MAX_KEYS))
    if (portion.length === 0) return null
    const apply = await read(portion)
    const done = await batches.run(this.name, async (id) => ({
      change: await apply(id),
      state: batches.state,
      settle: (meta) => settle(first, portion.length, meta),
      firstKey: portion[0]?.join(', ') ?? null,
      lastKey: portion.at(-1)?.join(', ') ?? null,
    }))
    this.#next = first + portion.length
    return done
  }
}
