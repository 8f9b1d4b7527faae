import type { TestApi } from './api.js'

/** The headers of the console once it is signed in: the cookie, and the key that the page keeps. */
export interface BrowserHeaders extends Record<string, string> {
  readonly cookie: string
  readonly 'x-csrf': string
}

/** Signs a browser in, which must succeed. */
export async function signIn(
  { app }: Pick<TestApi, 'app'>,
  payload: { token: string } | { code: string },
  headers: Record<string, string> = {},
): Promise<BrowserHeaders> {
  const answer = await app.inject({
    method: 'POST',
    url: '/session',
    payload,
    headers: { 'x-csrf': '1', ...headers },
  })
  if (answer.statusCode !== 200) throw new Error(`the sign-in was rejected: ${answer.body}`)
  return {
    cookie: String(answer.headers['set-cookie']).split(';')[0]!,
    'x-csrf': answer.json().csrf_token,
  }
}
