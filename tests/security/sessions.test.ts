import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { anApi, type TestApi, TOKEN } from '../support/api.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { type BrowserHeaders, signIn } from '../support/sign-in.js'
import { waitFor } from '../support/wait.js'

let database: TestDatabase
let api: TestApi
beforeAll(async () => {
  database = await aDatabase()
  api = anApi(database.loginUrl('meta'))
})

type Method = 'GET' | 'POST' | 'DELETE'
const ask = (headers: Record<string, string>, url: string, method: Method = 'GET', payload?: object) =>
  api.app.inject({ method, url, headers, ...(payload === undefined ? {} : { payload }) })
const status = async (headers: Record<string, string>) => (await ask(headers, '/pipelines')).statusCode
const codeOf = async (headers: Record<string, string>): Promise<string> =>
  (await ask(headers, '/session/code', 'POST')).json().code
const signOut = (headers: BrowserHeaders) => ask(headers, '/session', 'DELETE')
const mine = async (headers: Record<string, string>) => (await ask(headers, '/sessions')).json().items
const aToken = async (role: string): Promise<{ id: string; token: string }> =>
  (await api.post('/tokens', { name: `${role} of a test`, role })).json()
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

describe('a stolen session', () => {
  it('ends with the sign-out of its owner, regardless of the codes it was passed through', async () => {
    const owner = await signIn(api, { token: TOKEN })
    const thief = await signIn(api, { code: await codeOf(owner) })
    const accomplice = await signIn(api, { code: await codeOf(thief) })
    const unused = await codeOf(accomplice)
    expect([await status(thief), await status(accomplice)]).toEqual([200, 200])
    await signOut(owner)
    expect([await status(owner), await status(thief), await status(accomplice)]).toEqual([401, 401, 401])
    const late = await ask({ 'x-csrf': '1' }, '/session', 'POST', { code: unused })
    expect(late.statusCode).toBe(401)
  })

  it('ends the session it came from when it signs out itself', async () => {
    const owner = await signIn(api, { token: TOKEN })
    const other = await signIn(api, { code: await codeOf(owner) })
    await signOut(other)
    expect([await status(owner), await status(other)]).toEqual([401, 401])
  })

  it('does not end sessions that were opened with the token by themselves', async () => {
    const [one, other] = [await signIn(api, { token: TOKEN }), await signIn(api, { token: TOKEN })]
    const byCode = await signIn(api, { code: await codeOf(bearer(TOKEN)) })
    await signOut(one)
    expect([await status(one), await status(other), await status(byCode)]).toEqual([401, 200, 200])
  })

  it('does not get another week from a code', async () => {
    const owner = await signIn(api, { token: TOKEN })
    const { expires_at } = (await ask(owner, '/session')).json()
    const [session] = (await mine(owner)).filter(({ current }: { current: boolean }) => current)
    await database.query(
      "UPDATE etl.etl_sessions SET expires_at = expires_at - interval '6 days' WHERE id = $1",
      [session.id],
    )
    const heir = await signIn(api, { code: await codeOf(owner) })
    const inherited = (await ask(heir, '/session')).json().expires_at
    expect(inherited).toBe((await ask(owner, '/session')).json().expires_at)
    expect(inherited < expires_at).toBe(true)
  })

  it('is not created by a code that is exchanged while related sessions sign out', async () => {
    for (let round = 0; round < 15; round++) {
      const owner = await signIn(api, { token: TOKEN })
      const codes = [await codeOf(owner), await codeOf(owner), await codeOf(owner)]
      const [answers, out] = await Promise.all([
        Promise.all(
          codes.map((code) =>
            api.app.inject({
              method: 'POST',
              url: '/session',
              payload: { code },
              headers: { 'x-csrf': '1' },
            }),
          ),
        ),
        signOut(owner),
      ])
      expect(out.statusCode).toBe(204)
      const opened = answers.filter(({ statusCode }) => statusCode === 200)
      for (const answer of opened) {
        const cookie = String(answer.headers['set-cookie']).split(';')[0]!
        expect(await status({ cookie, 'x-csrf': answer.json().csrf_token })).toBe(401)
      }
      expect(
        answers.map(({ statusCode }) => statusCode).filter((code) => ![200, 401].includes(code)),
      ).toEqual([])
    }
  })

  it.each([
    ['make a token', '/tokens', { name: 'mine', role: 'admin' }],
    ['rotate a token', '/tokens/:id/rotate', {}],
  ])('cannot %s', async (_what, path, payload) => {
    const { id } = await aToken('viewer')
    const session = await signIn(api, { token: TOKEN })
    const url = path.replace(':id', id)
    const refused = await ask(session, url, 'POST', payload)
    expect([refused.statusCode, refused.json().code]).toEqual([403, 'TOKEN_REQUIRED'])
    const wrong = await ask({ ...session, ...bearer('nonsense') }, url, 'POST', payload)
    expect(wrong.statusCode).toBe(401)
    const proven = await ask({ ...session, ...bearer(TOKEN) }, url, 'POST', payload)
    expect(proven.json().token).toMatch(/^vtr_/)
  })
})

