import type { Pipeline } from '../model/pipeline.js'
import { connectionUrl } from '../postgres/connection-url.js'
import { onSide } from '../postgres/errors.js'
import { KeptSessions } from '../postgres/kept-sessions.js'
import { READ_ONLY, type Session } from '../postgres/session.js'

interface Logins {
  readonly readerUrl: string
  readonly martUrl: string
  readonly connections: ReadonlyMap<string, string>
}

/** Longer than an inspection should take, shorter than a user is willing to wait. */
const STATEMENT_TIMEOUT = '10s'

/** Sessions with short time limits. Connections are kept: opening one costs more than checking a query. */
export class InspectionSessions {
  readonly #logins: Logins
  readonly #kept = new KeptSessions()
  readonly #life = new AbortController()

  constructor(logins: Logins) {
    this.#logins = logins
  }

  close(): Promise<void> {
    return this.#kept.close()
  }

  /** The database of the mart, with a login that cannot change it. */
  target({ targetConnection }: Pipeline, signal: AbortSignal): Promise<Session> {
    return onSide('target', 'Connecting to the target', () =>
      this.#open(targetConnection, this.#logins.martUrl, signal),
    )
  }

  async source(connection: string | null, signal: AbortSignal): Promise<Session> {
    const session = await this.#open(connection, this.#logins.readerUrl, signal)
    await session.run(READ_ONLY)
    return session
  }

  /** For the guard, which opens a session only if it has not kept the result. */
  forGuard({ sourceConnection }: Pipeline, signal: AbortSignal): () => Promise<Session> {
    return sourceConnection === null
      ? () => this.#open(null, this.#logins.readerUrl, this.#life.signal)
      : () => this.source(sourceConnection, signal)
  }

  /** In the main database one login reads marts and another one sources; a named connection has one for both. */
  readerBeside({ targetConnection }: Pipeline, signal: AbortSignal): (() => Promise<Session>) | null {
    return targetConnection === null ? () => this.source(null, signal) : null
  }

  async withBoth<T>(
    pipeline: Pipeline,
    signal: AbortSignal,
    work: (source: Session, target: Session) => Promise<T>,
  ): Promise<T> {
    const source = await this.source(pipeline.sourceConnection, signal)
    try {
      const target = await this.target(pipeline, signal)
      try {
        return await work(source, target)
      } finally {
        await target.close()
      }
    } finally {
      await source.close()
    }
  }

  async #open(connection: string | null, main: string, signal: AbortSignal): Promise<Session> {
    const url = connectionUrl(this.#logins.connections, connection, main)
    const session = await this.#kept.open(url, { name: 'vitrina-inspect', purpose: 'inspection' }, signal)
    await session.run(`SET statement_timeout = '${STATEMENT_TIMEOUT}'; SET lock_timeout = '2s'`)
    return session
  }
}
