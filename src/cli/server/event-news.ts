import { reach, type Server } from './server.js'

const LIVE_MS = 2_000
const DEAF_MS = 500

/** Signals changes of a run: by the event stream and, where there is no stream, by a timer. */
export class EventNews {
  readonly #stop = new AbortController()
  #isLive = false
  #hasNews = false
  #wake: () => void = () => {}

  constructor(server: Server, runId: string) {
    void this.#listen(server, runId).catch(() => {
      // The stream broke, or a proxy holds it back: the timer continues.
      this.#isLive = false
    })
  }

  /** Resolves with the next event, or when it is time to check anyway. */
  async next(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (!this.#hasNews) await this.#pause(signal)
    this.#hasNews = false
    signal.throwIfAborted()
  }

  close(): void {
    this.#stop.abort()
  }

  #pause(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', done)
        resolve()
      }
      const timer = setTimeout(done, this.#isLive ? LIVE_MS : DEAF_MS)
      signal.addEventListener('abort', done, { once: true })
      this.#wake = done
    })
  }

  async #listen(server: Server, runId: string): Promise<void> {
    const request = new Request(new URL(`/api/v1/events?run_id=${runId}`, server.url), {
      headers: { authorization: `Bearer ${server.token}`, accept: 'text/event-stream' },
      signal: this.#stop.signal,
    })
    const response = await reach(request, server.url)
    if (!response.ok || response.body === null) return
    this.#isLive = true
    const decoder = new TextDecoder()
    for await (const chunk of response.body) if (decoder.decode(chunk).includes('data:')) this.#notify()
    this.#isLive = false
  }

  #notify(): void {
    this.#hasNews = true
    this.#wake()
  }
}
