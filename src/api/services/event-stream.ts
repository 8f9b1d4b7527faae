import type { ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { JournalEvent } from '../../model/history.js'
import type { EventHub, EventListener } from './event-hub.js'

/**
 * How much unread data a client may have in memory before it has to read the rest from the journal. With 1 MiB and a
 * page on top, a hundred clients that did not read used 268 MB.
 */
const MOST_UNREAD_BYTES = 128 * 1024
/** Heartbeats without a drained buffer: two minutes. */
const MOST_UNREAD_BEATS = 8
const RETRY_MS = 1_000

export interface EventFilter {
  readonly pipelineId?: string
  readonly runId?: string
}

/**
 * One client of the journal. It is either live and receives what the hub delivers, or it catches up and reads the
 * journal itself from its last number until it reaches the hub.
 */
export class EventStream implements EventListener {
  readonly #raw: ServerResponse
  readonly #hub: EventHub
  readonly #filter: EventFilter
  #seq = 0
  /** Heartbeats since the client had last read everything. */
  #unread = 0
  #isLive = false
  #isCatchingUp = false

  constructor(raw: ServerResponse, hub: EventHub, filter: EventFilter) {
    this.#raw = raw
    this.#hub = hub
    this.#filter = filter
  }

  /** Starts after `seq`. Before that, nothing is taken from the hub. */
  async start(seq: number): Promise<void> {
    this.#seq = seq
    this.#raw.on('drain', () => void this.catchUp())
    await this.catchUp()
  }

  take(events: readonly JournalEvent[]): void {
    if (!this.#isLive) return
    if (this.#raw.writableLength > MOST_UNREAD_BYTES) this.#isLive = false
    else this.#write(events)
  }

  /**
   * A comment: proxies close silent connections, and clients learn that the server is alive. A client that has not
   * read earlier data gets nothing more to buffer; after a while it is disconnected, and returns with Last-Event-ID.
   */
  heartbeat(): void {
    if (this.#raw.writableLength === 0) {
      this.#unread = 0
      this.#raw.write(': still here\n\n')
    } else {
      this.#unread += 1
      if (this.#unread >= MOST_UNREAD_BEATS) this.#raw.destroy()
    }
  }

  async catchUp(): Promise<void> {
    if (this.#isLive || this.#isCatchingUp) return
    this.#isCatchingUp = true
    try {
      while (this.#canWrite && this.#seq < this.#hub.head) await this.#readPage()
      this.#isLive = this.#canWrite
    } finally {
      this.#isCatchingUp = false
    }
  }

  get #canWrite(): boolean {
    return !this.#raw.writableEnded && !this.#raw.destroyed && this.#raw.writableLength <= MOST_UNREAD_BYTES
  }

  async #readPage(): Promise<void> {
    try {
      const { head, events } = await this.#hub.read(this.#seq)
      this.#write(events)
      // Everything up to this position is committed: missing events have been deleted.
      if (events.length === 0) this.#seq = Math.max(this.#seq, head)
    } catch {
      // The database is unavailable for a moment. The hub logs it; this stream continues from its position.
      await delay(RETRY_MS, undefined, { ref: false })
    }
  }

  /** Stops at the limit: the rest is read from the journal again once the client has caught up. */
  #write(events: readonly JournalEvent[]): void {
    let text = ''
    for (const event of events) {
      if (event.seq <= this.#seq) continue
      if (this.#raw.writableLength + text.length > MOST_UNREAD_BYTES) {
        // Enough was written that "drain" will be emitted, which calls catchUp().
        this.#isLive = false
        break
      }
      this.#seq = event.seq
      if (this.#isWanted(event)) text += toText(event)
    }
    if (text !== '') this.#raw.write(text)
  }

  #isWanted({ pipelineId, runId }: JournalEvent): boolean {
    const { pipelineId: pipeline = pipelineId, runId: run = runId } = this.#filter
    return pipeline === pipelineId && run === runId
  }
}

function toText({ seq, at, kind, pipelineId, runId, data }: JournalEvent): string {
  const wire = { seq, at, kind, pipeline_id: pipelineId, run_id: runId, ...data }
  return `id: ${seq}\nevent: ${kind}\ndata: ${JSON.stringify(wire)}\n\n`
}
