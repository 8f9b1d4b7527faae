import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { Author } from '../../model/access.js'
import { VitrinaError } from '../../model/errors.js'
import { isId } from '../../model/id.js'
import type { Page, PageRequest } from '../../ports/catalog.js'
import type {
  ListedSession,
  NewSession,
  OpenSession,
  SessionFilter,
  SessionStore,
} from '../../ports/session-store.js'
import { addressGroup } from '../auth/client-address.js'
import type { Guesses } from '../auth/guesses.js'
import {
  ADMINISTRATOR_ID,
  AUTH_FAILURES,
  type AuthFailure,
  type Caller,
  digest,
  type Identity,
} from '../auth/identity.js'
import { notFound } from './not-found.js'

export const SESSION_SECONDS = 7 * 24 * 3600
/** An open console keeps its session: its stream sends a request every few seconds. */
const IDLE_SECONDS = 12 * 3600
const CODE_SECONDS = 10 * 60
const MOST_USER_AGENT = 300

/** The credentials of a sign-in. */
export interface SignIn {
  readonly token?: string
  /** Works once, instead of the token. */
  readonly code?: string
  /** The client address: guessing is slowed down per address. */
  readonly address: string
  readonly userAgent: string | null
}

export interface SignedIn {
  readonly caller: Caller
  /** For the cookie, which is sent to every port of the host. */
  readonly value: string
  /** For the page, which stores it where only its own origin can read it. Neither works without the other. */
  readonly key: string
  readonly expiresAt: string
}

/** Whose sessions: those of all users, or those of the caller's own token. */
export interface SessionScope {
  readonly everyone: boolean
  readonly caller: Caller
}

/** Sign-ins of browsers: a cookie and a key replace the token, so that no script ever has the token. */
export class SessionService {
  readonly #store: SessionStore
  readonly #identity: Identity
  readonly #guesses: Guesses

  constructor(store: SessionStore, identity: Identity, guesses: Guesses) {
    this.#store = store
    this.#identity = identity
    this.#guesses = guesses
  }

  async open({ token, code, address, userAgent }: SignIn): Promise<SignedIn> {
    const codeHash = token === undefined ? digest(code ?? '') : null
    const tokenHash = codeHash === null ? digest(token!) : await this.#store.findCode(codeHash)
    const caller = tokenHash === null ? 'unknown' : await this.#identity.of(tokenHash, address)
    if (tokenHash === null || typeof caller === 'string')
      throw this.#wrong(address, tokenHash === null ? null : (caller as AuthFailure))
    this.#guesses.right(addressGroup(address), codeHash === null && this.#identity.isGuessable(tokenHash))
    const { value, key, session } = newSession(address, userAgent)
    const expiresAt =
      codeHash === null
        ? await this.#store.openSession(session, tokenHash)
        : await this.#store.exchangeCode(codeHash, session)
    if (expiresAt === null) throw refused(CODE_INVALID)
    return { caller, value, key, expiresAt }
  }

  /** `key` is what the page sent; the cookie alone is not enough. */
  async find(value: string, key: string | null): Promise<OpenSession | 'ended' | 'unproven'> {
    const session = await this.#store.findSession(digest(value), IDLE_SECONDS)
    if (session === null || session.keyHash === null) return 'ended'
    return key !== null && timingSafeEqual(session.keyHash, digest(key)) ? session : 'unproven'
  }

  /** Ends the session of this cookie and its whole family: sessions that codes opened from one another. */
  close(value: string): Promise<void> {
    return this.#store.closeFamily(digest(value))
  }

  list(scope: SessionScope, page: PageRequest): Promise<Page<ListedSession>> {
    return this.#store.listSessions(this.#filter(scope), page)
  }

  async end(id: string, scope: SessionScope, author: Author): Promise<void> {
    const found = isId(id) && (await this.#store.endSession(id, this.#filter(scope), author))
    if (!found) throw notFound('SESSION_NOT_FOUND', id)
  }

  /** All except the family of `except`. */
  endAll(scope: SessionScope, except: string | null, author: Author): Promise<number> {
    return this.#store.endSessions({ ...this.#filter(scope), except }, author)
  }

  /** A link that signs in once. Created from a session, it opens a session that ends together with it. */
  async createCode(tokenHash: Buffer, session: string | null): Promise<{ code: string; expiresAt: string }> {
    const code = randomBytes(24).toString('base64url')
    const expiresAt = await this.#store.createCode({
      hash: digest(code),
      tokenHash,
      seconds: CODE_SECONDS,
      session,
    })
    if (expiresAt === null) throw refused(AUTH_FAILURES.ended)
    return { code, expiresAt }
  }

  /** `why` is null for a code. */
  #wrong(address: string, why: AuthFailure | null): VitrinaError {
    if (why === null || why === 'unknown') this.#guesses.wrong(addressGroup(address))
    return refused(why === null ? CODE_INVALID : AUTH_FAILURES[why])
  }

  #filter({ everyone, caller }: SessionScope): SessionFilter {
    const own = caller.id === ADMINISTRATOR_ID ? null : caller.id
    return {
      administrators: this.#identity.administrators,
      tokenId: everyone ? undefined : own,
      idleSeconds: IDLE_SECONDS,
    }
  }
}

const CODE_INVALID = 'The code is no longer valid: it works once, for ten minutes.'

function newSession(openedFrom: string, userAgent: string | null) {
  const [value, key] = [randomBytes(32).toString('base64url'), randomBytes(32).toString('base64url')]
  const session: NewSession = {
    hash: digest(value),
    keyHash: digest(key),
    seconds: SESSION_SECONDS,
    openedFrom,
    userAgent: userAgent?.slice(0, MOST_USER_AGENT) ?? null,
  }
  return { value, key, session }
}

function refused(detail: string): VitrinaError {
  return new VitrinaError(
    'UNAUTHENTICATED',
    detail,
    'Sign in with a valid token, such as the value of VITRINA_API_TOKEN; "vitrina tokens create" creates one.',
  )
}
