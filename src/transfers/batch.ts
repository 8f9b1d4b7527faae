import type { Checkpoint } from '../checkpoints/checkpoint.js'
import { failpoint } from '../model/failpoints.js'
import type { BatchId } from '../ports/sink.js'
import type { BatchDone } from '../ports/transfer.js'
import { onSide } from '../postgres/errors.js'
import {
  type BatchOptions,
  type BatchOutcome,
  type BatchParts,
  type BatchWork,
  batchError,
  metaSession,
  phasesOf,
  RunBatches,
  type Timing,
} from './run-batches.js'

/**
 * One batch is one transaction (docs/architecture.md, "The batch protocol"): rows, checkpoint, history, lease, in this
 * order, so that the locks that other sessions wait for are held the shortest.
 */
export class BatchRunner extends RunBatches {
  constructor(parts: BatchParts, checkpoint: Checkpoint) {
    super(parts, checkpoint, false)
  }

  async run(
    step: string,
    work: BatchWork,
    { earlier: ahead = [], follows }: BatchOptions = {},
  ): Promise<BatchDone> {
    const { session, isTransactional } = this.parts
    const earlier = [...this.takeRead(), ...ahead]
    const started = performance.now()
    const id = this.nextId()
    // No transaction stays open in the main database while another server works.
    const sent = isTransactional ? null : await this.#send(work, id)
    // A deferred constraint would reject a row only at COMMIT, when it is too late to find out which.
    await session.run(`${follows ?? ''}BEGIN; SET CONSTRAINTS ALL IMMEDIATE`)
    failpoint('batch.begun')
    try {
      const outcome = sent ?? (await work(id))
      return await this.#commit(step, outcome, { started, written: performance.now(), earlier })
    } catch (error) {
      await session.run('ROLLBACK').catch(() => {})
      await this.recordFailure(error, id)
      throw batchError(error)
    }
  }

  /** Every batch has committed by itself. */
  afterCommit(work: () => Promise<void>): Promise<void> {
    return work()
  }

  async #send(work: BatchWork, id: BatchId): Promise<BatchOutcome> {
    const outcome = await work(id).catch(async (error: unknown) => {
      await this.recordFailure(error, id)
      throw error
    })
    failpoint('batch.written')
    return outcome
  }

  async #commit(step: string, outcome: BatchOutcome, timing: Timing): Promise<BatchDone> {
    const { session, checkpoints, ledger, claim, isMain } = this.parts
    const { change } = outcome
    const meta = isMain ? metaSession(session) : null
    if (isMain) await onSide('meta store', 'Settling rows', async () => outcome.settle?.(meta))
    const next = this.after(step, outcome)
    const { progress, done, state } = next
    await onSide(isMain ? 'meta store' : 'target', 'Moving the checkpoint', () =>
      checkpoints.move({
        ...state,
        position: { ...state.position, run: { id: claim.runId, ...progress, done } },
      }),
    )
    failpoint('checkpoint.moved')
    const record = this.recordOf(step, outcome, { next, timing })
    const control = await onSide('meta store', 'Recording the batch', async () => {
      if (change.refused.length > 0) await ledger.quarantine(change.refused, meta)
      if (change.checks !== undefined)
        await ledger.checked(change.checks, { batch: progress.batches, session: meta })
      return ledger.record(record, progress, meta)
    })
    failpoint('lease.renewed')
    await session.run('COMMIT')
    checkpoints.committed()
    this.accept(next, record, timing)
    failpoint('batch.committed')
    // Settled before the commit, a quarantined row would be forgotten if its batch were rolled back.
    if (!isMain) await outcome.settle?.(null)
    return { record, progress, control, phases: phasesOf(change, timing) }
  }
}
