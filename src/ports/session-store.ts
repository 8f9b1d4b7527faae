import type { Author, Role } from '../model/access.js'
import type { Page, PageRequest } from './catalog.js'

/** A browser that signs in. */
export interface NewSession {
  /** SHA-256 of the cookie. */
  readonly hash: Buffer
  /** SHA-256 of the second secret, which the page sends in a header. */
  readonly keyHash: Buffer
  readonly seconds: number
  /** The address it was opened from. */
  readonly openedFrom: string
  readonly userAgent: string | null
}

export interface NewCode {
  readonly hash: Buffer
  /** SHA-256 of its token. */
  readonly tokenHash: Buffer
  readonly seconds: number
  /**
   * The session that creates it: a session opened with the code ends together with it. Null: created with a bearer
   * token.
   */
  readonly session: string | null
}

export interface OpenSession {
  readonly id: string
  /** Null: opened by an older version, which used only the cookie. */
  readonly keyHash: Buffer | null
  readonly tokenHash: Buffer
  readonly expiresAt: string
}

/** A session that can be used now. */
export interface ListedSession {
  readonly id: string
  /** Null: the administrator's token, which is in no table. */
  readonly token: { readonly id: string; readonly name: string; readonly role: Role } | null
  readonly createdAt: string
  /** To the minute. */
  readonly lastUsedAt: string
  readonly expiresAt: string
  readonly openedFrom: string | null
  readonly userAgent: string | null
  /** The session whose code opened it; null: a token did. */
  readonly startedFrom: string | null
}

/** Which sessions are selected. */
export interface SessionFilter {
  /** SHA-256 of the administrator's token. */
  readonly administrators: Buffer
  /** Those of this token; null: of the administrator's; undefined: of all users. */
  readonly tokenId: string | null | undefined
  readonly idleSeconds: number
}

/** Sign-ins of browsers. Their values are returned once; only hashes are stored. */
export interface SessionStore {
  /** Returns when it ends. */
  openSession(session: NewSession, tokenHash: Buffer): Promise<string>
  /** Called with every request. Null: it does not exist, has ended, or was not used for `idleSeconds`. */
  findSession(hash: Buffer, idleSeconds: number): Promise<OpenSession | null>
  /** Ends it and every session that was opened from it, or that it was opened from. */
  closeFamily(hash: Buffer): Promise<void>
  /** Returns when it ends; null: the session that creates it has ended. */
  createCode(code: NewCode): Promise<string | null>
  /** The hash of the token of the code; null: the code is invalid. The code stays valid. */
  findCode(hash: Buffer): Promise<Buffer | null>
  /**
   * Opens a session in the family of the code, which is deleted after that. Returns when it ends; null: no longer
   * valid.
   */
  exchangeCode(code: Buffer, session: NewSession): Promise<string | null>
  listSessions(filter: SessionFilter, page: PageRequest): Promise<Page<ListedSession>>
  /** Ends one, with those opened from it. False: it does not exist. */
  endSession(id: string, filter: SessionFilter, author: Author): Promise<boolean>
  /** Ends all of them except the family of `except`. Returns how many. */
  endSessions(filter: SessionFilter & { readonly except: string | null }, author: Author): Promise<number>
}
