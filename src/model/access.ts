/** Each role includes the permissions of those before it. */
export const ROLES = ['viewer', 'operator', 'admin'] as const
export type Role = (typeof ROLES)[number]

export function mayActAs(role: Role, needed: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed)
}

/** Who makes a change, for versions and audit. */
export interface Author {
  /** Distinguishes callers with the same name. */
  readonly id: string
  readonly name: string
  readonly requestId: string
  /** The position of the request in a trace; runs that it requests belong to it. Null: not traced. */
  readonly traceparent: string | null
}

/** A bearer token, without its value, which is shown once and never stored. */
export interface Token {
  readonly id: string
  readonly name: string
  readonly role: Role
  readonly createdBy: string
  readonly createdAt: string
  readonly expiresAt: string | null
  readonly revokedAt: string | null
  /** When it last got a new value. */
  readonly rotatedAt: string | null
  /** Until when the previous value is valid; null: it is not. */
  readonly previousUntil: string | null
  readonly lastUsedAt: string | null
  /** The address that it was last used from. */
  readonly lastUsedFrom: string | null
}
