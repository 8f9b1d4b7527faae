import type { Journal } from '../../ports/journal.js'

const EVERY_MS = 10 * 60_000

export interface Retention {
  readonly eventsHours: number
  readonly runsDays: number
  readonly quarantineDays: number
}

/**
 * Periodically removes old events, old runs and settled quarantined rows. Several APIs may do so at once: deleting
 * twice is harmless.
 */
export class Housekeeping {
  readonly #journal: Journal
  readonly #retention: Retention
  #timer: NodeJS.Timeout | null = null
  #work: Promise<void> = Promise.resolve()

  constructor(journal: Journal, retention: Retention) {
    this.#journal = journal
    this.#retention = retention
  }

  start(): void {
    this.#timer = setInterval(() => this.#forget(), EVERY_MS)
    this.#timer.unref()
    this.#forget()
  }

  async stop(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer)
    await this.#work
  }

  #forget(): void {
    // The next round comes soon enough; an unavailable database is reported by requests that need it.
    const { eventsHours, runsDays, quarantineDays } = this.#retention
    this.#work = this.#journal
      .forget(eventsHours)
      .then(() => this.#journal.forgetRuns(runsDays))
      .then(() => this.#journal.forgetSettledRows(quarantineDays))
      .catch(() => {})
  }
}
