import { setTimeout as wait } from 'node:timers/promises'
import type { Claim, Release } from '../model/claim.js'
import { VitrinaError, vtr } from '../model/errors.js'
import { failpoint } from '../model/failpoints.js'
import { MemberFailure } from '../model/member-failure.js'
import type { AttemptOutcome, ExecutorParts, PipelineExecutor } from './executor.js'
import { GroupExecutor } from './group-executor.js'
import { GroupLease, type HeldLease, Lease } from './lease.js'
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

interface RunFailure {
  readonly error: VitrinaError
  readonly failures: number
  /** The member of the group that has failed; null: it concerns all of them. */
  readonly member: Claim | null
}

interface Loss {
  readonly error: VitrinaError
  readonly takenAt: number
}

/** Runs that are claimed, retried, ended and handed back together: one, or those of a group. The head is the first one. */
interface Unit {
  readonly claims: readonly Claim[]
  readonly lease: HeldLease
  readonly execute: (claims: readonly Claim[]) => Promise<AttemptOutcome>
}

/** Executes one claimed pipeline or group: retries temporary errors, fails permanent ones, and releases lost runs. */
export class PipelineDispatcher {
  readonly #parts: ExecutorParts
  readonly #executor: PipelineExecutor
  readonly #groups: GroupExecutor
  readonly #stop = new AbortController()
  readonly #leases = new Set<HeldLease>()

  constructor(parts: ExecutorParts, executor: PipelineExecutor) {
    this.#parts = parts
    this.#executor = executor
    this.#groups = new GroupExecutor(parts, executor)
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
    const { events } = this.#parts
    const unit = this.#unitOf(claim)
    const { claims, lease } = unit
    for (const one of claims) events.runStarted(one, one.recovered ? undefined : one.waitedMs)
    const takenAt = performance.now()
    this.#leases.add(lease)
    try {
      const died = claims.find(({ deaths }) => deaths >= MAX_DEATHS)
      if (died !== undefined) await this.#fail(claims, diedAgain(died), died)
      else await this.#attempts(unit)
    } catch (error) {
      await this.#letGo(unit, { error: toRunError(error), takenAt })
    } finally {
      lease.end()
      this.#leases.delete(lease)
      for (const one of claims) events.runLeft(one)
    }
  }

  #unitOf(claim: Claim): Unit {
    const { queue, leaseSeconds } = this.#parts
    const isStopping = () => this.#stop.signal.aborted
    if (claim.group === null) {
      const lease = new Lease(queue, claim, leaseSeconds)
      return {
        claims: [claim],
        lease,
        execute: ([one = claim]) => this.#executor.execute(one, lease, isStopping),
      }
    }
    const claims = claim.group
    const lease = new GroupLease(queue, claims, leaseSeconds)
    return { claims, lease, execute: (all) => this.#groups.execute({ claims: all, lease, isStopping }) }
  }

