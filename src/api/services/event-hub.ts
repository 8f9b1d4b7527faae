import type { JournalEvent } from '../../model/history.js'
import type { Journal } from '../../ports/journal.js'
import type { Wakeups } from '../../ports/wakeups.js'

/** The polling interval without wake-ups, such as behind a pooler that does not support NOTIFY. */
const POLL_MS = 2_000
const PAGE = 500

/** A listener. `take` does not wait: a listener that cannot keep up reads the journal itself. */
export interface EventListener {
  take(events: readonly JournalEvent[]): void
}

/** Events in the journal. All events up to `head` were committed before they were read. */
export interface JournalPage {
  readonly head: number
  readonly events: readonly JournalEvent[]
}

export interface EventHubOptions {
  readonly journal: Journal
  readonly wakeups: Wakeups
  /** Called when the journal could not be read; the read is retried. */
  readonly onError: (error: Error) => void
}

/**
 * Reads the journal once for all listeners, over one connection that the database wakes up. Without listeners it is
 * idle. The sequence numbers of the journal make it exact: a listener that knows its last number continues after it,
 * and misses and repeats nothing.
 */
export class EventHub {
  readonly #options: EventHubOptions
  readonly #listeners = new Set<EventListener>()
  #head = 0
  #timer: NodeJS.Timeout | null = null
  #reading: Promise<void> = Promise.resolve()
  readonly #pages = new Map<number, Promise<JournalPage>>()
  #turn: Promise<void> = Promise.resolve()
  #isLooking = false
  #again = false
  #started = false

  constructor(options: EventHubOptions) {
    this.#options = options
  }

  /** Everything up to this number has been delivered to all listeners. */
  get head(): number {
    return this.#head
  }

  /** The number after which a new listener receives everything. */
  async join(listener: EventListener): Promise<number> {
    this.#start()
    if (this.#listeners.size === 0) {
      await this.#numberAll()
      const head = await this.#options.journal.head()
      // Another listener may have joined meanwhile: events after our head must be delivered to it, not skipped.
      if (this.#listeners.size === 0) this.#head = head
    }
    this.#listeners.add(listener)
    return this.#head
  }

  leave(listener: EventListener): void {
    this.#listeners.delete(listener)
  }

  /**
   * Events after `seq` in the journal, for listeners that have to catch up. One page at a time for all of them: 60 clients
   * that began at the same old event kept every connection to the database busy, and other requests waited 3 s. Clients
   * that are at the same place share a page.
   */
  read(seq: number): Promise<JournalPage> {
    const known = this.#pages.get(seq)
    if (known !== undefined) return known
    const page = this.#turn.then(() => this.#page(seq)).finally(() => this.#pages.delete(seq))
    this.#turn = page.then(
      () => {},
      () => {},
    )
    this.#pages.set(seq, page)
    return page
  }

  async #page(seq: number): Promise<JournalPage> {
    const head = this.#head
    return { head, events: await this.#options.journal.after(seq, PAGE) }
  }

  /** The lowest number that is still stored. */
  tail(): Promise<number> {
    return this.#options.journal.tail()
  }

  async stop(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#listeners.clear()
    if (this.#started) await this.#options.wakeups.stop()
    await this.#reading
  }

  #start(): void {
    if (this.#started) return
    this.#started = true
    this.#options.wakeups.start(() => this.#wake())
    this.#timer = setInterval(() => this.#wake(), POLL_MS)
    this.#timer.unref()
  }

  #wake(): void {
    this.#again = true
    if (this.#isLooking || this.#listeners.size === 0) return
    this.#reading = this.#read()
  }

  async #read(): Promise<void> {
    this.#isLooking = true
    try {
      while (this.#again && this.#listeners.size > 0) {
        this.#again = false
        await this.#numberAll()
        await this.#deliver()
      }
    } catch (error) {
      // The next poll retries; listeners stay connected and miss nothing.
      this.#options.onError(error as Error)
    } finally {
      this.#isLooking = false
    }
  }

  /** After a time without listeners, or a large transaction: the rest would wait for the next poll. */
  async #numberAll(): Promise<void> {
    let isMore = true
    while (isMore) isMore = await this.#options.journal.number()
  }

  async #deliver(): Promise<void> {
    for (;;) {
      const events = await this.#options.journal.after(this.#head, PAGE)
      if (events.length === 0) return
      this.#head = events.at(-1)!.seq
      for (const listener of this.#listeners) listener.take(events)
    }
  }
}
