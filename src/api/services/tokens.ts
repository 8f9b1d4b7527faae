import { randomBytes } from 'node:crypto'
import type { Author, Role, Token } from '../../model/access.js'
import type { Page, PageRequest } from '../../ports/catalog.js'
import type { TokenStore } from '../../ports/token-store.js'
import { digest } from '../auth/identity.js'
import { isId } from './id.js'
import { notFound } from './not-found.js'

export interface TokenWish {
  readonly name: string
  readonly role: Role
  readonly expiresAt: string | null
}

/** Tokens are kept as hashes: their values leave once, with the answer that made them. */
export class TokenService {
  readonly #tokens: TokenStore

  constructor(tokens: TokenStore) {
    this.#tokens = tokens
  }

  async create(wish: TokenWish, author: Author): Promise<{ token: Token; value: string }> {
    // The prefix lets secret scanners find one that was committed by mistake.
    const value = `vtr_${randomBytes(32).toString('base64url')}`
    return { value, token: await this.#tokens.createToken({ ...wish, hash: digest(value) }, author) }
  }

  list(page: PageRequest): Promise<Page<Token>> {
    return this.#tokens.listTokens(page)
  }

  async revoke(id: string, author: Author): Promise<Token> {
    const token = isId(id) ? await this.#tokens.revokeToken(id, author) : null
    if (token === null) throw notFound('TOKEN_NOT_FOUND', id)
    return token
  }
}
