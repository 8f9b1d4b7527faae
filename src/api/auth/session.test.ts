import { beforeAll, describe, expect, it } from 'vitest'
import { anApi, type TestApi, TOKEN } from '../../../tests/support/api.js'
import { aDatabase, type TestDatabase } from '../../../tests/support/database.js'
import { type BrowserHeaders, signIn as signedIn } from '../../../tests/support/sign-in.js'
import { sessionWire } from '../schemas/session.js'

let database: TestDatabase
let api: TestApi
beforeAll(async () => {
  database = await aDatabase()
  api = anApi(database.loginUrl('meta'), { connections: ['dwh'] })
})

const signIn = (payload: object, headers: Record<string, string> = {}) =>
  api.app.inject({
    method: 'POST',
    url: '/api/v1/session',
    payload,
    headers: { 'x-csrf': '1', ...headers },
  })

const whoAmI = (headers: BrowserHeaders) => api.app.inject({ url: '/api/v1/session', headers })

describe('signing in', () => {
  it('exchanges a token for a cookie that no script and no other site can use', async () => {
    const answer = await signIn({ token: TOKEN })
    expect(answer.statusCode).toBe(200)
    expect(answer.headers['set-cookie']).toMatch(
      /^vitrina_session_80=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=604800$/,
    )
    expect(sessionWire.parse(answer.json())).toMatchObject({
      name: 'administrator',
      role: 'admin',
      acts_as: ['viewer', 'operator', 'admin'],
      via: 'session',
      version: '0.0.0-test',
      targets: ['analytics.*'],
      connections: ['dwh'],
    })
    const cookie = String(answer.headers['set-cookie']).split(';')[0]!
    const { csrf_token, ...session } = answer.json()
    const who = await whoAmI({ cookie, 'x-csrf': csrf_token })
    expect([who.statusCode, who.json()]).toEqual([200, session])
  })

  it('marks the cookie Secure where TLS ends at a proxy', async () => {
    const answer = await signIn({ token: TOKEN }, { 'x-forwarded-proto': 'https', host: 'etl.example' })
    expect(answer.headers['set-cookie']).toMatch(/^vitrina_session=[\w-]{43}; .*; Secure$/)
  })

  it.each([
    [{ token: 'wrong' }, 401, 'The token is invalid.'],
    [{ code: 'wrong' }, 401, 'The code is no longer valid'],
    [{}, 422, ''],
    [{ token: 'a', code: 'b' }, 422, ''],
  ])('refuses %j', async (body, status, detail) => {
    const answer = await signIn(body)
    expect([answer.statusCode, answer.headers['set-cookie']]).toEqual([status, undefined])
    expect(answer.json().detail).toContain(detail)
  })

  it('is rejected for other sites', async () => {
    expect((await signIn({ token: TOKEN }, { 'sec-fetch-site': 'cross-site' })).json().code).toBe(
      'CROSS_SITE',
    )
    expect((await signIn({ token: TOKEN }, { origin: 'http://localhost:3000' })).json().code).toBe(
      'CROSS_SITE',
    )
    expect((await signIn({ token: TOKEN }, { origin: 'http://etl:8080', host: 'etl:8080' })).statusCode).toBe(
      200,
    )
  })

  it('stores neither the token nor the cookie in readable form', async () => {
    const { cookie } = await signedIn(api, { token: TOKEN })
    const kept = JSON.stringify([await database.query('SELECT * FROM etl.etl_sessions'), api.lines])
    expect(kept).not.toContain(cookie.split('=')[1])
    expect(kept).not.toContain(TOKEN)
  })
})

describe('a session', () => {
  it('ends permanently with a sign-out', async () => {
    const browser = await signedIn(api, { token: TOKEN })
    const out = await api.app.inject({ method: 'DELETE', url: '/api/v1/session', headers: browser })
    expect([out.statusCode, out.headers['set-cookie']]).toEqual([
      204,
      'vitrina_session_80=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0',
    ])
    const after = await whoAmI(browser)
    expect([after.statusCode, after.json().detail]).toEqual([401, 'The session has ended.'])
  })

  it('ends when its token is revoked, at once', async () => {
    const { id, token } = (await api.post('/tokens', { name: 'browser', role: 'viewer' })).json()
    const browser = await signedIn(api, { token })
    expect((await whoAmI(browser)).json()).toMatchObject({ role: 'viewer', acts_as: ['viewer'] })
    await api.call({ method: 'DELETE', url: `/tokens/${id}` })
    expect((await whoAmI(browser)).json().detail).toBe('The token was revoked.')
  })

  it('ends with its token, if that comes first', async () => {
    const expires_at = '2026-01-01T00:00:00.000000Z'.replace('2026', String(new Date().getFullYear() + 1))
    const { token } = (await api.post('/tokens', { name: 'long', role: 'viewer', expires_at })).json()
    const session = (await signIn({ token })).json().expires_at
    expect(session < expires_at).toBe(true)
    const soon = new Date(Date.now() + 3600_000).toISOString()
    const short = (await api.post('/tokens', { name: 'short', role: 'viewer', expires_at: soon })).json()
    expect((await signIn({ token: short.token })).json().expires_at).toBe(short.expires_at)
  })

  it.each([
    ['a week after the sign-in', "expires_at = clock_timestamp() - interval '1 second'"],
    ['after half a day without use', "used_at = clock_timestamp() - interval '12 hours 1 second'"],
  ])('ends %s', async (_when, change) => {
    const browser = await signedIn(api, { token: TOKEN })
    await database.query(`UPDATE etl.etl_sessions SET ${change}`)
    expect((await whoAmI(browser)).statusCode).toBe(401)
  })

  it('remains valid when used repeatedly', async () => {
    const browser = await signedIn(api, { token: TOKEN })
    await database.query("UPDATE etl.etl_sessions SET used_at = clock_timestamp() - interval '11 hours'")
    expect((await whoAmI(browser)).statusCode).toBe(200)
    await database.query("UPDATE etl.etl_sessions SET used_at = used_at - interval '11 hours'")
    expect((await whoAmI(browser)).statusCode).toBe(200)
  })
})

describe('a code', () => {
  it('signs in once, as its creator', async () => {
    const { token } = (await api.post('/tokens', { name: 'maker', role: 'operator' })).json()
    const made = await api.app.inject({
      method: 'POST',
      url: '/session/code',
      headers: { authorization: `Bearer ${token}` },
    })
    expect(made.statusCode).toBe(201)
    const { code } = made.json()
    expect((await signIn({ code })).json()).toMatchObject({ role: 'operator', via: 'session' })
    expect((await signIn({ code })).statusCode).toBe(401)
  })

  it('is not a session, and a session is not a code', async () => {
    const { code } = (await api.post('/session/code')).json()
    expect((await whoAmI({ cookie: `vitrina_session_80=${code}`, 'x-csrf': code })).statusCode).toBe(401)
    const browser = await signedIn(api, { token: TOKEN })
    for (const secret of [browser.cookie.split('=')[1], browser['x-csrf']])
      expect((await signIn({ code: secret })).statusCode).toBe(401)
  })

  it('is invalid after ten minutes', async () => {
    const { code, expires_at } = (await api.post('/session/code')).json()
    expect(new Date(expires_at).getTime() - Date.now()).toBeLessThanOrEqual(600_000)
    await database.query("UPDATE etl.etl_sessions SET expires_at = clock_timestamp() WHERE kind = 'code'")
    expect((await signIn({ code })).statusCode).toBe(401)
  })
})
