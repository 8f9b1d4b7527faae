import type pg from 'pg'
import type { Wakeups } from '../ports/wakeups.js'
import { LimitedClient } from '../postgres/client.js'

const RECONNECT_MS = 2_000

/** Notifications of the database: a run was requested, or the journal has new events. */
export type Channel = 'vitrina_run_requested' | 'vitrina_events'

/** LISTEN on its own connection. Behind a pooler without NOTIFY nothing arrives, and polling does the work. */
export class NotifyWakeups implements Wakeups {
  readonly #url: string
  readonly #channel: Channel
  #client: pg.Client | null = null
  #timer: NodeJS.Timeout | null = null
  #connecting: Promise<void> = Promise.resolve()
  #stopped = false

  constructor(url: string, channel: Channel = 'vitrina_run_requested') {
    this.#url = url
    this.#channel = channel
  }

  start(wake: () => void): void {
    this.#connecting = this.#connect(wake)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    await this.#connecting
    await this.#client?.end().catch(() => {})
  }

  async #connect(wake: () => void): Promise<void> {
    const client = new LimitedClient({
      connectionString: this.#url,
      application_name: 'vitrina-wakeups',
      keepAlive: true,
      connectionTimeoutMillis: 5_000,
    })
    this.#client = client
    const again = () => {
      if (this.#stopped || this.#client !== client) return
      this.#client = null
      this.#timer = setTimeout(() => this.start(wake), RECONNECT_MS)
    }
    client.on('error', again)
    client.on('end', again)
    client.on('notification', wake)
    try {
      await client.connect()
      await client.query(`LISTEN ${this.#channel}`)
      // Events that happened while the connection was down.
      wake()
    } catch {
      await client.end().catch(() => {})
      again()
    }
  }
}
