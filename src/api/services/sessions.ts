import { randomBytes } from 'node:crypto'
import { VitrinaError } from '../../model/errors.js'
import type { OpenSession, SessionStore } from '../../ports/session-store.js'
import { type Caller, digest, type Identity, REFUSALS, type Refusal } from '../auth/identity.js'
import type { RateLimit } from '../auth/rate-limit.js'

export const SESSION_SECONDS = 7 * 24 * 3600
/** A console that is open keeps its session: its stream asks every few seconds. */
const IDLE_SECONDS = 12 * 3600
const CODE_SECONDS = 10 * 60

/** What somebody signs in with. */
export interface SignIn {
  readonly token?: string
  /** Works once, in place of the token. */
  readonly code?: string
  /** Where from: whoever guesses is slowed down. */
  readonly address: string
}

export interface SignedIn {
  readonly caller: Caller
  /** For the cookie. */
  readonly value: string
  readonly expiresAt: string
}

/** Sign-ins of browsers: a cookie that stands for a token, so that no script ever holds the token. */
export class SessionService {
  readonly #store: SessionStore
  readonly #identity: Identity
  readonly #limit: RateLimit

  constructor(store: SessionStore, identity: Identity, limit: RateLimit) {
    this.#store = store
    this.#identity = identity
    this.#limit = limit
  }

  async open({ token, code, address }: SignIn): Promise<SignedIn> {
    // Before anything is compared, or a right guess would still be told from a wrong one.
    this.#limit.take(address)
    const tokenHash = token === undefined ? await this.#store.takeCode(digest(code ?? '')) : digest(token)
    if (tokenHash === null)
      throw refused('The code is not valid any more: it works once, and for ten minutes.')
    const caller = await this.#identity.of(tokenHash, address)
    if (typeof caller === 'string') throw refused(REFUSALS[caller satisfies Refusal])
    this.#limit.giveBack(address)
    const value = randomBytes(32).toString('base64url')
    const expiresAt = await this.#store.openSession({
      hash: digest(value),
      tokenHash,
      seconds: SESSION_SECONDS,
    })
    return { caller, value, expiresAt }
  }

  find(value: string): Promise<OpenSession | null> {
    return this.#store.findSession(digest(value), IDLE_SECONDS)
  }

  close(value: string): Promise<void> {
    return this.#store.closeSession(digest(value))
  }

  /** A link that signs in once, for whoever holds the token already. */
  async createCode(tokenHash: Buffer): Promise<{ code: string; expiresAt: string }> {
    const code = randomBytes(24).toString('base64url')
    const expiresAt = await this.#store.createCode({ hash: digest(code), tokenHash, seconds: CODE_SECONDS })
    return { code, expiresAt }
  }
}

function refused(detail: string): VitrinaError {
  return new VitrinaError(
    'UNAUTHENTICATED',
    detail,
    'Sign in with a token that is valid, such as that of VITRINA_API_TOKEN; "vitrina tokens create" makes one.',
  )
}
