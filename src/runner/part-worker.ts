import { setTimeout as wait } from 'node:timers/promises'
import type { Claim } from '../model/claim.js'
import { VitrinaError } from '../model/errors.js'
import { failpoint } from '../model/failpoints.js'
import type { PartClaim, PartRecord } from '../model/part.js'
import type { PartQueue, PartRequest } from '../ports/part-queue.js'
import type { RunQueue } from '../ports/run-queue.js'
import type { PartNotes, TransferFactory } from '../ports/transfer.js'
import type { Events } from '../telemetry/events.js'
import { Lease } from './lease.js'
import { LETS_GO, toRunError } from './retry.js'

export interface PartWorkerParts {
  readonly runnerId: string
  readonly parts: PartQueue
  readonly queue: Pick<RunQueue, 'quarantine' | 'checked' | 'spent'>
  readonly transfers: Pick<TransferFactory, 'openPart'>
  readonly events: Events
  readonly leaseSeconds: number
  readonly connectionLimits: PartRequest['limits']
}

/** A part that was handed back is not tried again at once: what it needs may be missing for a while. */
const LEAST_STAY_MS = 1_000
/** How long the holder of a run waits before it looks for a part again. */
const LOOK_EVERY_MS = 100

/** Executes parts of runs, those of this runner and of others. Losing a part costs its work only: the ledger decides. */
export class PartWorker {
  readonly #parts: PartWorkerParts
  readonly #leases = new Set<Lease>()

  constructor(parts: PartWorkerParts) {
    this.#parts = parts
  }

  /** Null: no part is free, or all that may be executed at the same time are. */
  claim(request: Pick<PartRequest, 'runId' | 'free'>): Promise<PartClaim | null> {
    const { parts, runnerId, leaseSeconds, connectionLimits: limits } = this.#parts
    return parts.claimPart({ runnerId, leaseSeconds, limits, ...request })
  }

  /** The holder of a run works on one of its parts, or waits for those that others execute. */
  async workFor(run: Claim, signal: AbortSignal): Promise<void> {
    const part = await this.claim({ runId: run.runId, free: null })
    if (part === null) await wait(LOOK_EVERY_MS, undefined, { signal }).catch(() => {})
    else await this.work(part, signal)
  }

  /** Waits until no runner works on the run: it is about to pause or to end. */
  async whenNoneIsBusy(run: Claim, signal: AbortSignal): Promise<void> {
    while ((await this.#parts.parts.busyParts(run)) > 0) await wait(LOOK_EVERY_MS, undefined, { signal })
  }

  /** An error of the part itself is recorded, and ends the attempt of the run. Throws if a connection was lost. */
  async work(part: PartClaim, signal?: AbortSignal): Promise<void> {
    const { parts, events, leaseSeconds } = this.#parts
    const since = performance.now()
    failpoint('part.claimed')
    const lease = new Lease({ renew: () => parts.renewPart(part, leaseSeconds) }, part, leaseSeconds)
    this.#leases.add(lease)
    try {
      const both = signal === undefined ? lease.signal : AbortSignal.any([lease.signal, signal])
      await this.#execute(part, lease, both)
    } catch (raised) {
      const error = toRunError(lease.signal.aborted ? lease.signal.reason : raised)
      events.partLeft(part, error)
      if (!LETS_GO.has(error.class)) return await parts.partFailed(part, error)
      const rest = LEAST_STAY_MS - (performance.now() - since)
      if (error.class !== 'release' && rest > 0) await wait(rest, undefined, { signal }).catch(() => {})
      await parts.releasePart(part)
      if (error.class !== 'stale') throw error
    } finally {
      lease.end()
      this.#leases.delete(lease)
    }
  }

  /** For parts that do not end in time when the runner stops. */
  cut(): void {
    for (const lease of this.#leases)
      lease.cut(
        new VitrinaError(
          'RUNNER_STOPPED',
          'The runner was stopped before the part ended.',
          'No action needed: any runner executes the part again.',
        ),
      )
  }

  async #execute(part: PartClaim, lease: Lease, signal: AbortSignal): Promise<void> {
    const { transfers, queue, events } = this.#parts
    const transfer = await transfers.openPart(part, this.#notes(part, lease), signal)
    try {
      const record = await transfer.run()
      events.partDone(part, record)
      const cost = await transfer.cost()
      if (cost === null) return
      // The run may have ended meanwhile: its cost is information only.
      await queue.spent(part, cost).catch(() => {})
      events.spent(part, cost)
    } finally {
      await transfer.close()
    }
  }

  #notes(part: PartClaim, lease: Lease): PartNotes {
    const { parts, queue, events, leaseSeconds } = this.#parts
    return {
      requireLease: () => lease.require(),
      require: async () => lease.renewed(await parts.renewPart(part, leaseSeconds)),
      done: (record: PartRecord, session) => parts.partDone(part, record, session),
      transformOutput: (line) => events.transformOutput(part, line),
      checked: async (results, options) => {
        await queue.checked(part, results, options)
        for (const result of results) events.checked(part, result)
      },
      quarantine: async (rows, session) => {
        await queue.quarantine(part, rows, session)
        events.quarantined(part, rows)
      },
    }
  }
}
