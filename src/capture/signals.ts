import { Listener } from '../postgres/listener.js'
import { type Lsn, NO_LSN, parseLsn } from './lsn.js'

/** Sent by a captor with the transaction that moves `upto`: `head lsn entries`. */
export const MOVED_CHANNEL = 'vitrina_changes_moved'
/** Sent by a consumer that waits, `head lsn`, or whose needs have changed, `head`. */
export const WANTED_CHANNEL = 'vitrina_changes_wanted'

/** `lsn`: how far the log is, or is wanted; 0 where only attention is requested. */
export interface Signal {
  readonly head: number
  readonly lsn: Lsn
  /** How many entries came with it. */
  readonly entries: number
}

type Channel = typeof MOVED_CHANNEL | typeof WANTED_CHANNEL
type Heard = (signal: Signal) => void

/**
 * LISTEN on one connection for all captors and consumers of a process. Only a hint: behind a pooler nothing arrives,
 * and every consumer that waits also polls.
 */
export class Signals {
  readonly #listeners: Record<Channel, Set<Heard>> = {
    [MOVED_CHANNEL]: new Set(),
    [WANTED_CHANNEL]: new Set(),
  }
  readonly #listener: Listener

  constructor(url: string) {
    this.#listener = new Listener({
      url,
      name: 'vitrina-changes',
      channels: [MOVED_CHANNEL, WANTED_CHANNEL],
      onNotification: (channel, payload) => this.#pass(channel as Channel, payload),
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
  on(channel: Channel, heard: Heard): () => void {
    this.#listeners[channel].add(heard)
    return () => this.#listeners[channel].delete(heard)
  }

  #pass(channel: Channel, payload: string): void {
    const [head, lsn, entries] = payload.split(' ')
    const signal = {
      head: Number(head),
      lsn: lsn === undefined ? NO_LSN : parseLsn(lsn),
      entries: Number(entries ?? 0),
    }
    for (const heard of this.#listeners[channel]) heard(signal)
  }
}
