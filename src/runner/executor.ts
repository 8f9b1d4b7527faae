import type { Claim, Control, EndNotes, Measured, RunEnd } from '../model/claim.js'
import { VitrinaError } from '../model/errors.js'
import { failpoint } from '../model/failpoints.js'
import { isLive, strategyOf } from '../model/pipeline.js'
import { type HeldRow, type RepairKey, type RowCounts, rowsWritten } from '../model/run.js'
import type { PartEngine } from '../ports/part-engine.js'
import type { PartQueue } from '../ports/part-queue.js'
import type { Reconciler } from '../ports/reconciler.js'
import type { RunQueue } from '../ports/run-queue.js'
import {
  IDLE,
  type Idle,
  type Ledger,
  OPEN_PARTS,
  type OpenParts,
  type PartBook,
  type Step,
  type Transfer,
  type TransferFactory,
} from '../ports/transfer.js'
import type { Events } from '../telemetry/events.js'
import { BatchSize } from './batch-size.js'
import { EngineCrew } from './engine-crew.js'
import type { GroupLease, HeldLease, Lease } from './lease.js'
import type { PartWorker } from './part-worker.js'
import { PlanNote } from './plan-note.js'
import { LETS_GO, toRunError } from './retry.js'
import { groupSteps, STRATEGIES } from './strategies.js'

export interface ExecutorParts {
  readonly queue: RunQueue
  readonly parts: PartQueue
  readonly worker: PartWorker
  readonly engine: PartEngine
  readonly transfers: TransferFactory
  /** Compares repaired rows again. */
  readonly reconciler: Pick<Reconciler, 'prove'>
  readonly events: Events
  readonly leaseSeconds: number
  /** The waits between attempts, for tests; not given: those of the product. */
  readonly retryWaitsMs?: readonly number[]
}

interface Attempted {
  readonly claim: Claim
  readonly transfer: Transfer
  readonly lease: Lease
}

/** What the steps of an attempt have in common. */
interface Round {
  readonly lease: HeldLease
  readonly size: BatchSize
  readonly crew: EngineCrew | null
  readonly isStopping: () => boolean
  /** Called with what reports a batch, once it is written. */
  readonly report: (report: () => void) => void
}

/** One member of a group, within the transaction of the group. */
export interface MemberRound extends Pick<Round, 'isStopping' | 'report'> {
  readonly lease: GroupLease
  readonly repairs: readonly RepairKey[]
}

/** How an attempt went: it ended the run, or left it unfinished for the next runner because this one is stopping. */
export type AttemptOutcome = RunEnd['status'] | 'RELEASED'

/**
 * Runs one attempt of one claimed pipeline: chooses the strategy, moves its batches, checks for requests between them,
 * and sets the final status. The one place where all variants of execution meet.
 */
export class PipelineExecutor {
  readonly #parts: ExecutorParts

  constructor(parts: ExecutorParts) {
    this.#parts = parts
  }

  async execute(claim: Claim, lease: Lease, isStopping: () => boolean): Promise<AttemptOutcome> {
    const { queue, transfers, events } = this.#parts
    // Requested before the run began, or while no runner held it: nothing has to be opened.
    const early = requestedEnd(lease.control)
    if (early !== null) {
      await this.#end(claim, early)
      return early
    }
    const crew = this.#crew(claim)
    const asked = this.#toReplay(claim)
    asked.catch(() => {})
    const transfer = await transfers.open(claim, this.ledger(claim, lease, crew), lease.signal)
    const note = new PlanNote(transfer.plan, (plan) => queue.planned(claim, plan))
    let isNoteable = true
    try {
      failpoint('run.prepared')
      const held = await asked
      events.runPlanned(claim, transfer.plan)
      const size = new BatchSize(claim.pipeline.batchSize, transfer.batchMs)
      const first = this.#steps({ claim, transfer, lease }, held)
      for (let steps = first; ; steps = this.#repairs({ claim, transfer, lease })) {
        const report = (done: () => void) => done()
        const outcome = await this.#runSteps(claim, steps, { lease, size, crew, isStopping, report })
        if (outcome === 'RELEASED') return outcome
        await crew?.end()
        // Runners that work on parts of the run could not commit them once it has ended.
        if (outcome !== 'SUCCESS') await this.#parts.worker.whenNoneIsBusy(claim, lease.signal)
        const measured = await this.#measure(claim, transfer)
        const isEnded = await this.#end(claim, outcome, { plan: await note.toNote(), measured })
        note.noted()
        if (isEnded) return outcome
      }
    } catch (error) {
      isNoteable = !LETS_GO.has(toRunError(error).class)
      throw error
    } finally {
      await note.settle(isNoteable)
      await crew?.end()
      await transfer.close()
    }
  }

