import type { Claim, Control, Progress, RunEnd } from '../model/claim.js'
import { failpoint } from '../model/failpoints.js'
import { strategyOf } from '../model/pipeline.js'
import { NO_ROWS } from '../model/run.js'
import type { RunQueue } from '../ports/run-queue.js'
import type { Ledger, Step, Transfer, TransferFactory } from '../ports/transfer.js'
import type { Events } from '../telemetry/events.js'
import { BatchSize } from './batch-size.js'
import type { Lease } from './lease.js'
import { STRATEGIES } from './strategies/index.js'

export interface ExecutorParts {
  readonly queue: RunQueue
  readonly transfers: TransferFactory
  readonly events: Events
  readonly leaseSeconds: number
}

/** How an attempt went: it ended the run, or left it unfinished for the next runner because this one is stopping. */
export type Outcome = RunEnd['status'] | 'RELEASED'

/**
 * Runs one attempt of one claimed pipeline: chooses the strategy, moves its batches, listens between them, and sets
 * the final status. The one place where all variants of execution meet.
 */
export class PipelineExecutor {
  readonly #parts: ExecutorParts

  constructor(parts: ExecutorParts) {
    this.#parts = parts
  }

  async execute(claim: Claim, lease: Lease, isStopping: () => boolean): Promise<Outcome> {
    const { queue, transfers, events } = this.#parts
    const began = performance.now()
    // Asked for before it began, or while nobody held it: nothing has to be opened for that.
    const early = wish(lease.control)
    if (early !== null) return this.#end(claim, early, { rows: NO_ROWS, batches: 0 }, began)
    const transfer = transfers.open(claim, this.#ledger(claim, lease), lease.signal)
    try {
      const plan = await transfer.prepare()
      failpoint('run.prepared')
      await queue.planned(claim, plan)
      events.runPlanned(claim, plan)
      const outcome = await this.#runSteps(claim, transfer, lease, isStopping)
      if (outcome === 'RELEASED') return outcome
      await queue.heldBack(claim, transfer.heldBack)
      if (transfer.heldBack !== null) events.heldBack(claim, transfer.heldBack)
      return await this.#end(claim, outcome, transfer.progress, began)
    } finally {
      await transfer.close()
    }
  }

  async #end(
    claim: Claim,
    status: 'SUCCESS' | 'PAUSED' | 'CANCELLED',
    progress: Progress,
    began: number,
  ): Promise<Outcome> {
    failpoint('run.finishing')
    await this.#parts.queue.finish(claim, { status })
    this.#parts.events.runEnded(claim, { status }, progress, performance.now() - began)
    return status
  }

  async #runSteps(
    claim: Claim,
    transfer: Transfer,
    lease: Lease,
    isStopping: () => boolean,
  ): Promise<'SUCCESS' | 'PAUSED' | 'CANCELLED' | 'RELEASED'> {
    const size = new BatchSize(claim.pipeline.batchSize)
    for (const step of await this.#steps(claim, transfer)) {
      for (;;) {
        const wished = wish(lease.control)
        if (wished !== null) return wished
        if (isStopping()) return 'RELEASED'
        size.set(lease.control.batchSize)
        if (!(await this.#runBatch(claim, step, size))) break
      }
    }
    return 'SUCCESS'
  }

  /** A repair mends and nothing else; every other run first tries again what somebody wants out of the quarantine. */
  async #steps(claim: Claim, transfer: Transfer): Promise<Step[]> {
    const { queue } = this.#parts
    const publish = transfer.publish()
    const shown = publish === null ? [] : [publish]
    if (claim.trigger === 'repair') return [transfer.repair(await queue.toRepair(claim)), ...shown]
    const held = await queue.toReplay(claim)
    const replay = held.length > 0 ? [transfer.replay(held)] : []
    return [...replay, ...STRATEGIES[strategyOf(claim.pipeline)](transfer, claim.pipeline), ...shown]
  }

  async #runBatch(claim: Claim, step: Step, size: BatchSize): Promise<boolean> {
    const { events } = this.#parts
    const done = await step.next(size.rows)
    if (done === null) return false
    size.took(done.record.rows.read, done.record.durationMs)
    events.batchDone(claim, done.record, done.progress)
    if (done.record.rows.duplicates > 0) events.duplicates(claim, done.record.rows.duplicates)
    return true
  }

  #ledger(claim: Claim, lease: Lease): Ledger {
    const { queue, leaseSeconds, events } = this.#parts
    return {
      record: async (batch, progress, session) => {
        const control = await queue.record(claim, batch, progress, leaseSeconds, session)
        lease.renewed(control)
        return control
      },
      resetWish: () => queue.resetWish(claim),
      resetDone: () => queue.resetDone(claim),
      said: (line) => events.transformSaid(claim, line),
      martIsNew: () => events.martIsNew(claim),
      replayed: (rows, session) => queue.replayed(claim, rows, session),
      repaired: (rows, session) => queue.repaired(claim, rows, session),
      quarantine: async (rows, session) => {
        await queue.quarantine(claim, rows, session)
        events.quarantined(claim, rows.length, rows[0]!.reason)
      },
    }
  }
}

/** What people asked for, as the end of a run. */
function wish(control: Control): 'CANCELLED' | 'PAUSED' | null {
  return control.cancel ? 'CANCELLED' : control.pause ? 'PAUSED' : null
}
