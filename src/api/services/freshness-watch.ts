import { setTimeout as wait } from 'node:timers/promises'
import type { FreshnessService } from './freshness.js'

const EVERY_MS = 2_000

/** Notices data that is too old, also when no runner is alive. Several APIs may watch; each breach is noted once. */
export class FreshnessWatch {
  readonly #freshness: FreshnessService
  readonly #stop = new AbortController()
  #work: Promise<void> = Promise.resolve()

  constructor(freshness: FreshnessService) {
    this.#freshness = freshness
  }

  start(): void {
    this.#work = this.#watch()
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#work
  }

  async #watch(): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted) {
      // The next round comes soon enough; an unavailable database is reported by requests that need it.
      await this.#freshness.note().catch(() => {})
      await wait(EVERY_MS, undefined, { signal, ref: false }).catch(() => {})
    }
  }
}
