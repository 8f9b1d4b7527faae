import type { Author, Token } from '../../model/access.js'
import type { Page, PageRequest } from '../../ports/catalog.js'
import type { FoundToken, NewToken, Rotation, TokenStore } from '../../ports/token-store.js'
import type { Database } from '../database.js'
import { fromColumns, type SnakeCaseRow } from '../from-columns.js'
import { writeAudit } from './audit.js'
import { pageOf, readCursor } from './page.js'

const TOKEN_COLUMNS = `
  id, name, role, created_by, etl.rfc3339(created_at) AS created_at, etl.rfc3339(expires_at) AS expires_at,
  etl.rfc3339(revoked_at) AS revoked_at, etl.rfc3339(rotated_at) AS rotated_at,
  etl.rfc3339(CASE WHEN previous_until > clock_timestamp() THEN previous_until END) AS previous_until,
  etl.rfc3339(last_used_at) AS last_used_at, last_used_from`

type TokenRow = SnakeCaseRow<Token>

export class CatalogTokensRepository implements TokenStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async findToken(hash: Buffer, from: string): Promise<FoundToken | null> {
    // The use is recorded once a minute: a console that sends a request every second must not write every second.
    const [row] = await this.#database.query<FoundToken>(
      `WITH found AS (
         SELECT id, name, role, expires_at, last_used_at,
                CASE WHEN revoked_at IS NOT NULL THEN 'revoked' WHEN expires_at <= clock_timestamp() THEN 'expired'
                     WHEN hash <> $1 AND previous_until <= clock_timestamp() THEN 'rotated' ELSE 'valid' END AS state
           FROM etl.etl_tokens WHERE hash = $1 OR previous_hash = $1),
       used AS (
         UPDATE etl.etl_tokens t SET last_used_at = clock_timestamp(), last_used_from = $2 FROM found
          WHERE t.id = found.id AND found.state = 'valid'
            AND (found.last_used_at IS NULL OR found.last_used_at < clock_timestamp() - interval '1 minute'))
       SELECT id, name, role, etl.rfc3339(expires_at) AS "expiresAt", state FROM found`,
      [hash, from],
    )
    return row ?? null
  }

  createToken({ name, role, hash, expiresAt }: NewToken, author: Author): Promise<Token> {
    return this.#database.transaction(async (session) => {
      const [row] = await session.query<TokenRow>(
        `INSERT INTO etl.etl_tokens (name, role, hash, expires_at, created_by) VALUES ($1, $2, $3, $4, $5) RETURNING ${TOKEN_COLUMNS}`,
        [name, role, hash, expiresAt, author.name],
      )
      const diff = { role, expires_at: row!.expires_at }
      await writeAudit(session, author, { action: 'token.create', kind: 'token', id: row!.id, name, diff })
      return fromColumns<Token>(row!)
    })
  }

  async listTokens({ limit, cursor }: PageRequest): Promise<Page<Token>> {
    const after = cursor === undefined ? null : readCursor(cursor, 2)
    const rows = await this.#database.query<TokenRow>(
      `SELECT ${TOKEN_COLUMNS} FROM etl.etl_tokens t
        WHERE $1::timestamptz IS NULL OR (t.created_at, t.id) < ($1, $2::uuid)
        ORDER BY t.created_at DESC, t.id DESC LIMIT $3`,
      [after?.[0] ?? null, after?.[1] ?? null, limit + 1],
    )
    return pageOf(
      rows.map((row) => fromColumns<Token>(row)),
      limit,
      (token) => [token.createdAt, token.id],
    )
  }

  rotateToken(rotation: Rotation, author: Author): Promise<Token | 'ended' | null> {
    return this.#database.transaction(async (session) => {
      const { id, hash, graceSeconds, expiresAt } = rotation
      const [before] = await session.query<{ hash: Buffer; has_ended: boolean }>(
        `SELECT hash, revoked_at IS NOT NULL OR coalesce(expires_at <= clock_timestamp(), false) AS has_ended
           FROM etl.etl_tokens WHERE id = $1 FOR UPDATE`,
        [id],
      )
      if (before === undefined) return null
      if (before.has_ended) return 'ended'
      const [row] = await session.query<TokenRow>(
        `UPDATE etl.etl_tokens SET hash = $2, previous_hash = hash, rotated_at = clock_timestamp(),
                previous_until = clock_timestamp() + make_interval(secs => $3),
                expires_at = CASE WHEN $4 THEN $5::timestamptz ELSE expires_at END
          WHERE id = $1 RETURNING ${TOKEN_COLUMNS}`,
        [id, hash, graceSeconds, expiresAt !== undefined, expiresAt ?? null],
      )
      // A user who rotates the token of the current session has to see the new value before the session could end.
      await session.query('UPDATE etl.etl_sessions SET token_hash = $1 WHERE hash = $2 AND token_hash = $3', [
        hash,
        rotation.session,
        before.hash,
      ])
      const diff = { grace_seconds: graceSeconds, expires_at: row!.expires_at }
      await writeAudit(session, author, { action: 'token.rotate', kind: 'token', id, name: row!.name, diff })
      return fromColumns<Token>(row!)
    })
  }

  revokeToken(id: string, author: Author): Promise<Token | null> {
    return this.#database.transaction(async (session) => {
      const [revoked] = await session.query<TokenRow>(
        `UPDATE etl.etl_tokens SET revoked_at = clock_timestamp() WHERE id = $1 AND revoked_at IS NULL RETURNING ${TOKEN_COLUMNS}`,
        [id],
      )
      if (revoked !== undefined) {
        await writeAudit(session, author, { action: 'token.revoke', kind: 'token', id, name: revoked.name })
        return fromColumns<Token>(revoked)
      }
      const [row] = await session.query<TokenRow>(
        `SELECT ${TOKEN_COLUMNS} FROM etl.etl_tokens WHERE id = $1`,
        [id],
      )
      return row === undefined ? null : fromColumns<Token>(row)
    })
  }
}
