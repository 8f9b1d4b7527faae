import type { Author, Role, Token } from '../model/access.js'
import type { Page, PageRequest } from '../ports/catalog.js'
import type { FoundToken, NewToken, TokenStore } from '../ports/token-store.js'
import { writeAudit } from './catalog-audit.js'
import { pageOf, readCursor } from './catalog-page.js'
import type { Database } from './database.js'

const TOKEN_COLUMNS = `
  id, name, role, created_by, etl.rfc3339(created_at) AS created_at, etl.rfc3339(expires_at) AS expires_at,
  etl.rfc3339(revoked_at) AS revoked_at, etl.rfc3339(last_used_at) AS last_used_at`

interface TokenRow {
  id: string
  name: string
  role: Role
  created_by: string
  created_at: string
  expires_at: string | null
  revoked_at: string | null
  last_used_at: string | null
}

export class CatalogTokensRepository implements TokenStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async findToken(hash: Buffer): Promise<FoundToken | null> {
    // The use is written down once a minute: a console that asks every second must not write every second.
    const [row] = await this.#database.query<FoundToken>(
      `WITH used AS (
         UPDATE etl.etl_tokens SET last_used_at = clock_timestamp()
          WHERE hash = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > clock_timestamp())
            AND (last_used_at IS NULL OR last_used_at < clock_timestamp() - interval '1 minute'))
       SELECT id, name, role, etl.rfc3339(expires_at) AS "expiresAt", CASE WHEN revoked_at IS NOT NULL THEN 'revoked'
                WHEN expires_at <= clock_timestamp() THEN 'expired' ELSE 'valid' END AS state
         FROM etl.etl_tokens WHERE hash = $1`,
      [hash],
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
      return toToken(row!)
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
    return pageOf(rows.map(toToken), limit, (token) => [token.createdAt, token.id])
  }

  revokeToken(id: string, author: Author): Promise<Token | null> {
    return this.#database.transaction(async (session) => {
      const [revoked] = await session.query<TokenRow>(
        `UPDATE etl.etl_tokens SET revoked_at = clock_timestamp() WHERE id = $1 AND revoked_at IS NULL RETURNING ${TOKEN_COLUMNS}`,
        [id],
      )
      if (revoked !== undefined) {
        await writeAudit(session, author, { action: 'token.revoke', kind: 'token', id, name: revoked.name })
        return toToken(revoked)
      }
      const [row] = await session.query<TokenRow>(
        `SELECT ${TOKEN_COLUMNS} FROM etl.etl_tokens WHERE id = $1`,
        [id],
      )
      return row === undefined ? null : toToken(row)
    })
  }
}

function toToken(row: TokenRow): Token {
  return {
    id: row.id,
    name: row.name,
    role: row.role,
    createdBy: row.created_by,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
    lastUsedAt: row.last_used_at,
  }
}
