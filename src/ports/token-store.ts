import type { Author, Role, Token } from '../model/access.js'
import type { Page } from './catalog.js'

export interface NewToken {
  readonly name: string
  readonly role: Role
  /** SHA-256 of the value. */
  readonly hash: Buffer
  readonly expiresAt: string | null
}

export interface FoundToken {
  readonly id: string
  readonly name: string
  readonly role: Role
  readonly expiresAt: string | null
  /** rotated: the value was replaced, and its grace period is over. */
  readonly state: 'valid' | 'expired' | 'revoked' | 'rotated'
}

export interface Rotation {
  readonly id: string
  /** SHA-256 of the new value. */
  readonly hash: Buffer
  /** How long the old value stays valid. */
  readonly graceSeconds: number
  /** When the token expires; undefined: unchanged. */
  readonly expiresAt: string | null | undefined
  /** SHA-256 of the session of the request: it continues with the new value, if it belongs to this token. */
  readonly session: Buffer | null
}

export interface TokenStore {
  /** The owner of this token. Called with every request, so that a revoked token ends at once. */
  findToken(hash: Buffer, from: string): Promise<FoundToken | null>
  createToken(token: NewToken, author: Author): Promise<Token>
  listTokens(page: { limit: number; cursor?: string }): Promise<Page<Token>>
  /** Null: the token does not exist. A revoked or expired token is not changed: 'ended'. */
  rotateToken(rotation: Rotation, author: Author): Promise<Token | 'ended' | null>
  /** Revoking twice changes nothing. Null: the token does not exist. */
  revokeToken(id: string, author: Author): Promise<Token | null>
}
