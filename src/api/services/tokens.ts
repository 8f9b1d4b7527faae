import { randomBytes } from 'node:crypto'
import type { Author, Role, Token } from '../../model/access.js'
import { VitrinaError } from '../../model/errors.js'
import { isId } from '../../model/id.js'
import type { Page, PageRequest } from '../../ports/catalog.js'
import type { TokenStore } from '../../ports/token-store.js'
import { digest } from '../auth/identity.js'
import { notFound } from './not-found.js'

export interface TokenRequest {
  readonly name: string
  readonly role: Role
  readonly expiresAt: string | null
}

export interface RotationRequest {
  readonly graceSeconds: number
  readonly expiresAt: string | null | undefined
  /** The cookie of the browser that sent the request; null: a program sent it. */
  readonly session: string | null
}

/** Tokens are stored as hashes: a value is returned once, in the response that created it. */
export class TokenService {
  readonly #tokens: TokenStore

  constructor(tokens: TokenStore) {
    this.#tokens = tokens
  }

  async create(request: TokenRequest, author: Author): Promise<{ token: Token; value: string }> {
    const value = newValue()
    return { value, token: await this.#tokens.createToken({ ...request, hash: digest(value) }, author) }
  }

  list(page: PageRequest): Promise<Page<Token>> {
    return this.#tokens.listTokens(page)
  }

  /** The same token with a new value: its name in the audit and its role are kept. */
  async rotate(
    id: string,
    request: RotationRequest,
    author: Author,
  ): Promise<{ token: Token; value: string }> {
    const value = newValue()
    const session = request.session === null ? null : digest(request.session)
    const rotation = { ...request, id, hash: digest(value), session }
    const token = isId(id) ? await this.#tokens.rotateToken(rotation, author) : null
    if (token === null) throw notFound('TOKEN_NOT_FOUND', id)
    if (token === 'ended')
      throw new VitrinaError(
        'TOKEN_ENDED',
        'The token was revoked or has expired, so it cannot be rotated.',
        'Create a new one with POST /tokens.',
      )
    return { value, token }
  }

  async revoke(id: string, author: Author): Promise<Token> {
    const token = isId(id) ? await this.#tokens.revokeToken(id, author) : null
    if (token === null) throw notFound('TOKEN_NOT_FOUND', id)
    return token
  }
}

/** The prefix lets secret scanners find a token that was committed by mistake. */
function newValue(): string {
  return `vtr_${randomBytes(32).toString('base64url')}`
}
