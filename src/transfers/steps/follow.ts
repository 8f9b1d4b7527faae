import { IDLE, type Step } from '../../ports/transfer.js'
import type { ChangeSource } from '../changes/change-source.js'
import type { ChangedRows } from './changed.js'

/** Then the run ends and the next one begins: a query is examined again, and the history stays readable. */
const PERIOD_MS = 300_000
/** How long a pause or a cancellation may stay unnoticed. */
const IDLE_MS = 1_000
/** A position that does not move keeps entries in the change log. */
const POSITION_MS = 10_000

/** Applies the changes of each commit as soon as it is in the change log. Commits that arrive meanwhile are merged. */
export class Follow implements Step {
  readonly name = 'live'
  readonly #wait: NonNullable<ChangeSource['waitForChanges']>
  readonly #changed: (live: { readonly isPositionDue: () => boolean }) => ChangedRows<unknown>
  readonly #until = performance.now() + PERIOD_MS
  #current: ChangedRows<unknown> | null = null
  #movedAt = performance.now()
  #ended = false

  constructor(
    wait: NonNullable<ChangeSource['waitForChanges']>,
    changed: (live: { readonly isPositionDue: () => boolean }) => ChangedRows<unknown>,
  ) {
    this.#wait = wait
    this.#changed = changed
  }

  async next(limit: number): ReturnType<Step['next']> {
    const started = performance.now()
    while (!this.#ended && performance.now() < this.#until) {
      this.#current ??= await this.#awaited()
      const done = (await this.#current?.next(limit)) ?? null
      if (done !== null) {
        this.#movedAt = performance.now()
        return done
      }
      // The next run does that: in this one the steps of such a pass may be done already.
      this.#ended = this.#current?.needsEveryRow ?? false
      this.#current = null
      if (performance.now() - started > IDLE_MS) return IDLE
    }
    return null
  }

  async #awaited(): Promise<ChangedRows<unknown> | null> {
    if (!(await this.#wait(IDLE_MS)) && !this.#isPositionDue()) return null
    return this.#changed({ isPositionDue: () => this.#isPositionDue() })
  }

  #isPositionDue(): boolean {
    return performance.now() - this.#movedAt > POSITION_MS
  }
}
