import type { Checkpoint } from '../checkpoints/checkpoint.js'
import type { BatchRecord, Control, Progress } from '../model/claim.js'
import type { BatchDone } from '../ports/transfer.js'
import { onSide } from '../postgres/errors.js'
import {
  type BatchOptions,
  type BatchOutcome,
  type BatchParts,
  type BatchWork,
  batchError,
  phasesOf,
  RunBatches,
} from './run-batches.js'

/** Requests are looked up when the leases of a group are renewed. */
const NO_REQUESTS: Control = { pause: false, cancel: false, batchSize: null }

/** A batch whose rows are written, in the transaction of its group. */
interface WrittenBatch {
  readonly outcome: BatchOutcome
  readonly record: BatchRecord
  readonly progress: Progress
}

/**
 * The batches of a member of a group: their rows are written at once, in the transaction that `OpenGroup` begins and
 * commits. Before the commit it calls `move` of each member and then `record` of each, and after it `committed`.
 */
export class GroupBatches extends RunBatches {
  #written: WrittenBatch[] = []
  readonly #afterCommit: (() => Promise<void>)[] = []

  constructor(parts: BatchParts, checkpoint: Checkpoint) {
    super(parts, checkpoint, true)
  }

  async run(step: string, work: BatchWork, { earlier: ahead = [] }: BatchOptions = {}): Promise<BatchDone> {
    const { session } = this.parts
    const earlier = [...this.takeRead(), ...ahead]
    const started = performance.now()
    const id = this.nextId()
    try {
      await session.run('SAVEPOINT batch')
      const outcome = await work(id)
      // A savepoint that stays costs every later one.
      await session.run('RELEASE batch')
      const timing = { started, written: performance.now(), earlier }
      const next = this.after(step, outcome)
      const { progress } = next
      const record = this.recordOf(step, outcome, { next, timing })
      this.#written.push({ outcome, record, progress })
      this.accept(next, record, timing)
      return { record, progress, control: NO_REQUESTS, phases: phasesOf(outcome.change, timing) }
    } catch (error) {
      await this.recordFailure(error, id)
      throw batchError(error)
    }
  }

  async afterCommit(work: () => Promise<void>): Promise<void> {
    this.#afterCommit.push(work)
  }

  /** Moves the checkpoint, which proves the fence. */
  async move(): Promise<void> {
    const { checkpoints, claim } = this.parts
    const { key, id, position } = this.state
    const run = { id: claim.runId, ...this.progress, done: this.done, together: true as const }
    await onSide('target', 'Moving the checkpoint', () =>
      checkpoints.move({ key, id, position: { ...position, run } }),
    )
  }

  /** Records what the batches did, by another session. */
  async record(): Promise<void> {
    const { ledger } = this.parts
    await onSide('meta store', 'Recording the batch', async () => {
      for (const { outcome, record, progress } of this.#written) {
        const { refused, checks } = outcome.change
        if (refused.length > 0) await ledger.quarantine(refused, null)
        if (checks !== undefined) await ledger.checked(checks, { batch: record.batch, session: null })
        await ledger.record(record, progress, null)
      }
    })
  }

  async committed(): Promise<void> {
    this.parts.checkpoints.committed()
    const written = this.#written
    this.#written = []
    for (const { outcome } of written) await outcome.settle?.(null)
    for (const work of this.#afterCommit.splice(0)) await work()
  }
}
