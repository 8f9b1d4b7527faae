import { randomBytes } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { Guesses } from '../../src/api/auth/guesses.js'
import { readSettings } from '../../src/config/settings.js'
import { type ApiOptions, anApi, type TestApi, TOKEN } from '../support/api.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { signIn } from '../support/sign-in.js'

let database: TestDatabase
beforeAll(async () => {
  database = await aDatabase()
})

const LIMIT = 30

/** As it is served; its administrator has a token that a person could have chosen. */
function aGuardedApi(options: ApiOptions = {}) {
  const api: TestApi = anApi(database.loginUrl('meta'), { wrongTokens: LIMIT, ...options })
  const ask = async (token: string, from: string, headers: Record<string, string> = {}) =>
    (
      await api.app.inject({
        url: '/pipelines',
        remoteAddress: from,
        headers: { authorization: `Bearer ${token}`, ...headers },
      })
    ).statusCode
  const enter = async (payload: object, from: string) =>
    (
      await api.app.inject({
        method: 'POST',
        url: '/session',
        payload,
        remoteAddress: from,
        headers: { 'x-csrf': '1' },
      })
    ).statusCode
  return { api, ask, enter }
}

const ATTACKER = '198.51.100.1'
const wrong = () => `vtr_${randomBytes(32).toString('base64url')}`

/** How often each status was answered. */
async function count(times: number, attempt: () => Promise<number>): Promise<Record<number, number>> {
  const found: Record<number, number> = {}
  for (let n = 0; n < times; n++) {
    const status = await attempt()
    found[status] = (found[status] ?? 0) + 1
  }
  return found
}

describe('guessing tokens', () => {
  it.each([
    ['bearer tokens', (stand: ReturnType<typeof aGuardedApi>) => stand.ask(wrong(), ATTACKER)],
    ['sign-ins', (stand: ReturnType<typeof aGuardedApi>) => stand.enter({ token: wrong() }, ATTACKER)],
    ['codes', (stand: ReturnType<typeof aGuardedApi>) => stand.enter({ code: wrong() }, ATTACKER)],
  ])('is stopped after 30 wrong %s in a minute', async (_what, attempt) => {
    const stand = aGuardedApi()
    const { 401: refused = 0, 429: limited = 0 } = await count(200, () => attempt(stand))
    // A slow machine gets some back while it counts.
    expect(refused).toBeGreaterThanOrEqual(LIMIT)
    expect([refused + limited, limited > 100]).toEqual([200, true])
  })

  it('has one limit for sign-ins and bearer tokens together', async () => {
    const { api, ask, enter } = aGuardedApi()
    await count(20, () => ask(wrong(), ATTACKER))
    const answers = await count(40, () => enter({ token: wrong() }, ATTACKER))
    expect(answers[429]).toBeGreaterThan(10)
    const answer = await api.app.inject({
      url: '/pipelines',
      remoteAddress: ATTACKER,
      headers: { authorization: `Bearer ${wrong()}` },
    })
    if (answer.statusCode === 429) {
      expect(answer.json()).toMatchObject({ code: 'RATE_LIMITED', detail: expect.stringContaining('wrong') })
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
    }
  })

  it('does not find a token that a person chose, once the limit is reached', () => {
    let now = 0
    const guesses = new Guesses(LIMIT, () => now)
    for (let n = 0; n < LIMIT; n++) guesses.wrong(ATTACKER)
    expect(() => guesses.wrong(ATTACKER)).toThrow('wrong tokens')
    expect(() => guesses.right(ATTACKER, true)).toThrow('wrong tokens')
    expect(() => guesses.right('198.51.100.2', true)).not.toThrow()
    now += 2_000
    guesses.right(ATTACKER, true)
  })

  it('does not lock out those who share the address', async () => {
    const { api, ask, enter } = aGuardedApi()
    const { token } = (await api.post('/tokens', { name: 'other', role: 'viewer' })).json()
    const { code } = (await api.post('/session/code')).json()
    const browser = await signIn(api, { token: TOKEN })
    await ask(TOKEN, ATTACKER)
    const guesses = await count(60, () => enter({ token: wrong() }, ATTACKER))
    expect(guesses[429]).toBeGreaterThan(10)
    // Neither was seen from this address before.
    expect([await ask(token, ATTACKER), await enter({ token }, ATTACKER)]).toEqual([200, 200])
    expect(await enter({ code }, ATTACKER)).toBe(200)
    const signedIn = await api.app.inject({ url: '/pipelines', remoteAddress: ATTACKER, headers: browser })
    expect(signedIn.statusCode).toBe(200)
    // The administrator's was used from here a moment ago.
    expect([await ask(TOKEN, ATTACKER), await enter({ token: TOKEN }, ATTACKER)]).toEqual([200, 200])
  })

  it('locks out a token that a person chose after very many wrong ones, even for an address that uses it', () => {
    const guesses = new Guesses(LIMIT, () => 0)
    guesses.right(ATTACKER, true)
    const guess = () => {
      try {
        guesses.wrong(ATTACKER)
      } catch {
        // It is stopped, and continues.
      }
    }
    for (let n = 0; n < LIMIT + 1; n++) guess()
    guesses.right(ATTACKER, true)
    for (let n = 0; n < LIMIT * 10; n++) guess()
    expect(() => guesses.right(ATTACKER, true)).toThrow('wrong tokens')
    expect(() => guesses.right(ATTACKER, false)).not.toThrow()
  })

  it('counts an IPv6 subscriber once, however many addresses it has', async () => {
    const { ask } = aGuardedApi()
    let n = 0
    const answers = await count(100, () => ask(wrong(), `2001:db8:1:2::${(++n).toString(16)}`))
    expect(answers[429]).toBeGreaterThan(40)
    expect(await ask(wrong(), '2001:db8:1:3::1')).toBe(401)
  })

  it('does not include requests with a revoked token', async () => {
    const { api, ask } = aGuardedApi()
    const { id, token } = (await api.post('/tokens', { name: 'gone', role: 'viewer' })).json()
    await api.call({ method: 'DELETE', url: `/tokens/${id}` })
    expect(await count(60, () => ask(token, ATTACKER))).toEqual({ 401: 60 })
  })
})

