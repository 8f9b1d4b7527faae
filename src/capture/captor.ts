import { setTimeout as delay } from 'node:timers/promises'
import { VitrinaError } from '../model/errors.js'
import { databaseError } from '../postgres/errors.js'
import { Session } from '../postgres/session.js'
import { sqlstateOf } from '../sql/sqlstate.js'
import type { CaptorOptions } from './captor-options.js'
import { CaptureWork } from './capture-work.js'
import { ChangeLog } from './change-log.js'
import type { Head } from './head.js'
import { HeadLease } from './head-lease.js'
import { dropSlot, slotState } from './slot.js'

const RETRY_MS = 1_000
const SLOWEST_RETRY_MS = 15_000
const RELEASE_MS = 3_000

/**
 * Writes the change log of one source database, when it holds the lease on its head; otherwise waits for it.
 *
 *   claim ─► slot usable? ── no ──► new slot, new generation
 *     ▲           │ yes                   │
 *     │           ▼                       │
 *     │      receive ─► {entries, upto} in one transaction, under the fence ─► acknowledge ─► receive …
 *     └── error, lost lease, no pipeline left (slot dropped)
 */
export class Captor {
  readonly #options: CaptorOptions
  readonly #stopping = new AbortController()
  #running: Promise<void> = Promise.resolve()
  /** As last seen, to guard the disk of the source while the main database does not answer. */
  #slot: string | null = null
  #lastFailure = ''

  constructor(options: CaptorOptions) {
    this.#options = options
  }

  start(): void {
    this.#running = this.#loopUntilStopped()
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('The captor is stopping.'))
    await this.#running
  }

  async #loopUntilStopped(): Promise<void> {
    const { signal } = this.#stopping
    let pause = RETRY_MS
    while (!signal.aborted) {
      const isFine = await this.#attempt()
      pause = isFine ? RETRY_MS : Math.min(pause * 2, SLOWEST_RETRY_MS)
      await delay(pause, undefined, { signal }).catch(() => {})
    }
  }

  /** False: it failed, and the next attempt may wait longer. */
  async #attempt(): Promise<boolean> {
    try {
      await this.#claimAndCapture()
      return true
    } catch (error) {
      if (this.#stopping.signal.aborted) return true
      await this.#guardDisk().catch(() => {})
      return this.#report(error)
    }
  }

  #report(error: unknown): boolean {
    const { events } = this.#options
    const known = asCaptureError(error)
    if (known.class === 'stale') events.leaseLost(this.#slot ?? '')
    // Once for each failure, not once a second.
    else if (known.message !== this.#lastFailure) events.failed(this.#slot ?? '', known)
    this.#lastFailure = known.message
    return known.class === 'stale'
  }

  async #claimAndCapture(): Promise<void> {
    const { mainUrl, head, owner, leaseSeconds } = this.#options
    const main = await Session.open(mainUrl, 'vitrina-captor', laterThan(this.#stopping.signal))
    try {
      const log = new ChangeLog(main, head, owner)
      const claimed = await log.claim(leaseSeconds)
      if (claimed !== null) await this.#hold(log, claimed)
    } finally {
      await main.close()
    }
  }

  async #hold(log: ChangeLog, head: Head): Promise<void> {
    const { mainUrl, leaseSeconds } = this.#options
    this.#slot = head.slot
    const lease = new HeadLease(log, leaseSeconds)
    const signal = AbortSignal.any([this.#stopping.signal, lease.signal])
    try {
      await lease.start(mainUrl, this.#stopping.signal)
      await new CaptureWork(this.#options, log, signal).run(head)
      this.#lastFailure = ''
    } catch (error) {
      // What cut the sessions is the cause, not the errors of the cut sessions.
      if (lease.signal.aborted) throw lease.signal.reason
      const { code, message, hint } = asCaptureError(error)
      if (!this.#stopping.signal.aborted)
        await log.fail({ code, message: `${message} ${hint}` }).catch(() => {})
      throw error
    } finally {
      await lease.end()
      await log.release().catch(() => {})
    }
  }

  /** The main database does not answer, or the log cannot be written: the source must not run out of disk because of it. */
  async #guardDisk(): Promise<void> {
    const { sourceUrl, keepBytes } = this.#options
    if (this.#slot === null) return
    const session = await Session.open(sourceUrl, 'vitrina-captor', this.#stopping.signal)
    try {
      const { heldBytes } = await slotState(session, this.#slot)
      if (heldBytes !== null && heldBytes > keepBytes) {
        await dropSlot(session, this.#slot)
        this.#options.events.gaveUp(this.#slot, { held_bytes: heldBytes, limit_bytes: keepBytes })
      }
    } finally {
      await session.close()
    }
  }
}

/** Aborts some time after the other: a captor that stops still releases its lease. */
function laterThan(signal: AbortSignal): AbortSignal {
  const later = new AbortController()
  signal.addEventListener('abort', () => void setTimeout(() => later.abort(), RELEASE_MS).unref())
  return later.signal
}

const INSUFFICIENT_PRIVILEGE = '42501'

function asCaptureError(error: unknown): VitrinaError {
  if (error instanceof VitrinaError) return error
  if (sqlstateOf(error) === INSUFFICIENT_PRIVILEGE)
    return new VitrinaError(
      'CAPTURE_UNAVAILABLE',
      `The source refuses to capture changes: ${(error as Error).message}.`,
      'Use a login with REPLICATION: "vitrina sources prepare" prints the statement for an administrator of the source.',
      { cause: error, sqlstate: INSUFFICIENT_PRIVILEGE },
    )
  return databaseError(error, 'Capturing changes', 'source')
}
