import { createHash, timingSafeEqual } from 'node:crypto'
import type { Role } from '../../model/access.js'
import type { TokenStore } from '../../ports/token-store.js'

/** Who asks. */
export interface Caller {
  readonly id: string
  readonly name: string
  readonly role: Role
  /** When the token ends; null: never. */
  readonly expiresAt: string | null
}

export type Refusal = 'missing' | 'unknown' | 'expired' | 'revoked' | 'rotated' | 'ended' | 'unproven'

/** A token of so many characters is hopeless to guess, even one that a person thought up. */
const UNGUESSABLE_LENGTH = 32

export const ADMINISTRATOR_ID = 'administrator'
const ADMINISTRATOR: Caller = {
  id: ADMINISTRATOR_ID,
  name: 'administrator',
  role: 'admin',
  expiresAt: null,
}

/** Whose token has this hash. */
export class Identity {
  readonly #administrators: Buffer
  readonly #tokens: TokenStore
  readonly #isGuessable: boolean

  /** `token` is the administrator's. */
  constructor(token: string, tokens: TokenStore) {
    this.#administrators = digest(token)
    this.#tokens = tokens
    this.#isGuessable = token.length < UNGUESSABLE_LENGTH
  }

  /** SHA-256 of the administrator's token, which no table holds. */
  get administrators(): Buffer {
    return this.#administrators
  }

  /** Every token but the administrator's is made by us, of 256 random bits. */
  isGuessable(hash: Buffer): boolean {
    return this.#isGuessable && timingSafeEqual(hash, this.#administrators)
  }

  /** `from` is the address that the request came from. */
  async of(hash: Buffer, from: string): Promise<Caller | Refusal> {
    if (timingSafeEqual(hash, this.#administrators)) return ADMINISTRATOR
    const found = await this.#tokens.findToken(hash, from)
    if (found === null) return 'unknown'
    if (found.state !== 'valid') return found.state
    // Names are not unique; the beginning of the id tells two of them apart in the audit.
    const { id, name, role, expiresAt } = found
    return { id, name: `${name}#${id.slice(0, 8)}`, role, expiresAt }
  }
}

export const REFUSALS: Readonly<Record<Refusal, string>> = {
  missing: 'The request carries no bearer token.',
  unknown: 'The token is not valid.',
  expired: 'The token has expired.',
  revoked: 'The token was revoked.',
  rotated: 'The token was rotated: it has another value now.',
  ended: 'The session has ended.',
  unproven: 'The session cookie came without its key, which the sign-in returned as csrf_token.',
}

/** Equal lengths, whatever was given: timingSafeEqual throws otherwise, and the length itself would be told by time. */
export function digest(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
