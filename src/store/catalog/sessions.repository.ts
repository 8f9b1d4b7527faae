import type { Author, Role } from '../../model/access.js'
import type { Page, PageRequest } from '../../ports/catalog.js'
import type {
  ListedSession,
  NewCode,
  NewSession,
  OpenSession,
  SessionFilter,
  SessionStore,
} from '../../ports/session-store.js'
import { sqlstateOf } from '../../sql/sqlstate.js'
import type { Database, Queryable } from '../database.js'
import { writeAudit } from './audit.js'
import { pageOf, readCursor } from './page.js'

/** Sessions that can authenticate a request: neither they nor their token have ended. */
const USABLE = `
  etl.etl_sessions s LEFT JOIN etl.etl_tokens t
    ON t.hash = s.token_hash OR (t.previous_hash = s.token_hash AND t.previous_until > clock_timestamp())
  WHERE s.kind = 'session' AND s.key_hash IS NOT NULL AND s.expires_at > clock_timestamp()
    AND s.used_at > clock_timestamp() - make_interval(secs => $2)
    AND (s.token_hash = $1 OR (t.id IS NOT NULL AND t.revoked_at IS NULL
                               AND coalesce(t.expires_at > clock_timestamp(), true)))
    AND ($3 = 'everyone' OR CASE WHEN s.token_hash = $1 THEN 'administrator' ELSE t.id::text END = $3)`

/** Of one token. Otherwise anyone with a token could fill the database: 6,000 sign-ins a minute, each kept for a week. */
const MOST_OF_TOKEN = 500

/**
 * Ended ones, and those of this token that were not used for the longest time. Two concurrent sign-ins do not
 * wait for each other: one of them deletes it.
 */
const deleteEnded = (token: string) => `
  DELETE FROM etl.etl_sessions WHERE hash IN (
    SELECT hash FROM etl.etl_sessions WHERE expires_at <= clock_timestamp() FOR UPDATE SKIP LOCKED)
   OR hash IN (
    SELECT hash FROM etl.etl_sessions WHERE token_hash = ${token} AND kind = 'session'
     ORDER BY used_at DESC, hash OFFSET ${MOST_OF_TOKEN - 1} FOR UPDATE SKIP LOCKED)`

const FOREIGN_KEY_VIOLATION = '23503'

interface ListedRow {
  id: string
  token_id: string | null
  name: string | null
  role: Role | null
  created_at: string
  used_at: string
  expires_at: string
  opened_from: string | null
  user_agent: string | null
  parent: string | null
}

