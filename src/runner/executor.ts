import type { Claim, RunEnd } from '../model/claim.js'
import { VitrinaError } from '../model/errors.js'
import { failpoint } from '../model/failpoints.js'
import { type Pipeline, strategyOf } from '../model/pipeline.js'
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
    requireKnownTransforms(claim.pipeline)
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
      failpoint('run.finishing')
      await queue.finish(claim, { status: outcome })
      events.runEnded(claim, { status: outcome }, transfer.progress, performance.now() - began)
      return outcome
    } finally {
      await transfer.close()
    }
  }

  async #runSteps(claim: Claim, transfer: Transfer, lease: Lease, isStopping: () => boolean): Promise<'SUCCESS' | 'PAUSED' | 'CANCELLED' | 'RELEASED'> {
    const size = new BatchSize(claim.pipeline.batchSize)
    for (const step of STRATEGIES[strategyOf(claim.pipeline)](transfer, claim.pipeline)) {
      for (;;) {
        if (lease.control.cancel) return 'CANCELLED'
        if (lease.control.pause) return 'PAUSED'
        if (isStopping()) return 'RELEASED'
        size.set(lease.control.batchSize)
        if (!(await this.#runBatch(claim, step, size))) break
      }
    }
    return 'SUCCESS'
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
      quarantine: async (rows, session) => {
        await queue.quarantine(claim, rows, session)
        events.quarantined(claim, rows.length, rows[0]!.reason)
      },
    }
  }
}

/** R4.9: only functions that were registered beforehand can be named. */
function requireKnownTransforms(pipeline: Pipeline): void {
  const transform = pipeline.tasks.find((task) => task.taskType === 'PYTHON')
  if (transform !== undefined) {
    throw new VitrinaError('PIPELINE_INVALID', `Task ${transform.orderIndex} names the transform "${transform.body}", but no transform is registered.`, 'Register it, or take the task out of the plan.')
  }
}
