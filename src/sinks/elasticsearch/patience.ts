import { setTimeout as delay } from 'node:timers/promises'

const FIRST_MS = 100
const LONGEST_MS = 8_000

/** How long something is tried again: waits twice as long each time, at random within half of it, until time is up. */
export class Patience {
  readonly #ms: number
  readonly #signal: AbortSignal
  #deadline: number
  #waits = 0

  constructor(ms: number, signal: AbortSignal) {
    this.#ms = ms
    this.#signal = signal
    this.#deadline = performance.now() + ms
  }

  /** Time counts from the last step forward: a slow server that goes on is not a dead one. */
  progressed(): void {
    this.#deadline = performance.now() + this.#ms
    this.#waits = 0
  }

  /** False when there is no time left. `leastMs`: what the server asked for. */
  async wait(leastMs = 0): Promise<boolean> {
    const longest = Math.min(LONGEST_MS, FIRST_MS * 2 ** this.#waits++)
    const ms = Math.max(leastMs, longest * (0.5 + Math.random() / 2))
    if (performance.now() + ms > this.#deadline) return false
    await delay(ms, undefined, { signal: this.#signal })
    return true
  }
}
