import { reportReachable, signedOut } from '../api/client.js'
import { sessionHeaders } from '../api/session-key.js'
import type { LiveEvent } from './event.js'

export type LiveState = 'connecting' | 'live' | 'reconnecting'

export interface StreamListener {
  /** In order, without gaps and repetitions. */
  onEvents(events: readonly LiveEvent[]): void
  /** Events may have been missed: earlier data must be requested again. */
  onGap(): void
  onState(state: LiveState): void
}

/** The server sends at least a heartbeat every 15 s. */
const SILENCE_MS = 25_000
const FIRST_RETRY_MS = 500
const LAST_RETRY_MS = 10_000
/** Batches may end many times per second; the screen is updated less often. */
const FLUSH_MS = 100

/**
 * The event stream of this tab. Read with fetch, not EventSource, to see heartbeats and to leave a connection that hangs.
 * It resumes after the last event number, so no event is lost or delivered twice.
 */
export class EventStream {
  readonly #listener: StreamListener
  #abort: AbortController | null = null
  #lastId: string | null = null
  #heardAt = 0
  #retryMs = FIRST_RETRY_MS
  #pending: LiveEvent[] = []
  #flushTimer: ReturnType<typeof setTimeout> | null = null

  constructor(listener: StreamListener) {
    this.#listener = listener
  }

  /** When the server last sent something, by performance.now(). */
  get heardAt(): number {
    return this.#heardAt
  }

  start(): void {
    if (this.#abort !== null) return
    this.#abort = new AbortController()
    void this.#run(this.#abort.signal)
  }

  stop(): void {
    this.#abort?.abort()
    this.#abort = null
    if (this.#flushTimer !== null) clearTimeout(this.#flushTimer)
    this.#flushTimer = null
    this.#pending = []
  }

  async #run(signal: AbortSignal): Promise<void> {
    this.#listener.onState('connecting')
    while (!signal.aborted) {
      await this.#connect(signal).catch(() => {})
      if (signal.aborted) return
      this.#listener.onState('reconnecting')
      await pause(this.#retryMs, signal)
      this.#retryMs = Math.min(this.#retryMs * 2, LAST_RETRY_MS)
    }
  }

  /** Resolves or rejects when the connection is over. */
  async #connect(outer: AbortSignal): Promise<void> {
    const inner = new AbortController()
    const began = performance.now()
    // An attempt to connect does not count as contact: the data on screen keeps aging.
    const watch = setInterval(() => {
      if (performance.now() - Math.max(began, this.#heardAt) > SILENCE_MS) inner.abort()
    }, 1_000)
    try {
      const response = await this.#open(AbortSignal.any([outer, inner.signal]))
      if (response.body === null) return
      await this.#read(response.body)
    } finally {
      clearInterval(watch)
    }
  }

  async #open(signal: AbortSignal): Promise<Response> {
    const response = await fetch('/api/v1/events', {
      headers: {
        accept: 'text/event-stream',
        ...sessionHeaders(),
        ...(this.#lastId === null ? {} : { 'last-event-id': this.#lastId }),
      },
      cache: 'no-store',
      signal,
    }).catch((error) => {
      if (!signal.aborted) reportReachable(false)
      throw error
    })
    if (response.status === 401) signedOut()
    if (!response.ok) throw new Error(`the stream answered ${response.status}`)
    reportReachable(true)
    this.#heardAt = performance.now()
    this.#retryMs = FIRST_RETRY_MS
    this.#listener.onState('live')
    // Data that was read before the first stream opened may be older than its start.
    if (this.#lastId === null) this.#listener.onGap()
    return response
  }

  async #read(body: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder()
    const reader = body.getReader()
    let rest = ''
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      this.#heardAt = performance.now()
      const blocks = (rest + decoder.decode(value, { stream: true })).split('\n\n')
      rest = blocks.pop() ?? ''
      for (const block of blocks) this.#take(block)
    }
  }

  #take(block: string): void {
    const fields = new Map(
      block.split('\n').map((line) => {
        const colon = line.indexOf(':')
        return [line.slice(0, colon), line.slice(colon + 1).trimStart()] as const
      }),
    )
    const data = fields.get('data')
    if (fields.get('event') === 'gap') this.#listener.onGap()
    else if (data !== undefined) this.#keep(data, fields.get('id'))
  }

  #keep(data: string, id: string | undefined): void {
    this.#lastId = id ?? this.#lastId
    this.#pending.push(JSON.parse(data) as LiveEvent)
    this.#flushTimer ??= setTimeout(() => this.#flush(), FLUSH_MS)
  }

  #flush(): void {
    this.#flushTimer = null
    const events = this.#pending
    this.#pending = []
    if (events.length > 0) this.#listener.onEvents(events)
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
