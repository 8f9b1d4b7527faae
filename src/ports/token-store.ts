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
  readonly state: 'valid' | 'expired' | 'revoked'
}

export interface TokenStore {
  /** Whose token this is. Asked with every request, so that a revoked one ends at once. */
  findToken(hash: Buffer): Promise<FoundToken | null>
  createToken(token: NewToken, author: Author): Promise<Token>
  listTokens(page: { limit: number; cursor?: string }): Promise<Page<Token>>
  /** Revoking twice changes nothing. Null: there is no such token. */
  revokeToken(id: string, author: Author): Promise<Token | null>
}
