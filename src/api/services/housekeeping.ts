import type { CheckStore } from '../../ports/check-store.js'
import type { Journal } from '../../ports/journal.js'
import type { NotificationStore } from '../../ports/notification-store.js'

const EVERY_MS = 10 * 60_000

interface HousekeepingStores {
  readonly journal: Journal
  readonly notifications: Pick<NotificationStore, 'forgetNotifications'>
  readonly checks: Pick<CheckStore, 'forgetResults'>
}

export interface Retention {
  readonly eventsHours: number
  readonly runsDays: number
  readonly quarantineDays: number
}

/**
 * Periodically removes old events, old runs, settled quarantined rows, old notifications and old results of checks.
 * Several APIs may do so at once: deleting twice is harmless.
 */
export class Housekeeping {
  readonly #stores: HousekeepingStores
  readonly #retention: Retention
  #timer: NodeJS.Timeout | null = null
  #work: Promise<void> = Promise.resolve()

  constructor(stores: HousekeepingStores, retention: Retention) {
    this.#stores = stores
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
    const { journal, notifications, checks } = this.#stores
    this.#work = journal
      .forget(eventsHours)
      .then(() => journal.forgetRuns(runsDays))
      .then(() => journal.forgetSettledRows(quarantineDays))
      .then(() => notifications.forgetNotifications(runsDays))
      .then(() => checks.forgetResults(runsDays))
      .catch(() => {})
  }
}
