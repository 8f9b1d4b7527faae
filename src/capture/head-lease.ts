import { VitrinaError } from '../model/errors.js'
import { Session } from '../postgres/session.js'
import type { ChangeLog } from './change-log.js'

/**
 * Keeps a claim on a head alive. `signal` aborts when the lease is lost or could not be renewed in time. The fence would
 * refuse a late write anyway; this spares the work and frees the slot for the next holder.
 */
export class HeadLease {
  readonly #log: ChangeLog
  readonly #seconds: number
  readonly #abort = new AbortController()
  #session: Session | null = null
  #timer: NodeJS.Timeout | null = null
  #beating: Promise<void> = Promise.resolve()
  #renewedAt = performance.now()

  constructor(log: ChangeLog, seconds: number) {
    this.#log = log
    this.#seconds = seconds
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  async start(mainUrl: string, signal: AbortSignal): Promise<void> {
    this.#session = await Session.open(mainUrl, 'vitrina-captor', signal)
    this.#timer = setInterval(
      () => {
        this.#beating = this.#beat(this.#session!)
      },
      (this.#seconds * 1000) / 3,
    )
    this.#timer.unref()
  }

  async end(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer)
    await this.#beating
    await this.#session?.close()
  }

  async #beat(session: Session): Promise<void> {
    const asked = performance.now()
    try {
      await this.#log.renew(session, this.#seconds)
      this.#renewedAt = asked
    } catch (error) {
      if (error instanceof VitrinaError && error.class === 'stale') this.#abort.abort(error)
    }
    if (performance.now() - this.#renewedAt > this.#seconds * 1000) this.#abort.abort(notRenewed())
  }
}

function notRenewed(): VitrinaError {
  return new VitrinaError(
    'LEASE_LOST',
    'The lease on the change log could not be renewed in time.',
    'Check that the main database is reachable. The next holder resumes where the log ends.',
  )
}
