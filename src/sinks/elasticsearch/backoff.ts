import { setTimeout as delay } from 'node:timers/promises'

const FIRST_MS = 100
const LONGEST_MS = 8_000

/** Exponential backoff with jitter until a time limit. */
export class Backoff {
  readonly #ms: number
  readonly #signal: AbortSignal
  #deadline: number
  #waits = 0

  constructor(ms: number, signal: AbortSignal) {
    this.#ms = ms
    this.#signal = signal
    this.#deadline = performance.now() + ms
  }

  /** The limit counts from the last progress: a slow server that makes progress is not down. */
  progressed(): void {
    this.#deadline = performance.now() + this.#ms
    this.#waits = 0
  }

  /** Returns false when no time is left. `leastMs`: the wait requested by the server. */
  async wait(leastMs = 0): Promise<boolean> {
    const longest = Math.min(LONGEST_MS, FIRST_MS * 2 ** this.#waits++)
    const ms = Math.max(leastMs, longest * (0.5 + Math.random() / 2))
    if (performance.now() + ms > this.#deadline) return false
    await delay(ms, undefined, { signal: this.#signal })
    return true
  }
}