describe('a server on another port of the same host', () => {
  /** What a browser sends to it: cookies do not know ports. */
  async function aThief(): Promise<{ url: string; stolen: () => string | undefined }> {
    let cookie: string | undefined
    const server = createServer((request, response) => {
      cookie = request.headers.cookie
      response.end()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, stolen: () => cookie }
  }

  it('gets the cookie, and can neither read nor act with it', async () => {
    const session = await signIn(api, { token: TOKEN })
    const thief = await aThief()
    await fetch(thief.url, { headers: { cookie: session.cookie } })
    const cookie = (await waitFor(async () => thief.stolen() ?? false, { what: 'the cookie' })) as string
    const attempts: Record<string, string>[] = [
      { cookie },
      { cookie, 'sec-fetch-site': 'same-origin' },
      { cookie, 'x-csrf': '1', 'sec-fetch-site': 'same-origin' },
      { cookie, 'x-csrf': '' },
      { cookie, 'x-csrf': cookie.split('=')[1]! },
    ]
    for (const forged of attempts)
      for (const [method, url] of [
        ['GET', '/session'],
        ['GET', '/pipelines'],
        ['GET', '/events'],
        ['GET', '/runs/00000000-0000-0000-0000-000000000000/log.txt'],
        ['GET', '/audit.csv'],
        ['POST', '/session/code'],
        ['DELETE', '/session'],
        ['DELETE', '/sessions'],
      ] as const) {
        const { statusCode, headers } = await ask(forged, url, method)
        expect([url, statusCode, headers['set-cookie']]).toEqual([url, 401, undefined])
      }
    expect(await status(session)).toBe(200)
  })

  it('cannot use the key of one session with the cookie of another', async () => {
    const [one, other] = [await signIn(api, { token: TOKEN }), await signIn(api, { token: TOKEN })]
    expect(await status({ cookie: one.cookie, 'x-csrf': other['x-csrf'] })).toBe(401)
  })

  it('finds neither secret in the database or in the log', async () => {
    const session = await signIn(api, { token: TOKEN })
    const kept = JSON.stringify([await database.query('SELECT * FROM etl.etl_sessions'), api.lines])
    expect(kept).not.toContain(session['x-csrf'])
    expect(kept).not.toContain(session.cookie.split('=')[1])
  })
})

describe('a cookie of the version before', () => {
  it('leads to the sign-in, and does not prevent it', async () => {
    await database.query(
      `INSERT INTO etl.etl_sessions (hash, token_hash, kind, expires_at)
       VALUES (sha256('old'), sha256($1), 'session', clock_timestamp() + interval '1 day')`,
      [Buffer.from(TOKEN)],
    )
    const cookie = 'vitrina_session_80=old'
    const answer = await ask({ cookie, 'x-csrf': '1', 'sec-fetch-site': 'same-origin' }, '/session')
    expect([answer.statusCode, answer.json().detail]).toEqual([401, 'The session has ended.'])
    const fresh = await signIn(api, { token: TOKEN }, { cookie })
    expect(await status(fresh)).toBe(200)
  })
})

describe('sessions', () => {
  it('are listed with distinguishing details, and without their secrets', async () => {
    const { id, token } = await aToken('operator')
    const first = await signIn(api, { token }, { 'user-agent': 'Firefox on a desk' })
    const second = await signIn(api, { code: await codeOf(first) })
    const items = await mine(first)
    expect(items).toMatchObject([
      { current: false, user_agent: 'lightMyRequest', started_from: items[1].id },
      {
        current: true,
        name: 'operator of a test',
        token_id: id,
        role: 'operator',
        opened_from: '127.0.0.1',
        user_agent: 'Firefox on a desk',
        started_from: null,
      },
    ])
    for (const { created_at, last_used_at, expires_at } of items)
      expect([created_at, last_used_at, expires_at].join()).toMatch(/^([\d-]+T[\d:.]+Z,?){3}$/)
    expect(JSON.stringify(items)).not.toContain(second['x-csrf'])
    expect(Object.keys(items[0])).not.toContain('hash')
  })

  it('of another token are for administrators to see and to end', async () => {
    const [owner, stranger] = [await aToken('viewer'), await aToken('operator')]
    const session = await signIn(api, { token: owner.token })
    const [{ id }] = await mine(session)
    expect(await mine(bearer(stranger.token))).toEqual([])
    expect((await ask(bearer(stranger.token), '/sessions?everyone=true')).statusCode).toBe(403)
    expect((await ask(bearer(stranger.token), '/sessions?everyone=true', 'DELETE')).statusCode).toBe(403)
    const refused = await ask(bearer(stranger.token), `/sessions/${id}`, 'DELETE')
    expect([refused.statusCode, refused.json().code]).toEqual([404, 'SESSION_NOT_FOUND'])
    expect(await status(session)).toBe(200)
    const all = (await api.get('/sessions?everyone=true&limit=200')).json().items
    expect(all.map((item: { id: string }) => item.id)).toContain(id)
    expect((await ask(bearer(TOKEN), `/sessions/${id}`, 'DELETE')).statusCode).toBe(204)
    expect(await status(session)).toBe(401)
    const { items } = (await api.get('/audit?action=session.end')).json()
    expect(items[0]).toMatchObject({ actor: 'administrator', target_kind: 'session', target_id: id })
  })

  it('are ended one by one, with those started from them and no others', async () => {
    const { token } = await aToken('viewer')
    const desk = await signIn(api, { token })
    const phone = await signIn(api, { code: await codeOf(desk) })
    const tablet = await signIn(api, { code: await codeOf(phone) })
    const { id } = (await mine(phone)).find(({ current }: { current: boolean }) => current)
    expect((await ask(desk, `/sessions/${id}`, 'DELETE')).statusCode).toBe(204)
    expect([await status(desk), await status(phone), await status(tablet)]).toEqual([200, 401, 401])
    expect((await ask(desk, `/sessions/${id}`, 'DELETE')).json().code).toBe('SESSION_NOT_FOUND')
    expect((await ask(desk, '/sessions/nonsense', 'DELETE')).json().code).toBe('SESSION_NOT_FOUND')
  })

  it('are all ended at once, or all but the one that asks', async () => {
    const { token } = await aToken('viewer')
    const [one, two, three] = [
      await signIn(api, { token }),
      await signIn(api, { token }),
      await signIn(api, { token }),
    ]
    expect((await ask(one, '/sessions?keep_current=true', 'DELETE')).json()).toEqual({ ended: 2 })
    expect([await status(one), await status(two), await status(three)]).toEqual([200, 401, 401])
    const last = await ask(one, '/sessions', 'DELETE')
    expect([last.json(), last.headers['set-cookie']]).toEqual([
      { ended: 1 },
      expect.stringMatching('Max-Age=0'),
    ])
    expect(await status(one)).toBe(401)
    expect(await status(bearer(token))).toBe(200)
  })

  it('that ended by themselves are not listed', async () => {
    const revoked = await aToken('viewer')
    await signIn(api, { token: revoked.token })
    const count = async () => (await api.get('/sessions?everyone=true&limit=200')).json().items.length
    const before = await count()
    await api.call({ method: 'DELETE', url: `/tokens/${revoked.id}` })
    expect(await count()).toBe(before - 1)
    const { token } = await aToken('viewer')
    const idle = await signIn(api, { token })
    const [{ id }] = await mine(idle)
    await database.query(
      "UPDATE etl.etl_sessions SET used_at = clock_timestamp() - interval '13 hours' WHERE id = $1",
      [id],
    )
    expect(await count()).toBe(before - 1)
  })
})
