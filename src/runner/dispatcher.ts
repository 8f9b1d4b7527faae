import { setTimeout as wait } from 'node:timers/promises'
import type { Claim, Release } from '../model/claim.js'
import { type ErrorClass, VitrinaError, vtr } from '../model/errors.js'
import { failpoint } from '../model/failpoints.js'
import type { ExecutorParts, Outcome, PipelineExecutor } from './executor.js'
import { Lease } from './lease.js'
import { asVitrinaError, MAX_ATTEMPTS, RETRY_WAITS_MS, waitBeforeRetry } from './retry.js'

/** A pipeline that brought its runner down this often without a single batch in between is not given another one. */
const MAX_DEATHS = 3
/** How often a runner that lost the database tries to give its claim back before the lease does it for it. */
const RELEASE_EVERY_MS = 500
/** A run that was lost is given back at the earliest this long after it was taken: a database that is down for an hour
 *  would otherwise be tried a hundred times a second. */
const LEAST_STAY_MS = 1_000

/** The run is not this runner's to end: it failed by no fault of its own. */
const LETS_GO: ReadonlySet<ErrorClass> = new Set(['stale', 'lost', 'release'])

/** Sees one claimed pipeline through: retries what may pass, gives up on what cannot, and lets go of what is lost. */
export class PipelineDispatcher {
  readonly #parts: ExecutorParts
  readonly #executor: PipelineExecutor
  readonly #stop = new AbortController()
  readonly #leases = new Set<Lease>()

  constructor(parts: ExecutorParts, executor: PipelineExecutor) {
    this.#parts = parts
    this.#executor = executor
  }

  /** Every run ends its batch, keeps its checkpoint, and is given back. */
  stop(): void {
    this.#stop.abort()
  }

  /** For those that do not end in time. */
  cut(): void {
    for (const lease of this.#leases)
      lease.cut(
        new VitrinaError(
          'RUNNER_STOPPED',
          'The runner was stopped before the run ended.',
          'Nothing to do: any runner continues from the last checkpoint.',
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
      await this.#letGo(claim, lease, asVitrinaError(error), takenAt)
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
        const error = asVitrinaError(raised)
        if (LETS_GO.has(error.class)) throw error
        failures += 1
        if (error.class === 'stop' || failures >= MAX_ATTEMPTS) return this.#fail(attempt, error)
        attempt = { ...attempt, attempt: attempt.attempt + 1 }
        await this.#pauseBeforeRetry(attempt, failures, error, lease)
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
      const error = asVitrinaError(lease.signal.aborted ? lease.signal.reason : raised)
      events.attemptEnded(claim, error)
      throw error
    }
  }

  async #pauseBeforeRetry(claim: Claim, failures: number, error: VitrinaError, lease: Lease): Promise<void> {
    const waitMs = waitBeforeRetry(failures, this.#parts.retryWaitsMs ?? RETRY_WAITS_MS)
    await this.#parts.queue.retrying(claim, claim.attempt, {
      message: error.message,
      code: vtr(error.code),
      hint: error.hint,
    })
    this.#parts.events.retrying(claim, claim.attempt, waitMs, error)
    // A runner that stops does not wait: the next attempt gives the run back.
    const signal = AbortSignal.any([lease.signal, this.#stop.signal])
    await wait(waitMs, undefined, { signal }).catch(() => lease.signal.throwIfAborted())
  }

  async #fail(claim: Claim, error: VitrinaError): Promise<void> {
    const end = { status: 'FAILED', error: error.message, code: vtr(error.code), hint: error.hint } as const
    const totals = await this.#parts.queue.finish(claim, end)
    // Null only for a run that was about to succeed.
    if (totals !== null) this.#parts.events.runEnded(claim, end, totals)
  }

  /** The run ends here without a word in the history: somebody else has it, or will have it. */
  async #letGo(claim: Claim, lease: Lease, error: VitrinaError, takenAt: number): Promise<void> {
    if (error.class === 'stale') return this.#parts.events.leaseLost(claim)
    if (error.class === 'release') return this.#release(claim, lease, { end: 'given_back' })
    this.#parts.events.connectionLost(claim.pipeline.name, error)
    await this.#wait(LEAST_STAY_MS - (performance.now() - takenAt))
    await this.#release(claim, lease, this.#reasonFor(error))
  }

  /** A runner that is stopping ends what does not stop in time: that is not a lost connection. */
  #reasonFor(error: VitrinaError): Release {
    if (this.#stop.signal.aborted) return { end: 'given_back' }
    return { end: 'connection_lost', error: error.message, code: vtr(error.code), hint: error.hint }
  }

  /** As long as the lease holds it is worth trying: a run that is given back is taken up at once, not after the lease. */
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
    `The runner died ${claim.deaths} times in a row in pipeline "${claim.pipeline.name}" without committing a batch.`,
    'See the log and the memory of the runner; a smaller batch_size may help. Then run it again by hand.',
  )
}
