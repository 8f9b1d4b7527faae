import { createHash, timingSafeEqual } from 'node:crypto'
import type { Role } from '../../model/access.js'
import type { TokenStore } from '../../ports/token-store.js'

/** The authenticated caller. */
export interface Caller {
  readonly id: string
  readonly name: string
  readonly role: Role
  /** When the token expires; null: never. */
  readonly expiresAt: string | null
}

export type AuthFailure = 'missing' | 'unknown' | 'expired' | 'revoked' | 'rotated' | 'ended' | 'unproven'

/** A token of this length cannot be guessed, even one chosen by a person. */
const UNGUESSABLE_LENGTH = 32

export const ADMINISTRATOR_ID = 'administrator'
const ADMINISTRATOR: Caller = {
  id: ADMINISTRATOR_ID,
  name: 'administrator',
  role: 'admin',
  expiresAt: null,
}

/** Returns the owner of the token with this hash. */
export class Identity {
  readonly #administrators: Buffer
  readonly #tokens: TokenStore
  readonly #isGuessable: boolean

  /** `token` is the token of the administrator. */
  constructor(token: string, tokens: TokenStore) {
    this.#administrators = digest(token)
    this.#tokens = tokens
    this.#isGuessable = token.length < UNGUESSABLE_LENGTH
  }

  /** SHA-256 of the administrator's token, which is in no table. */
  get administrators(): Buffer {
    return this.#administrators
  }

  /** Every token except the administrator's is created by Vitrina from 256 random bits. */
  isGuessable(hash: Buffer): boolean {
    return this.#isGuessable && timingSafeEqual(hash, this.#administrators)
  }

  /** `from` is the client address of the request. */
  async of(hash: Buffer, from: string): Promise<Caller | AuthFailure> {
    if (timingSafeEqual(hash, this.#administrators)) return ADMINISTRATOR
    const found = await this.#tokens.findToken(hash, from)
    if (found === null) return 'unknown'
    if (found.state !== 'valid') return found.state
    // Names are not unique; the first characters of the id distinguish them in the audit.
    const { id, name, role, expiresAt } = found
    return { id, name: `${name}#${id.slice(0, 8)}`, role, expiresAt }
  }
}

export const AUTH_FAILURES: Readonly<Record<AuthFailure, string>> = {
  missing: 'The request has no bearer token.',
  unknown: 'The token is invalid.',
  expired: 'The token has expired.',
  revoked: 'The token was revoked.',
  rotated: 'The token was rotated and has a new value.',
  ended: 'The session has ended.',
  unproven: 'The session cookie was sent without its key, the csrf_token returned at sign-in.',
}

/** Equal lengths for any input: timingSafeEqual throws otherwise, and timing would reveal the length. */
export function digest(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