export class CatalogSessionsRepository implements SessionStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** Each sign-in deletes ended and surplus sessions, so that they do not accumulate. */
  async openSession({ hash, keyHash, seconds, openedFrom, userAgent }: NewSession, tokenHash: Buffer) {
    const [row] = await this.#database.query<{ expires_at: string }>(
      `WITH ended AS (${deleteEnded('$3')}),
            fresh AS (SELECT gen_random_uuid() AS id)
       INSERT INTO etl.etl_sessions (id, family, hash, key_hash, token_hash, kind, expires_at, opened_from, user_agent)
       SELECT id, id, $1, $2, $3, 'session', clock_timestamp() + make_interval(secs => $4), $5, $6 FROM fresh
       RETURNING etl.rfc3339(expires_at) AS expires_at`,
      [hash, keyHash, tokenHash, seconds, openedFrom, userAgent],
    )
    return row!.expires_at
  }

  async findSession(hash: Buffer, idleSeconds: number): Promise<OpenSession | null> {
    // The use is recorded once a minute, as for tokens: a stream sends a request every few seconds.
    const [row] = await this.#database.query<OpenSession>(
      `WITH found AS (
         SELECT id, hash, key_hash, token_hash, expires_at, used_at FROM etl.etl_sessions
          WHERE hash = $1 AND kind = 'session' AND expires_at > clock_timestamp()
            AND used_at > clock_timestamp() - make_interval(secs => $2)),
       used AS (
         UPDATE etl.etl_sessions s SET used_at = clock_timestamp() FROM found
          WHERE s.hash = found.hash AND found.used_at < clock_timestamp() - interval '1 minute')
       SELECT id, key_hash AS "keyHash", token_hash AS "tokenHash", etl.rfc3339(expires_at) AS "expiresAt" FROM found`,
      [hash, idleSeconds],
    )
    return row ?? null
  }

  async closeFamily(hash: Buffer): Promise<void> {
    // The rest of the family is deleted with its first session: ON DELETE CASCADE.
    await this.#database.query(
      `DELETE FROM etl.etl_sessions
        WHERE id = (SELECT coalesce(family, id) FROM etl.etl_sessions WHERE hash = $1 AND kind = 'session')`,
      [hash],
    )
  }

  createCode({ hash, tokenHash, seconds, session }: NewCode): Promise<string | null> {
    return this.#insert(
      `WITH ended AS (${deleteEnded('$2')}),
            made_by AS (SELECT id, family, expires_at FROM etl.etl_sessions WHERE id = $4::uuid)
       INSERT INTO etl.etl_sessions (hash, token_hash, kind, parent, family, expires_at)
       SELECT $1, $2, 'code', m.id, m.family, least(clock_timestamp() + make_interval(secs => $3), m.expires_at)
         FROM (SELECT) one LEFT JOIN made_by m ON true WHERE $4::uuid IS NULL OR m.id IS NOT NULL
       RETURNING etl.rfc3339(expires_at) AS expires_at`,
      [hash, tokenHash, seconds, session],
    )
  }

  async findCode(hash: Buffer): Promise<Buffer | null> {
    const [row] = await this.#database.query<{ token_hash: Buffer }>(
      `SELECT token_hash FROM etl.etl_sessions WHERE hash = $1 AND kind = 'code' AND expires_at > clock_timestamp()`,
      [hash],
    )
    return row?.token_hash ?? null
  }

  exchangeCode(code: Buffer, session: NewSession): Promise<string | null> {
    const { hash, keyHash, seconds, openedFrom, userAgent } = session
    // Never longer than the session that created the code: a chain of codes would keep a family alive permanently.
    // That session is locked before the code, as a sign-out does: the other order would deadlock.
    return this.#insert(
      `WITH maker AS MATERIALIZED (
         SELECT p.id FROM etl.etl_sessions c JOIN etl.etl_sessions p ON p.id = c.parent
          WHERE c.hash = $1 FOR KEY SHARE OF p),
       taken AS (
         DELETE FROM etl.etl_sessions WHERE hash = $1 AND kind = 'code' AND expires_at > clock_timestamp()
            AND (parent IS NULL OR parent IN (SELECT id FROM maker))
         RETURNING gen_random_uuid() AS id, token_hash, parent, family)
       INSERT INTO etl.etl_sessions
              (id, parent, family, hash, key_hash, token_hash, kind, expires_at, opened_from, user_agent)
       SELECT c.id, c.parent, coalesce(c.family, c.id), $2, $3, c.token_hash, 'session',
              least(clock_timestamp() + make_interval(secs => $4), p.expires_at), $5, $6
         FROM taken c LEFT JOIN etl.etl_sessions p ON p.id = c.parent
       RETURNING etl.rfc3339(expires_at) AS expires_at`,
      [code, hash, keyHash, seconds, openedFrom, userAgent],
    )
  }

  async listSessions(filter: SessionFilter, { limit, cursor }: PageRequest): Promise<Page<ListedSession>> {
    const after = cursor === undefined ? null : readCursor(cursor, 2)
    const rows = await this.#database.query<ListedRow>(
      `SELECT s.id, s.parent, s.opened_from, s.user_agent, etl.rfc3339(s.created_at) AS created_at,
              etl.rfc3339(s.used_at) AS used_at, etl.rfc3339(least(s.expires_at, t.expires_at)) AS expires_at,
              t.id AS token_id, t.name, t.role
         FROM ${USABLE} AND ($4::timestamptz IS NULL OR (s.created_at, s.id) < ($4, $5::uuid))
        ORDER BY s.created_at DESC, s.id DESC LIMIT $6`,
      [...which(filter), after?.[0] ?? null, after?.[1] ?? null, limit + 1],
    )
    return pageOf(rows.map(toListed), limit, ({ createdAt, id }) => [createdAt, id])
  }

  endSession(id: string, filter: SessionFilter, author: Author): Promise<boolean> {
    return this.#database.transaction(async (session) => {
      const rows = await deleteSessions(session, `SELECT s.id FROM ${USABLE} AND s.id = $4`, [
        ...which(filter),
        id,
      ])
      if (rows.length > 0)
        await writeAudit(session, author, { action: 'session.end', kind: 'session', id, name: null })
      return rows.length > 0
    })
  }

  endSessions(filter: SessionFilter & { except: string | null }, author: Author): Promise<number> {
    return this.#database.transaction(async (session) => {
      const rows = await deleteSessions(
        session,
        `SELECT s.id FROM ${USABLE}
            AND s.family IS DISTINCT FROM (SELECT family FROM etl.etl_sessions WHERE id = $4)`,
        [...which(filter), filter.except],
      )
      const diff = { ended: rows.length, of: which(filter)[2] }
      const action = { action: 'session.end_all', kind: 'session', id: 'all', name: null, diff } as const
      if (rows.length > 0) await writeAudit(session, author, action)
      return rows.length
    })
  }

  /** Null: nothing was inserted, or its family was signed out meanwhile. The foreign key decides which came first. */
  async #insert(statement: string, parameters: readonly unknown[]): Promise<string | null> {
    try {
      const [row] = await this.#database.query<{ expires_at: string }>(statement, parameters)
      return row?.expires_at ?? null
    } catch (error) {
      if (sqlstateOf(error) === FOREIGN_KEY_VIOLATION) return null
      throw error
    }
  }
}

const which = ({ administrators, idleSeconds, tokenId }: SessionFilter): [Buffer, number, string] => [
  administrators,
  idleSeconds,
  tokenId === undefined ? 'everyone' : (tokenId ?? 'administrator'),
]

/**
 * Sessions opened from them are deleted with them, and so are their codes. Locked from the oldest on, as the foreign
 * key does.
 */
async function deleteSessions(session: Queryable, ids: string, parameters: unknown[]): Promise<unknown[]> {
  return session.query(
    `DELETE FROM etl.etl_sessions
      WHERE id IN (${ids} ORDER BY s.created_at, s.id FOR UPDATE OF s) RETURNING id`,
    parameters,
  )
}

function toListed(row: ListedRow): ListedSession {
  return {
    id: row.id,
    token: row.token_id === null ? null : { id: row.token_id, name: row.name!, role: row.role! },
    createdAt: row.created_at,
    lastUsedAt: row.used_at,
    expiresAt: row.expires_at,
    openedFrom: row.opened_from,
    userAgent: row.user_agent,
    startedFrom: row.parent,
  }
}
