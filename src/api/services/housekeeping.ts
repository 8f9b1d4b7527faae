import type { Journal } from '../../ports/journal.js'

const EVERY_MS = 10 * 60_000

/** Forgets old events now and then. Several APIs may do so at once: what is gone is gone. */
export class Housekeeping {
  readonly #journal: Journal
  readonly #hours: number
  #timer: NodeJS.Timeout | null = null
  #work: Promise<void> = Promise.resolve()

  constructor(journal: Journal, hours: number) {
    this.#journal = journal
    this.#hours = hours
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
    this.#work = this.#journal.forget(this.#hours).catch(() => {})
  }
}
