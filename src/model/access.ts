/** Each role may do what those before it may. */
export const ROLES = ['viewer', 'operator', 'admin'] as const
export type Role = (typeof ROLES)[number]

export function mayActAs(role: Role, needed: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed)
}

/** Who changes something, for versions and audit. */
export interface Author {
  /** Tells callers apart that have the same name. */
  readonly id: string
  readonly name: string
  readonly requestId: string
  /** Where the request stands in a trace; runs that it asks for belong to it. Null: nowhere. */
  readonly traceparent: string | null
}

/** A bearer token, without its value: that is shown once and never kept. */
export interface Token {
  readonly id: string
  readonly name: string
  readonly role: Role
  readonly createdBy: string
  readonly createdAt: string
  readonly expiresAt: string | null
  readonly revokedAt: string | null
  /** When it was last given a new value. */
  readonly rotatedAt: string | null
  /** Until when the value before that works too; null: it does not. */
  readonly previousUntil: string | null
  readonly lastUsedAt: string | null
  /** The address that it was last used from. */
  readonly lastUsedFrom: string | null
}
