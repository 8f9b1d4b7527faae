import type { Run } from '../../model/run.js'
import { isOver } from '../../model/status.js'
import type { EventHub, EventListener } from './event-hub.js'
import type { RunService } from './runs.js'

/** The polling interval without events. */
const LOOK_MS = 1_000

/** Delays a response until a run has ended. Woken by the journal, so that waiting requests do not poll. */
export class RunWaiter {
  readonly #hub: EventHub
  readonly #runs: RunService
  readonly #closing = new AbortController()

  constructor(hub: EventHub, runs: RunService) {
    this.#hub = hub
    this.#runs = runs
  }

  /** Returns the run when it has ended, when `signal` aborts, or when the server closes. */
  async untilOver(id: string, signal: AbortSignal): Promise<Run> {
    const reasons = [signal, this.#closing.signal]
    let wake = () => {}
    const listener: EventListener = {
      take: (events) => {
        if (events.some(({ runId }) => runId === id)) wake()
      },
    }
    await this.#hub.join(listener)
    try {
      for (;;) {
        // Before the query, not after it: an event during the query must not be missed.
        const news = new Promise<void>((resolve) => {
          wake = resolve
        })
        const run = await this.#runs.get(id)
        if (isOver(run.status) || reasons.some(({ aborted }) => aborted)) return run
        await pause(news, reasons)
      }
    } finally {
      this.#hub.leave(listener)
    }
  }

  close(): void {
    this.#closing.abort()
  }
}

async function pause(news: Promise<void>, reasons: readonly AbortSignal[]): Promise<void> {
  let done = () => {}
  const other = new Promise<void>((resolve) => {
    done = resolve
  })
  const timer = setTimeout(done, LOOK_MS)
  for (const reason of reasons) reason.addEventListener('abort', done, { once: true })
  await Promise.race([news, other])
  clearTimeout(timer)
  for (const reason of reasons) reason.removeEventListener('abort', done)
}
