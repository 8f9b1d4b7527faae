import type { Claim, Control } from '../model/claim.js'
import { VitrinaError } from '../model/errors.js'
import type { RunQueue } from '../ports/run-queue.js'

const FRESH_MS = 500

/** What a run knows about the right to work on it. */
export interface HeldLease {
  /** Aborts as soon as the lease is lost. */
  readonly signal: AbortSignal
  /** Pending requests, as far as known. */
  readonly control: Control
  /** The pending requests were looked up a moment ago. */
  readonly isFresh: boolean
  /** Throws if the lease has expired by the clock of this process. */
  require(): void
  /** Renews the lease and reads what users have requested. */
  refresh(): Promise<void>
  cut(reason: Error): void
  end(): void
}

/**
 * Keeps a claim alive during a long batch, and stops the run if that fails: `signal` aborts as soon as the lease is
 * lost or was not renewed in time. The database would reject the commit anyway; this saves the work, and keeps late
 * requests from servers that cannot detect them.
 */
export class Lease implements HeldLease {
  readonly #queue: Pick<RunQueue, 'renew'>
  readonly #claim: Claim
  readonly #seconds: number
  readonly #abort = new AbortController()
  #control: Control
  #timer: NodeJS.Timeout | null = null
  #renewedAt = performance.now()
  #ended = false

  constructor(queue: Pick<RunQueue, 'renew'>, claim: Claim, seconds: number) {
    this.#queue = queue
    this.#claim = claim
    this.#seconds = seconds
    this.#control = claim.control
    this.#schedule()
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  get control(): Control {
    return this.#control
  }

  get isFresh(): boolean {
    return performance.now() - this.#renewedAt < FRESH_MS
  }

  /** A batch renewed the lease itself. */
  renewed(control: Control): void {
    this.#control = control
    this.#renewedAt = performance.now()
  }

  /** A frozen process wakes up in the middle of anything, and continues before its timers do. */
  require(): void {
    if (this.#isOver(this.#renewedAt)) this.cut(notRenewed())
    this.signal.throwIfAborted()
  }

  async refresh(): Promise<void> {
    const asked = performance.now()
    const control = await this.#queue.renew(this.#claim, this.#seconds)
    if (!this.#isOver(asked)) this.renewed(control)
    this.signal.throwIfAborted()
  }

  cut(reason: Error): void {
    this.#abort.abort(reason)
  }

  end(): void {
    this.#ended = true
    if (this.#timer !== null) clearTimeout(this.#timer)
  }

  #schedule(): void {
    // A renewal in progress when the lease ended must not start another one: it would never stop.
    if (this.#ended) return
    this.#timer = setTimeout(() => void this.#beat(), (this.#seconds * 1000) / 3)
    this.#timer.unref()
  }

  async #beat(): Promise<void> {
    const asked = performance.now()
    try {
      const control = await this.#queue.renew(this.#claim, this.#seconds)
      // A response that is read a whole lease later is outdated.
      if (!this.#isOver(asked)) this.renewed(control)
    } catch (error) {
      if (error instanceof VitrinaError && error.class === 'stale') return this.cut(error)
      if (this.#isOver(this.#renewedAt)) return this.cut(notRenewed(error))
    }
    this.#schedule()
  }

  #isOver(since: number): boolean {
    return performance.now() - since > this.#seconds * 1000
  }
}

function notRenewed(cause?: unknown): VitrinaError {
  return new VitrinaError(
    'LEASE_LOST',
    'The lease could not be renewed in time.',
    'Check that the main database is reachable; recovery continues from the last checkpoint.',
    { cause },
  )
}

/** The leases of a group: it is paused and cancelled as a whole, and lost with one of its members. */
export class GroupLease implements HeldLease {
  readonly signal: AbortSignal
  readonly #leases: ReadonlyMap<string, Lease>

  constructor(queue: Pick<RunQueue, 'renew'>, claims: readonly Claim[], seconds: number) {
    this.#leases = new Map(claims.map((claim) => [claim.runId, new Lease(queue, claim, seconds)]))
    this.signal = AbortSignal.any(this.#all.map(({ signal }) => signal))
  }

  get #all(): Lease[] {
    return [...this.#leases.values()]
  }

  of({ runId }: Claim): Lease {
    return this.#leases.get(runId)!
  }

  get control(): Control {
    const all = this.#all.map(({ control }) => control)
    return {
      pause: all.some(({ pause }) => pause),
      cancel: all.some(({ cancel }) => cancel),
      batchSize: null,
    }
  }

  get isFresh(): boolean {
    return this.#all.every(({ isFresh }) => isFresh)
  }

  require(): void {
    for (const lease of this.#all) lease.require()
  }

  async refresh(): Promise<void> {
    for (const lease of this.#all) await lease.refresh()
  }

  cut(reason: Error): void {
    for (const lease of this.#all) lease.cut(reason)
  }

  end(): void {
    for (const lease of this.#all) lease.end()
  }
}