describe('X-Forwarded-For', () => {
  const via = (client: string) => ({ 'x-forwarded-for': client })

  it('is ignored unless the proxy is trusted', async () => {
    const { ask } = aGuardedApi()
    let n = 0
    const answers = await count(100, () => ask(wrong(), ATTACKER, via(`203.0.113.${++n}`)))
    expect(answers[429]).toBeGreaterThan(40)
  })

  it('distinguishes clients of a trusted proxy, and only its own entry counts', async () => {
    const { api, ask } = aGuardedApi({ trustedProxies: ['10.0.0.0/8'] })
    const proxy = '10.1.2.3'
    let n = 0
    // What the client wrote itself is to the left of what the proxy added.
    const answers = await count(100, () => ask(wrong(), proxy, via(`192.0.2.${++n}, ${ATTACKER}`)))
    expect(answers[429]).toBeGreaterThan(40)
    expect(await ask(wrong(), proxy, via('203.0.113.7'))).toBe(401)
    const { id, token } = (await api.post('/tokens', { name: 'seen', role: 'viewer' })).json()
    await ask(token, proxy, via('203.0.113.7'))
    const { items } = (await api.get('/tokens')).json()
    expect(items.find((item: { id: string }) => item.id === id).last_used_from).toBe('203.0.113.7')
  })

  it('is ignored when it is not an address', async () => {
    const { ask } = aGuardedApi({ trustedProxies: ['10.0.0.1'] })
    let n = 0
    const answers = await count(100, () => ask(wrong(), '10.0.0.1', via(`nonsense ${++n}`)))
    expect(answers[429]).toBeGreaterThan(40)
  })

  it.each(['10.0.0.0/33', 'proxy.example', '10.0.0.1/', '1.2.3.4/8/8', 'loopback'])(
    'is not configured with %s',
    (value) => {
      expect(() => readSettings({ VITRINA_TRUSTED_PROXIES: value })).toThrow(
        'VITRINA_TRUSTED_PROXIES must be',
      )
    },
  )

  it('is configured with addresses and networks', () => {
    const { VITRINA_TRUSTED_PROXIES } = readSettings({
      VITRINA_TRUSTED_PROXIES: '10.0.0.5, 2001:db8::/32,192.168.0.0/16',
    })
    expect(VITRINA_TRUSTED_PROXIES).toEqual(['10.0.0.5', '2001:db8::/32', '192.168.0.0/16'])
  })
})
