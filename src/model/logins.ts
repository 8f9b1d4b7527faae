import { createHmac } from 'node:crypto'

/** The database logins that the migrations create. */
export const LOGINS = { reader: 'vitrina_reader', writer: 'vitrina_writer', meta: 'vitrina_meta' } as const
export type Login = keyof typeof LOGINS

/** Derived, so that every process that knows DATABASE_URL also knows the logins, and nothing has to be stored. */
export function loginPassword(administratorUrl: string, login: Login): string {
  const secret = decodeURIComponent(new URL(administratorUrl).password)
  return createHmac('sha256', `vitrina:${secret}`).update(LOGINS[login]).digest('base64url')
}
