import type { NewSession, OpenSession, SessionStore } from '../ports/session-store.js'
import type { Database } from './database.js'

export class CatalogSessionsRepository implements SessionStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  openSession(session: NewSession): Promise<string> {
    return this.#insert('session', session)
  }

  createCode(code: NewSession): Promise<string> {
    return this.#insert('code', code)
  }

  async findSession(hash: Buffer, idleSeconds: number): Promise<OpenSession | null> {
    // The use is written down once a minute, as for tokens: a stream asks every few seconds.
    const [row] = await this.#database.query<{ token_hash: Buffer; expires_at: string }>(
      `WITH found AS (
         SELECT hash, token_hash, expires_at, used_at FROM etl.etl_sessions
          WHERE hash = $1 AND kind = 'session' AND expires_at > clock_timestamp()
            AND used_at > clock_timestamp() - make_interval(secs => $2)),
       used AS (
         UPDATE etl.etl_sessions s SET used_at = clock_timestamp() FROM found
          WHERE s.hash = found.hash AND found.used_at < clock_timestamp() - interval '1 minute')
       SELECT token_hash, etl.rfc3339(expires_at) AS expires_at FROM found`,
      [hash, idleSeconds],
    )
    return row === undefined ? null : { tokenHash: row.token_hash, expiresAt: row.expires_at }
  }

  async closeSession(hash: Buffer): Promise<void> {
    await this.#database.query('DELETE FROM etl.etl_sessions WHERE hash = $1', [hash])
  }

  async takeCode(hash: Buffer): Promise<Buffer | null> {
    const [row] = await this.#database.query<{ token_hash: Buffer }>(
      `DELETE FROM etl.etl_sessions WHERE hash = $1 AND kind = 'code' AND expires_at > clock_timestamp()
       RETURNING token_hash`,
      [hash],
    )
    return row?.token_hash ?? null
  }

  /** Whoever signs in takes along what has ended: there is never more than people left behind since. */
  async #insert(kind: 'session' | 'code', { hash, tokenHash, seconds }: NewSession): Promise<string> {
    const [row] = await this.#database.query<{ expires_at: string }>(
      `WITH ended AS (DELETE FROM etl.etl_sessions WHERE expires_at <= clock_timestamp())
       INSERT INTO etl.etl_sessions (hash, token_hash, kind, expires_at)
       VALUES ($1, $2, $3, clock_timestamp() + make_interval(secs => $4))
       RETURNING etl.rfc3339(expires_at) AS expires_at`,
      [hash, tokenHash, kind, seconds],
    )
    return row!.expires_at
  }
}
