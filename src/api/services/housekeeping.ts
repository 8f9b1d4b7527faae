import type { Journal } from '../../ports/journal.js'

const EVERY_MS = 10 * 60_000

export interface Retention {
  readonly eventsHours: number
  readonly runsDays: number
  readonly quarantineDays: number
}

/** Removes old events, old runs and settled rows of the quarantine now and then. Several APIs may do so at once: what is gone is gone. */
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
    // The next time comes soon enough; a database that is away is told by whoever really needs it.
    const { eventsHours, runsDays, quarantineDays } = this.#retention
    this.#work = this.#journal
      .forget(eventsHours)
      .then(() => this.#journal.forgetRuns(runsDays))
      .then(() => this.#journal.forgetSettledRows(quarantineDays))
      .catch(() => {})
  }
}
