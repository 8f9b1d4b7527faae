import { createHmac } from 'node:crypto'

/** The database logins that the migrations create. */
export const LOGINS = { reader: 'vitrina_reader', writer: 'vitrina_writer', meta: 'vitrina_meta' } as const
export type Login = keyof typeof LOGINS

/** The login with REPLICATION of an embedded server. Elsewhere an administrator creates one, under any name. */
export const CAPTURE_LOGIN = 'vitrina_capture'

/** Derived, so that every process that knows DATABASE_URL also knows the logins, and nothing has to be stored. */
export function loginPassword(administratorUrl: string, login: Login): string {
  return derivedPassword(administratorUrl, LOGINS[login])
}

function derivedPassword(administratorUrl: string, name: string): string {
  const secret = decodeURIComponent(new URL(administratorUrl).password)
  return createHmac('sha256', `vitrina:${secret}`).update(name).digest('base64url')
}

/** The address of the login with REPLICATION of an embedded server. */
export function embeddedCaptureUrl(administratorUrl: string): string {
  const url = new URL(administratorUrl)
  url.username = CAPTURE_LOGIN
  url.password = derivedPassword(administratorUrl, CAPTURE_LOGIN)
  return url.href
}