  async #attempts({ claims, lease, execute }: Unit): Promise<void> {
    let attempt = claims
    for (let failures = 0; ; ) {
      try {
        const outcome = await this.#attempt(attempt, { lease, execute })
        if (outcome === 'RELEASED') await this.#release({ claims: attempt, lease }, { end: 'given_back' })
        return
      } catch (raised) {
        const { error, member } = failureOf(raised)
        if (LETS_GO.has(error.class)) throw error
        failures += 1
        if (error.class === 'stop' || failures >= MAX_ATTEMPTS) return this.#fail(attempt, error, member)
        attempt = attempt.map((one) => ({ ...one, attempt: one.attempt + 1 }))
        await this.#pauseBeforeRetry(attempt, lease, { error, failures, member })
      }
    }
  }

  async #attempt(
    claims: readonly Claim[],
    { lease, execute }: Omit<Unit, 'claims'>,
  ): Promise<AttemptOutcome> {
    const { events } = this.#parts
    for (const claim of claims) events.attemptStarted(claim)
    try {
      const outcome = await execute(claims)
      for (const claim of claims) events.attemptEnded(claim, null)
      return outcome
    } catch (raised) {
      const cause = lease.signal.aborted ? lease.signal.reason : raised
      const { error, member } = failureOf(cause)
      for (const claim of claims) events.attemptEnded(claim, errorFor(claim, error, member))
      throw cause
    }
  }

  async #pauseBeforeRetry(
    claims: readonly Claim[],
    lease: HeldLease,
    { error, failures, member }: RunFailure,
  ): Promise<void> {
    const waitMs = waitBeforeRetry(failures, this.#parts.retryWaitsMs ?? RETRY_WAITS_MS)
    for (const claim of claims) {
      const { message, code, hint } = errorFor(claim, error, member)
      await this.#parts.queue.retrying(claim, claim.attempt, { message, code: vtr(code), hint })
      this.#parts.events.retrying(claim, waitMs, error)
    }
    // A stopping runner does not wait: the next attempt hands the run back.
    const signal = AbortSignal.any([lease.signal, this.#stop.signal])
    await wait(waitMs, undefined, { signal }).catch(() => lease.signal.throwIfAborted())
  }

  async #fail(claims: readonly Claim[], error: VitrinaError, member: Claim | null): Promise<void> {
    const { queue, events } = this.#parts
    const ends = claims.map((claim) => {
      const { message, code, hint } = errorFor(claim, error, member)
      return { claim, end: { status: 'FAILED', error: message, code: vtr(code), hint } as const }
    })
    const [first, second] = ends
    const totals =
      first !== undefined && second === undefined
        ? [await queue.finish(first.claim, first.end)]
        : await queue.finishGroup(ends)
    for (const [n, { claim, end }] of ends.entries()) {
      const total = totals?.[n] ?? null
      // Null only for a run that was about to succeed.
      if (total !== null) events.runEnded(claim, end, total)
    }
  }

  /** The run is left without an entry in the history: another runner holds it, or will hold it. */
  async #letGo({ claims, lease }: Unit, { error, takenAt }: Loss): Promise<void> {
    const { events } = this.#parts
    const [first] = claims
    // Of a group the other members may still be held.
    if (error.class === 'stale' && claims.length === 1) return events.leaseLost(first!)
    if (error.class === 'release' || error.class === 'stale')
      return this.#release({ claims, lease }, { end: 'given_back' })
    events.connectionLost(first!.pipeline.name, error)
    await this.#wait(LEAST_STAY_MS - (performance.now() - takenAt))
    await this.#release({ claims, lease }, this.#reasonFor(error))
  }

  /** A stopping runner terminates what does not stop in time: that is not a lost connection. */
  #reasonFor(error: VitrinaError): Release {
    if (this.#stop.signal.aborted) return { end: 'given_back' }
    return { end: 'connection_lost', error: error.message, code: vtr(error.code), hint: error.hint }
  }

  /** Worth trying as long as the lease holds: a run that is handed back is claimed at once, not after the lease. */
  async #release({ claims, lease }: Omit<Unit, 'execute'>, release: Release): Promise<void> {
    const { queue, events, leaseSeconds } = this.#parts
    lease.end()
    for (const until = performance.now() + leaseSeconds * 1000; performance.now() < until; ) {
      try {
        const released = await queue.release(claims, release)
        for (const [n, claim] of claims.entries()) {
          if (released[n] === true) events.runReleased(claim, release)
          else events.leaseLost(claim)
        }
        return
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

function failureOf(raised: unknown): Pick<RunFailure, 'error' | 'member'> {
  if (raised instanceof MemberFailure) return { error: raised.cause, member: raised.claim }
  return { error: toRunError(raised), member: null }
}

/** The error of a run: its own, or that of the member of its group that has failed. */
function errorFor(claim: Claim, error: VitrinaError, member: Claim | null): VitrinaError {
  if (member === null || member.runId === claim.runId) return error
  return new VitrinaError(
    'GROUP_FAILED',
    `The group was not published: pipeline "${member.pipeline.name}" failed with ${vtr(error.code)}: ${error.message}`,
    `Fix "${member.pipeline.name}" and run it: the whole group runs again.`,
    { cause: error },
  )
}

function diedAgain(claim: Claim): VitrinaError {
  return new VitrinaError(
    'RUNNER_DIED_AGAIN',
    `Runners died ${claim.deaths} times in a row while running pipeline "${claim.pipeline.name}", without committing a batch.`,
    'Check the log and the memory of the runner; a smaller batch_size may help. Then start the run again manually.',
  )
}
