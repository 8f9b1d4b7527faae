export interface NewSession {
  /** SHA-256 of what the browser keeps. */
  readonly hash: Buffer
  /** SHA-256 of the token it stands for. */
  readonly tokenHash: Buffer
  readonly seconds: number
}

export interface OpenSession {
  readonly tokenHash: Buffer
  readonly expiresAt: string
}

/** Sign-ins of browsers. Their values leave once; only hashes are kept. */
export interface SessionStore {
  /** Answers when it ends. */
  openSession(session: NewSession): Promise<string>
  /** Asked with every request. Null: there is none, it has ended, or nobody used it for `idleSeconds`. */
  findSession(hash: Buffer, idleSeconds: number): Promise<OpenSession | null>
  closeSession(hash: Buffer): Promise<void>
  /** Answers when it ends. */
  createCode(code: NewSession): Promise<string>
  /** The hash of the token that the code stands for, once; null ever after. */
  takeCode(hash: Buffer): Promise<Buffer | null>
}
