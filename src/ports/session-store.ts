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
  /** SHA-256 of the token it stands for. */
  readonly tokenHash: Buffer
  readonly seconds: number
  /** The session that makes it: what signs in with the code ends with that session. Null: a bearer token made it. */
  readonly session: string | null
}

export interface OpenSession {
  readonly id: string
  /** Null: opened by an older version, which knew only the cookie. */
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

/** Which sessions are meant. */
export interface SessionFilter {
  /** SHA-256 of the administrator's token. */
  readonly administrators: Buffer
  /** Those of this token; null: of the administrator's; undefined: everybody's. */
  readonly tokenId: string | null | undefined
  readonly idleSeconds: number
}

/** Sign-ins of browsers. Their values leave once; only hashes are kept. */
export interface SessionStore {
  /** Answers when it ends. */
  openSession(session: NewSession, tokenHash: Buffer): Promise<string>
  /** Asked with every request. Null: there is none, it has ended, or nobody used it for `idleSeconds`. */
  findSession(hash: Buffer, idleSeconds: number): Promise<OpenSession | null>
  /** Ends it and every session that was started from it, or that it was started from. */
  closeFamily(hash: Buffer): Promise<void>
  /** Answers when it ends; null: the session that makes it has ended. */
  createCode(code: NewCode): Promise<string | null>
  /** The hash of the token that the code stands for; null: the code is not valid. The code stays valid. */
  findCode(hash: Buffer): Promise<Buffer | null>
  /** Opens a session in the family of the code, which is gone after that. Answers when it ends; null: not valid any more. */
  exchangeCode(code: Buffer, session: NewSession): Promise<string | null>
  listSessions(filter: SessionFilter, page: PageRequest): Promise<Page<ListedSession>>
  /** Ends one, with those started from it. False: there is none. */
  endSession(id: string, filter: SessionFilter, author: Author): Promise<boolean>
  /** Ends all of them but the family of `except`. Answers how many. */
  endSessions(filter: SessionFilter & { readonly except: string | null }, author: Author): Promise<number>
}
