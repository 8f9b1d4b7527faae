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
  /** rotated: the value was replaced, and its time is over. */
  readonly state: 'valid' | 'expired' | 'revoked' | 'rotated'
}

export interface Rotation {
  readonly id: string
  /** SHA-256 of the new value. */
  readonly hash: Buffer
  /** How long the old value still works. */
  readonly graceSeconds: number
  /** When the token ends; undefined: as before. */
  readonly expiresAt: string | null | undefined
  /** SHA-256 of the session that asks: it goes on with the new value, if it stands for this token. */
  readonly session: Buffer | null
}

export interface TokenStore {
  /** Whose token this is. Asked with every request, so that a revoked one ends at once. */
  findToken(hash: Buffer, from: string): Promise<FoundToken | null>
  createToken(token: NewToken, author: Author): Promise<Token>
  listTokens(page: { limit: number; cursor?: string }): Promise<Page<Token>>
  /** Null: there is no such token. One that was revoked or has expired is not touched: 'ended'. */
  rotateToken(rotation: Rotation, author: Author): Promise<Token | 'ended' | null>
  /** Revoking twice changes nothing. Null: there is no such token. */
  revokeToken(id: string, author: Author): Promise<Token | null>
}
