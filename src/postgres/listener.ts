import type pg from 'pg'
import { LimitedClient } from './client.js'

const RECONNECT_MS = 2_000

interface ListenerOptions {
  readonly url: string
  /** The application_name of the session. */
  readonly name: string
  readonly channels: readonly string[]
  readonly onNotification: (channel: string, payload: string) => void
  /** After every connect: notifications sent while the connection was down are lost. */
  readonly onConnect?: () => void
}

/** LISTEN on its own connection, which is opened again when it is lost. Behind a pooler nothing arrives. */
export class Listener {
  readonly #options: ListenerOptions
  #client: pg.Client | null = null
  #timer: NodeJS.Timeout | null = null
  #connecting: Promise<void> = Promise.resolve()
  #stopped = false

  constructor(options: ListenerOptions) {
    this.#options = options
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

  async #connect(): Promise<void> {
    const { url, name, channels, onNotification, onConnect } = this.#options
    const client = new LimitedClient({
      connectionString: url,
      application_name: name,
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
    client.on('notification', ({ channel, payload }) => onNotification(channel, payload ?? ''))
    try {
      await client.connect()
      await client.query(channels.map((channel) => `LISTEN ${channel}`).join('; '))
      onConnect?.()
    } catch {
      await client.end().catch(() => {})
      again()
    }
  }
}