  /** Computes one member of a group. Nothing is visible or recorded before the group is published. */
  async compute(
    claim: Claim,
    transfer: Transfer,
    { lease, repairs, ...round }: MemberRound,
  ): Promise<AttemptOutcome> {
    const { queue, events } = this.#parts
    const { plan } = transfer
    const [held] = await Promise.all([queue.toReplay(claim), queue.planned(claim, plan)])
    events.runPlanned(claim, plan)
    const size = new BatchSize(claim.pipeline.batchSize, transfer.batchMs)
    const steps = [
      ...(held.length > 0 ? [transfer.replay(held)] : []),
      ...groupSteps(transfer, claim.pipeline),
      ...(repairs.length > 0 ? [transfer.repair(repairs)] : []),
      ...some(transfer.check()),
    ]
    return this.#runSteps(claim, steps, { ...round, lease, size, crew: null })
  }

  /** Null: runners execute the parts. */
  #crew(claim: Claim): EngineCrew | null {
    return claim.pipeline.engine === 'local' ? null : new EngineCrew(claim, this.#parts)
  }

  async #measure(claim: Claim, transfer: Transfer): Promise<Measured> {
    const { events } = this.#parts
    const { heldBack } = transfer
    const cost = await transfer.cost()
    if (heldBack !== null) events.heldBack(claim, heldBack)
    if (cost !== null) events.spent(claim, cost)
    return { heldBack, cost }
  }

  /** False: a repair has just been requested, so the run continues. */
  async #end(claim: Claim, status: 'SUCCESS' | 'PAUSED' | 'CANCELLED', notes?: EndNotes): Promise<boolean> {
    failpoint('run.finishing')
    const totals = await this.#parts.queue.finish(claim, { status }, notes)
    failpoint('run.finished')
    if (totals === null) return false
    this.#parts.events.runEnded(claim, { status }, totals)
    return true
  }

  async #runSteps(
    claim: Claim,
    steps: AsyncIterable<Step> | Iterable<Step>,
    { lease, size, crew, isStopping, report }: Round,
  ): Promise<'SUCCESS' | 'PAUSED' | 'CANCELLED' | 'RELEASED'> {
    for await (const step of steps) {
      for (;;) {
        const requested = requestedEnd(lease.control)
        if (requested !== null) return requested
        if (isStopping()) return 'RELEASED'
        size.set(lease.control.batchSize)
        const done = await this.#runBatch(claim, step, { size, report })
        if (done === OPEN_PARTS) await this.#workOnParts(claim, lease, crew)
        if (done === IDLE || (done === OPEN_PARTS && !lease.isFresh)) await lease.refresh()
        if (done === false) break
      }
    }
    return 'SUCCESS'
  }

  async #workOnParts(claim: Claim, lease: HeldLease, crew: EngineCrew | null): Promise<void> {
    try {
      if (crew === null) await this.#parts.worker.workFor(claim, lease.signal)
      else await crew.workFor(lease.signal)
    } catch (error) {
      // A successor ends the sessions of this run: then the run is lost, not a connection.
      await lease.refresh()
      throw error
    }
  }

  /** A repair run only repairs; every other run first retries the rows that are to be replayed from the quarantine. */
  async *#steps(attempt: Attempted, held: readonly HeldRow[]): AsyncGenerator<Step> {
    const { claim, transfer } = attempt
    if (claim.trigger !== 'repair') {
      if (held.length > 0) yield transfer.replay(held)
      yield* STRATEGIES[strategyOf(claim.pipeline)](transfer, claim.pipeline)
      yield* some(transfer.publish())
    }
    const check = claim.trigger === 'repair' ? null : transfer.check()
    // The statement that ends the run looks for rows to repair too. Only checks have to come after them.
    if (claim.trigger === 'repair' || check !== null) yield* this.#repairs(attempt)
    yield* some(check)
  }

  async #toReplay(claim: Claim): Promise<HeldRow[]> {
    return claim.trigger === 'repair' ? [] : this.#parts.queue.toReplay(claim)
  }

  /** Includes repairs requested during the run. Repaired rows are compared again. */
  async *#repairs({ claim, transfer, lease }: Attempted): AsyncGenerator<Step> {
    const { queue } = this.#parts
    for (let asked = await queue.toRepair(claim); asked.length > 0; asked = await queue.toRepair(claim)) {
      yield transfer.repair(asked)
      yield* some(transfer.publish())
      await this.prove(claim, asked, lease.signal)
    }
  }

  /** Compares repaired rows again. */
  async prove(claim: Claim, repaired: readonly RepairKey[], signal: AbortSignal): Promise<void> {
    const { reconciler, events } = this.#parts
    const proof = await reconciler.prove(
      claim.pipeline,
      repaired.map(({ key }) => key),
      signal,
    )
    events.repairProved(claim, proof)
    if (proof.differ === 0 || claim.trigger !== 'repair') return
    throw new VitrinaError(
      'REPAIR_INCOMPLETE',
      `${proof.differ} of ${repaired.length} rows still differ from the source after the repair, for example (${proof.keys[0]!.join(', ')}).`,
      'Check the quarantine: the mart may reject these rows. Then check whether another session writes to the mart.',
    )
  }

  async #runBatch(
    claim: Claim,
    step: Step,
    { size, report }: Pick<Round, 'size' | 'report'>,
  ): Promise<boolean | Idle | OpenParts> {
    const { events } = this.#parts
    const done = await step.next(size.rows)
    if (done === null) return false
    if (done === IDLE || done === OPEN_PARTS) return done
    size.took(done.record.rows.read, done.record.durationMs)
    // The record of a batch in another database precedes its commit: a follower may have started in between.
    if (changedElsewhere(claim, done.record.rows)) await this.#parts.queue.changed(claim)
    report(() => {
      events.batchDone(claim, done.record, done)
      if (done.record.rows.duplicates > 0) events.duplicates(claim, done.record.rows.duplicates)
    })
    return true
  }

  #partBook(claim: Claim, crew: EngineCrew | null): PartBook {
    const { parts, events } = this.#parts
    return {
      freeSlots: () => parts.freeSlots(),
      partsOf: (runId) => parts.partsOf(runId),
      store: (all) => parts.storeParts(claim, all),
      hasEarlierClaims: async () => (await parts.earlierClaims(claim)) > 0,
      open: async (plan) => {
        await parts.openParts(claim, plan)
        crew?.opened(plan)
        events.partsOpened(claim, plan)
      },
      states: () => parts.partStates(claim),
      continued: (done, total) => events.partsContinued(claim, done, total),
    }
  }

  /** Where the transfer of a claim records what it does. */
  ledger(claim: Claim, lease: Lease, crew: EngineCrew | null): Ledger {
    const { queue, leaseSeconds, events } = this.#parts
    return {
      record: async (batch, progress, session) => {
        const control = await queue.record(claim, batch, { progress, leaseSeconds, session })
        lease.renewed(control)
        return control
      },
      reads: (tables) => queue.reads(claim, tables),
      parts: this.#partBook(claim, crew),
      requireLease: () => lease.require(),
      requestedReset: () => queue.requestedReset(claim),
      resetApplied: () => queue.resetDone(claim),
      transformOutput: (line) => events.transformOutput(claim, line),
      everyRowComputed: (reason) => events.everyRowComputed(claim, reason),
      martRecreated: () => events.martRecreated(claim),
      hasRefusedRows: () => queue.hasRefusedRows(claim),
      auditFailed: (audit) => events.auditFailed(claim, audit),
      checked: async (results, options) => {
        await queue.checked(claim, results, options)
        for (const result of results) events.checked(claim, result)
      },
      usualRows: (check) => queue.usualRows(claim, check),
      replayed: (rows, session) => queue.replayed(claim, rows, session),
      repaired: (rows, session) => queue.repaired(claim, rows, session),
      quarantine: async (rows, session) => {
        await queue.quarantine(claim, rows, session)
        events.quarantined(claim, rows)
      },
    }
  }
}

/** The run of a live pipeline does not end: its followers are due after each change. */
function changedElsewhere({ pipeline }: Claim, rows: RowCounts): boolean {
  return isLive(pipeline) && pipeline.targetConnection !== null && rowsWritten(rows) + rows.deleted > 0
}

function some(step: Step | null): Step[] {
  return step === null ? [] : [step]
}

/** The end of a run that was requested. */
export function requestedEnd(control: Control): 'CANCELLED' | 'PAUSED' | null {
  return control.cancel ? 'CANCELLED' : control.pause ? 'PAUSED' : null
}
