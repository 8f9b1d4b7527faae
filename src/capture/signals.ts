import { setTimeout as delay } from 'node:timers/promises'
import { Listener } from '../postgres/listener.js'
import { type Lsn, NO_LSN, parseLsn } from './lsn.js'

/** Sent by a captor with the transaction that moves `upto`: `head lsn entries`. */
export const MOVED_CHANNEL = 'vitrina_changes_moved'
/** Sent by a consumer that waits, `head lsn`, or whose needs have changed, `head`. */
export const WANTED_CHANNEL = 'vitrina_changes_wanted'

/** How long a captor of this process is waited for before it is asked as one of another process would be. */
const HERE_MS = 50

/** `lsn`: how far the log is, or is wanted; 0 where only attention is requested. */
export interface Signal {
  readonly head: number
  readonly lsn: Lsn
  /** How many entries came with it. */
  readonly entries: number
}

/** What a captor has received: the log has every entry up to `logged`, and no entry is between it and `reached`. */
export interface Reached {
  readonly generation: string
  readonly logged: Lsn
  readonly reached: Lsn
}

/** A captor of this process. */
interface CapturedHere {
  readonly ask: (lsn: Lsn) => void
  reached: Reached | null
  readonly waiting: Set<() => void>
}

type SignalChannel = typeof MOVED_CHANNEL | typeof WANTED_CHANNEL
type Heard = (signal: Signal) => void

/**
 * LISTEN on one connection for all captors and consumers of a process. Only a hint: behind a pooler nothing arrives,
 * and every consumer that waits also polls.
 */
export class Signals {
  readonly #listeners: Record<SignalChannel, Set<Heard>> = {
    [MOVED_CHANNEL]: new Set(),
    [WANTED_CHANNEL]: new Set(),
  }
  readonly #listener: Listener
  readonly #here = new Map<number, CapturedHere>()

  constructor(url: string) {
    this.#listener = new Listener({
      url,
      name: 'vitrina-changes',
      channels: [MOVED_CHANNEL, WANTED_CHANNEL],
      onNotification: (channel, payload) => this.#pass(channel as SignalChannel, payload),
    })
  }

  /** Safe to repeat. */
  start(): void {
    this.#listener.start()
  }

  async stop(): Promise<void> {
    await this.#listener.stop()
  }

  /** Returns what ends it. */
  on(channel: SignalChannel, heard: Heard): () => void {
    this.#listeners[channel].add(heard)
    return () => this.#listeners[channel].delete(heard)
  }

  /**
   * For a captor: `ask` is called when a consumer of this process waits for a position. Returns what reports to consumers how
   * far it is, and what ends it.
   */
  captures(head: number, ask: (lsn: Lsn) => void): { reached(now: Reached): void; end(): void } {
    const captured: CapturedHere = { ask, reached: null, waiting: new Set() }
    const wake = () => {
      for (const each of captured.waiting) each()
    }
    this.#here.set(head, captured)
    return {
      reached: (now) => {
        captured.reached = now
        wake()
      },
      end: () => {
        if (this.#here.get(head) === captured) this.#here.delete(head)
        captured.reached = null
        wake()
      },
    }
  }

  /**
   * For a consumer: what a captor of this process knows as soon as it has received everything up to `lsn`. It need not
   * write that into the log first. Null: it does not know in time, or the captor is in another process.
   */
  async reachedHere(head: number, lsn: Lsn, signal: AbortSignal): Promise<Reached | null> {
    const captured = this.#here.get(head)
    if (captured === undefined) return null
    const known = () =>
      captured.reached !== null && captured.reached.reached >= lsn ? captured.reached : null
    if (known() !== null) return known()
    const heard = new AbortController()
    const wake = () => {
      if (known() !== null || this.#here.get(head) !== captured) heard.abort()
    }
    captured.waiting.add(wake)
    captured.ask(lsn)
    await delay(HERE_MS, undefined, { signal: AbortSignal.any([signal, heard.signal]) }).catch(() => {})
    captured.waiting.delete(wake)
    signal.throwIfAborted()
    return known()
  }

  #pass(channel: SignalChannel, payload: string): void {
    const [head, lsn, entries] = payload.split(' ')
    const signal = {
      head: Number(head),
      lsn: lsn === undefined ? NO_LSN : parseLsn(lsn),
      entries: Number(entries ?? 0),
    }
    for (const heard of this.#listeners[channel]) heard(signal)
  }
}
