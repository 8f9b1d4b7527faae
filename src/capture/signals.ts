import type pg from 'pg'
import { LimitedClient } from '../postgres/client.js'
import { type Lsn, NO_LSN, parseLsn } from './lsn.js'

/** Sent by a captor with the transaction that moves `upto`: `head lsn entries`. */
export const MOVED_CHANNEL = 'vitrina_changes_moved'
/** Sent by a consumer that waits, `head lsn`, or whose needs have changed, `head`. */
export const WANTED_CHANNEL = 'vitrina_changes_wanted'

const RECONNECT_MS = 2_000

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
 * and everybody who waits also asks from time to time.
 */
export class Signals {
  readonly #url: string
  readonly #listeners: Record<Channel, Set<Heard>> = {
    [MOVED_CHANNEL]: new Set(),
    [WANTED_CHANNEL]: new Set(),
  }
  #client: pg.Client | null = null
  #timer: NodeJS.Timeout | null = null
  #connecting: Promise<void> = Promise.resolve()
  #stopped = false

  constructor(url: string) {
    this.#url = url
  }

  /** Safe to repeat. */
  start(): void {
    if (this.#client === null && !this.#stopped) this.#connecting = this.#connect()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    await this.#connecting
    await this.#client?.end().catch(() => {})
  }

  /** Returns what ends it. */
  on(channel: Channel, heard: Heard): () => void {
    this.#listeners[channel].add(heard)
    return () => this.#listeners[channel].delete(heard)
  }

  async #connect(): Promise<void> {
    const client = new LimitedClient({
      connectionString: this.#url,
      application_name: 'vitrina-changes',
      keepAlive: true,
      connectionTimeoutMillis: 5_000,
    })
    this.#client = client
    const again = () => {
      if (this.#stopped || this.#client !== client) return
      this.#client = null
      this.#timer = setTimeout(() => this.start(), RECONNECT_MS)
      this.#timer.unref()
    }
    client.on('error', again)
    client.on('end', again)
    client.on('notification', ({ channel, payload }) => this.#pass(channel as Channel, payload ?? ''))
    try {
      await client.connect()
      await client.query(`LISTEN ${MOVED_CHANNEL}; LISTEN ${WANTED_CHANNEL}`)
    } catch {
      await client.end().catch(() => {})
      again()
    }
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
