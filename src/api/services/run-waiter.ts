import type { Run } from '../../model/run.js'
import { isOver } from '../../model/status.js'
import type { EventHub, EventListener } from './event-hub.js'
import { type PlaceLimits, Places } from './places.js'
import type { RunService } from './runs.js'

/** The polling interval without events. The hub reads the journal more often; this is for a journal that it cannot read. */
const POLL_MS = 5_000

/**
 * Delays a response until a run has ended. Woken by the journal, so that waiting requests do not poll. Their number is
 * limited: a viewer could keep 6,000 of them open, each with its own connection and queries.
 */
export class RunWaiter {
  readonly #hub: EventHub
  readonly #runs: RunService
  readonly #places: Places
  readonly #closing = new AbortController()

  constructor(hub: EventHub, runs: RunService, limits: PlaceLimits) {
    this.#hub = hub
    this.#runs = runs
    this.#places = new Places(limits, {
      what: 'requests that wait for a run',
      remedy: 'Wait until one has been answered, or send the request without wait.',
    })
  }

  /** Does what the request asks for, with a place to wait: a request that gets none must not have requested a run. */
  async inPlace<T>(caller: string, work: () => Promise<T>): Promise<T> {
    const free = this.#places.take(caller)
    try {
      return await work()
    } finally {
      free()
    }
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
  const timer = setTimeout(done, POLL_MS)
  for (const reason of reasons) reason.addEventListener('abort', done, { once: true })
  await Promise.race([news, other])
  clearTimeout(timer)
  for (const reason of reasons) reason.removeEventListener('abort', done)
}
