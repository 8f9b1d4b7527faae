import type pg from 'pg'
import { LimitedClient } from '../postgres/client.js'
import { SET_TEXT_FORMAT } from '../postgres/session.js'

/** What pg does not declare of its connection: the messages of a replication stream, and the socket below them. */
export interface ReplicationConnection {
  readonly stream: { pause(): void; resume(): void; destroy(): void }
  on(event: 'copyData', heard: (message: { readonly chunk: Buffer }) => void): void
  once(event: 'replicationStart', heard: () => void): void
  sendCopyFromChunk(chunk: Buffer): void
}

const CONNECT_MS = 10_000

/** A connection to the walsender of one database. When the signal aborts, its socket is cut. */
export class ReplicationClient {
  readonly wire: ReplicationConnection
  readonly #client: pg.Client
  readonly #signal: AbortSignal
  readonly #cut: () => void

  private constructor(client: pg.Client, signal: AbortSignal) {
    this.#client = client
    this.#signal = signal
    this.wire = (client as unknown as { connection: ReplicationConnection }).connection
    this.#cut = () => this.wire.stream.destroy()
    signal.addEventListener('abort', this.#cut)
  }

  static async open(url: string, signal: AbortSignal): Promise<ReplicationClient> {
    signal.throwIfAborted()
    const client = new LimitedClient({
      connectionString: url,
      application_name: 'vitrina-captor',
      keepAlive: true,
      connectionTimeoutMillis: CONNECT_MS,
      replication: 'database',
    } as pg.ClientConfig)
    // A broken connection shows itself at the command that is under way.
    client.on('error', () => {})
    const opened = new ReplicationClient(client, signal)
    try {
      await client.connect()
      // Images are text written by this session: they must equal what the reading session writes.
      await client.query(`${SET_TEXT_FORMAT}; SET statement_timeout = 0; SET idle_session_timeout = 0`)
      return opened
    } catch (error) {
      opened.close()
      throw error
    }
  }

  /** One command of the replication protocol. */
  async command(text: string): Promise<Record<string, string | null>[]> {
    const { rows } = await this.#client.query<Record<string, string | null>>(text)
    return rows
  }

  /** Cut, not ended: the server does not reply to a client that is streaming. */
  close(): void {
    this.#signal.removeEventListener('abort', this.#cut)
    this.#cut()
  }
}
