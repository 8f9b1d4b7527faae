import { setTimeout as wait } from 'node:timers/promises'
import type { Claim, Release } from '../model/claim.js'
import { VitrinaError, vtr } from '../model/errors.js'
import { failpoint } from '../model/failpoints.js'
import type { ExecutorParts, Outcome, PipelineExecutor } from './executor.js'
import { Lease } from './lease.js'
import { LETS_GO, MAX_ATTEMPTS, RETRY_WAITS_MS, toRunError, waitBeforeRetry } from './retry.js'

/** A pipeline that killed its runner this often without a committed batch in between is not claimed again. */
const MAX_DEATHS = 3
/** How often a runner that lost the database tries to hand its claim back before the lease expires. */
const RELEASE_EVERY_MS = 500
/**
 * A lost run is handed back at the earliest this long after it was claimed: otherwise a database that is down for an
 * hour would be tried a hundred times a second.
 */
const LEAST_STAY_MS = 1_000

interface Failure {
  readonly error: VitrinaError
  readonly failures: number
}

interface Loss {
  readonly error: VitrinaError
  readonly takenAt: number
}

/** Executes one claimed pipeline: retries temporary errors, fails permanent ones, and releases lost runs. */
export class PipelineDispatcher {
  readonly #parts: ExecutorParts
  readonly #executor: PipelineExecutor
  readonly #stop = new AbortController()
  readonly #leases = new Set<Lease>()

  constructor(parts: ExecutorParts, executor: PipelineExecutor) {
    this.#parts = parts
    this.#executor = executor
  }

  /** Every run finishes its batch, keeps its checkpoint, and is handed back. */
  stop(): void {
    this.#stop.abort()
  }

  /** For runs that do not end in time. */
  cut(): void {
    for (const lease of this.#leases)
      lease.cut(
        new VitrinaError(
          'RUNNER_STOPPED',
          'The runner was stopped before the run ended.',
          'No action needed: any runner continues from the last checkpoint.',
        ),
      )
  }

  async dispatch(claim: Claim): Promise<void> {
    failpoint('run.claimed')
    this.#parts.events.runStarted(claim, claim.recovered ? undefined : claim.waitedMs)
    const takenAt = performance.now()
    const lease = new Lease(this.#parts.queue, claim, this.#parts.leaseSeconds)
    this.#leases.add(lease)
    try {
      if (claim.deaths >= MAX_DEATHS) await this.#fail(claim, diedAgain(claim))
      else await this.#attempts(claim, lease)
    } catch (error) {
      await this.#letGo(claim, lease, { error: toRunError(error), takenAt })
    } finally {
      lease.end()
      this.#leases.delete(lease)
      this.#parts.events.runLeft(claim)
    }
  }

  async #attempts(claim: Claim, lease: Lease): Promise<void> {
    let attempt = claim
    for (let failures = 0; ; ) {
      try {
        const outcome = await this.#attempt(attempt, lease)
        if (outcome === 'RELEASED') await this.#release(attempt, lease, { end: 'given_back' })
        return
      } catch (raised) {
        const error = toRunError(raised)
        if (LETS_GO.has(error.class)) throw error
        failures += 1
        if (error.class === 'stop' || failures >= MAX_ATTEMPTS) return this.#fail(attempt, error)
        attempt = { ...attempt, attempt: attempt.attempt + 1 }
        await this.#pauseBeforeRetry(attempt, lease, { error, failures })
      }
    }
  }

  async #attempt(claim: Claim, lease: Lease): Promise<Outcome> {
    const { events } = this.#parts
    events.attemptStarted(claim)
    try {
      const outcome = await this.#executor.execute(claim, lease, () => this.#stop.signal.aborted)
      events.attemptEnded(claim, null)
      return outcome
    } catch (raised) {
      const error = toRunError(lease.signal.aborted ? lease.signal.reason : raised)
      events.attemptEnded(claim, error)
      throw error
    }
  }

  async #pauseBeforeRetry(claim: Claim, lease: Lease, { error, failures }: Failure): Promise<void> {
    const waitMs = waitBeforeRetry(failures, this.#parts.retryWaitsMs ?? RETRY_WAITS_MS)
    await this.#parts.queue.retrying(claim, claim.attempt, {
      message: error.message,
      code: vtr(error.code),
      hint: error.hint,
    })
    this.#parts.events.retrying(claim, waitMs, error)
    // A stopping runner does not wait: the next attempt hands the run back.
    const signal = AbortSignal.any([lease.signal, this.#stop.signal])
    await wait(waitMs, undefined, { signal }).catch(() => lease.signal.throwIfAborted())
  }

  async #fail(claim: Claim, error: VitrinaError): Promise<void> {
    const end = { status: 'FAILED', error: error.message, code: vtr(error.code), hint: error.hint } as const
    const totals = await this.#parts.queue.finish(claim, end)
    // Null only for a run that was about to succeed.
    if (totals !== null) this.#parts.events.runEnded(claim, end, totals)
  }

  /** The run is left without an entry in the history: another runner holds it, or will hold it. */
  async #letGo(claim: Claim, lease: Lease, { error, takenAt }: Loss): Promise<void> {
    if (error.class === 'stale') return this.#parts.events.leaseLost(claim)
    if (error.class === 'release') return this.#release(claim, lease, { end: 'given_back' })
    this.#parts.events.connectionLost(claim.pipeline.name, error)
    await this.#wait(LEAST_STAY_MS - (performance.now() - takenAt))
    await this.#release(claim, lease, this.#reasonFor(error))
  }

  /** A stopping runner terminates what does not stop in time: that is not a lost connection. */
  #reasonFor(error: VitrinaError): Release {
    if (this.#stop.signal.aborted) return { end: 'given_back' }
    return { end: 'connection_lost', error: error.message, code: vtr(error.code), hint: error.hint }
  }

  /** Worth trying as long as the lease holds: a run that is handed back is claimed at once, not after the lease. */
  async #release(claim: Claim, lease: Lease, release: Release): Promise<void> {
    const { queue, events, leaseSeconds } = this.#parts
    lease.end()
    for (const until = performance.now() + leaseSeconds * 1000; performance.now() < until; ) {
      try {
        if (await queue.release(claim, release)) return events.runReleased(claim, release)
        return events.leaseLost(claim)
      } catch {
        if (this.#stop.signal.aborted) return
        await this.#wait(RELEASE_EVERY_MS)
      }
    }
  }

  /** Until the runner stops. */
  async #wait(milliseconds: number): Promise<void> {
    if (milliseconds > 0) await wait(milliseconds, undefined, { signal: this.#stop.signal }).catch(() => {})
  }
}

function diedAgain(claim: Claim): VitrinaError {
  return new VitrinaError(
    'RUNNER_DIED_AGAIN',
    `Runners died ${claim.deaths} times in a row in pipeline "${claim.pipeline.name}" without committing a batch.`,
    'Check the log and the memory of the runner; a smaller batch_size may help. Then start the run again manually.',
  )
}
