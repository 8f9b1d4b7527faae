import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { anApi, type TestApi } from '../../../tests/support/api.js'
import { aDatabase, type TestDatabase } from '../../../tests/support/database.js'
import { type BrowserHeaders, signIn } from '../../../tests/support/sign-in.js'
import { ROLES, type Role } from '../../model/access.js'
import { tokenPage } from '../schemas/token.js'
import { requireRules } from './access.js'

let database: TestDatabase
let api: TestApi
const tokens: Record<string, string> = {}
/** The headers of browsers that signed in with other tokens of those roles, while these were still valid. */
const browsers: Record<string, BrowserHeaders> = {}
beforeAll(async () => {
  database = await aDatabase()
  api = anApi(database.loginUrl('meta'))
  for (const role of ROLES) {
    tokens[role] = (await aToken(role)).token
    browsers[role] = await signIn(api, { token: (await aToken(role)).token })
  }
  const expired = await aToken('admin')
  browsers.expired = await signIn(api, { token: expired.token })
  await database.query("UPDATE etl.etl_tokens SET expires_at = now() - interval '1 second' WHERE id = $1", [
    expired.id,
  ])
  const revoked = await aToken('admin')
  browsers.revoked = await signIn(api, { token: revoked.token })
  await api.call({ method: 'DELETE', url: `/tokens/${revoked.id}` })
  Object.assign(tokens, { expired: expired.token, revoked: revoked.token, wrong: 'vtr_nonsense' })
  browsers.wrong = { cookie: 'vitrina_session_80=nonsense', 'x-csrf': 'nonsense' }
})

async function aToken(role: Role): Promise<{ id: string; token: string }> {
  return (await api.post('/tokens', { name: `${role} token`, role })).json()
}

/** Every route, and the lowest role that may call it. A new route must be added here deliberately. */
const RULES: Record<string, Role | 'open'> = {
  'GET /openapi.json': 'open',
  'GET /docs': 'open',
  'GET /health': 'open',
  'GET /health/ready': 'open',
  'POST /session': 'open',
  'GET /session': 'viewer',
  'DELETE /session': 'viewer',
  'POST /session/code': 'viewer',
  'GET /sessions': 'viewer',
  'DELETE /sessions': 'viewer',
  'DELETE /sessions/:id': 'viewer',
  'GET /metrics': 'viewer',
  'GET /events': 'viewer',
  'GET /pipelines': 'viewer',
  'GET /pipelines/overview': 'viewer',
  'GET /pipelines/:id': 'viewer',
  'GET /pipelines/:id/status': 'viewer',
  'GET /pipelines/:id/state': 'viewer',
  'GET /pipelines/:id/runs': 'viewer',
  'GET /pipelines/:id/versions': 'viewer',
  'GET /pipelines/:id/versions/:version': 'viewer',
  'GET /pipelines/:id/quarantine': 'viewer',
  'GET /pipelines/:id/lineage': 'viewer',
  'GET /lineage': 'viewer',
  'GET /graph': 'viewer',
  'POST /graph/validate': 'operator',
  'GET /pipelines/:id/freshness': 'viewer',
  'GET /lineage/openlineage': 'viewer',
  'GET /quarantine': 'viewer',
  'GET /checks': 'viewer',
  'GET /pipelines/:id/checks': 'viewer',
  'POST /pipelines/:id/checks/run': 'operator',
  'GET /runs': 'viewer',
  'GET /runs/:id': 'viewer',
  'GET /runs/:id/batches': 'viewer',
  'GET /runs/:id/parts': 'viewer',
  'GET /runs/:id/log': 'viewer',
  'GET /runs/:id/log.txt': 'viewer',
  'GET /runners': 'viewer',
  'GET /tasks': 'viewer',
  'GET /catalog/tables': 'viewer',
  'GET /schedule/runs': 'viewer',
  'POST /pipelines/:id/validate': 'viewer',
  'POST /validate': 'operator',
  'GET /pipelines/:id/reconcile': 'viewer',
  'POST /pipelines/:id/preview': 'operator',
  'POST /preview': 'operator',
  'GET /pipelines/:id/rows': 'operator',
  'GET /pipelines/:id/profile': 'operator',
  'POST /pipelines/:id/reconcile/repair': 'operator',
  'POST /pipelines/:id/run': 'operator',
  'POST /pipelines/:id/pause': 'operator',
  'POST /pipelines/:id/enable': 'operator',
  'POST /pipelines/:id/disable': 'operator',
  'POST /pipelines/:id/reset': 'operator',
  'POST /pipelines/:id/reload-config': 'operator',
  'POST /pipelines/:id/quarantine/:row_id/replay': 'operator',
  'POST /pipelines/:id/quarantine/:row_id/discard': 'operator',
  'POST /quarantine/replay': 'operator',
  'POST /quarantine/discard': 'operator',
  'POST /runs/:id/cancel': 'operator',
  'POST /pipelines': 'admin',
  'PATCH /pipelines/:id': 'admin',
  'POST /pipelines/:id/update-config': 'admin',
  'DELETE /pipelines/:id': 'admin',
  'POST /pipelines/:id/versions/:version/restore': 'admin',
  'GET /audit': 'admin',
  'GET /audit.csv': 'admin',
  'GET /settings': 'admin',
  'GET /sources': 'viewer',
  'GET /about': 'viewer',
  'GET /connections': 'viewer',
  'GET /notifications': 'viewer',
  'POST /notifications': 'admin',
  'PATCH /notifications/:id': 'admin',
  'DELETE /notifications/:id': 'admin',
  'GET /notifications/channels': 'viewer',
  'POST /notifications/test': 'operator',
  'GET /notifications/dead': 'viewer',
  'POST /notifications/dead/:id/retry': 'operator',
  'POST /notifications/dead/:id/discard': 'operator',
  'POST /tokens/:id/rotate': 'admin',
  'POST /tokens': 'admin',
  'GET /tokens': 'admin',
  'DELETE /tokens/:id': 'admin',
}

/** Routes that end sessions: each request needs its own session. */
const ENDING = ['DELETE /session', 'DELETE /sessions']
/** A session is not enough for these, whatever its role: the token has to be sent again. */
const BEARER_ONLY = ['POST /tokens', 'POST /tokens/:id/rotate']

/** As the server knows them, with both prefixes. */
function registered(): string[] {
  const lines = api.app.printRoutes({ commonPrefix: false, includeHooks: false }).split('\n')
  const stack: string[] = []
  return lines.flatMap((line) => {
    const found = /^([│ ]*)[├└]── (\S*) \((.+)\)$/.exec(line)
    const bare = /^([│ ]*)[├└]── (\S*)$/.exec(line)
    const [, indent = '', part = ''] = found ?? bare ?? []
    const depth = indent.length / 4
    stack.length = depth
    stack[depth] = part
    const methods = found?.[3]?.split(', ').filter((method) => method !== 'HEAD') ?? []
    return methods.map((method) => `${method} ${stack.join('')}`)
  })
}

describe('access', () => {
  it('has a rule for every registered route, and none for others', async () => {
    await api.app.ready()
    const routes = new Set(registered().map((route) => route.replace(' /api/v1', ' ')))
    expect([...routes].sort()).toEqual(Object.keys(RULES).sort())
  })

  it('does not start with a route without a rule', () => {
    const hooks: ((route: object) => void)[] = []
    requireRules({ addHook: (_name: string, hook: (route: object) => void) => hooks.push(hook) } as never)
    expect(() => hooks[0]!({ method: 'GET', url: '/secret', config: {} })).toThrow(
      'GET /secret has no access rule',
    )
  })

  for (const [route, needed] of Object.entries(RULES)) {
    const [method, url] = route.split(' ') as ['GET' | 'POST' | 'DELETE', string]
    // An accepted stream must not stay open: it would never end.
    const query = url === '/events' ? '?last_event_id=nonsense' : ''
    const pathOf = () =>
      url.replace(':row_id', '1').replace(':version', '1').replace(':id', randomUUID()) + query

    it(`${route} requires ${needed}`, async () => {
      const path = pathOf()
      // Signing in without a token is rejected too, as a sign-in without a token.
      if (route === 'POST /session') return
      for (const prefix of needed === 'open' && !url.startsWith('/health') ? [''] : ['', '/api/v1']) {
        const ask = async (token?: string) =>
          (
            await api.app.inject({
              method,
              url: prefix + path,
              headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
            })
          ).statusCode
        const outside = [
          await ask(),
          await ask(tokens.wrong),
          await ask(tokens.expired),
          await ask(tokens.revoked),
        ]
        expect(outside.map((status) => status === 401)).toEqual(outside.map(() => needed !== 'open'))
        for (const role of ROLES) {
          const status = await ask(tokens[role])
          const allowed = needed === 'open' || ROLES.indexOf(role) >= ROLES.indexOf(needed)
          expect([role, [401, 403].includes(status)]).toEqual([role, !allowed])
        }
      }
    })

    if (needed !== 'open')
      it(`${route} requires the same of a signed-in browser`, async () => {
        const ask = async (who: string, headers: Record<string, string>) => {
          const isFresh = ENDING.includes(route) && ROLES.includes(who as Role)
          const browser = isFresh ? await signIn(api, { token: tokens[who]! }) : browsers[who]!
          return (await api.app.inject({ method, url: pathOf(), headers: { ...browser, ...headers } }))
            .statusCode
        }
        const own = { 'sec-fetch-site': 'same-origin' }
        for (const gone of ['wrong', 'expired', 'revoked'])
          expect([gone, await ask(gone, own)]).toEqual([gone, 401])
        for (const role of ROLES) {
          const allowed = ROLES.indexOf(role) >= ROLES.indexOf(needed) && !BEARER_ONLY.includes(route)
          expect([role, [401, 403].includes(await ask(role, own))]).toEqual([role, !allowed])
        }
        for (const site of ['cross-site', 'same-site'])
          expect(await ask('admin', { ...own, 'sec-fetch-site': site })).toBe(403)
        expect(await ask('admin', { origin: 'https://elsewhere.example' })).toBe(403)
        for (const key of ['', '1', 'nonsense'])
          expect(await ask('admin', { ...own, 'x-csrf': key })).toBe(401)
      })
  }

  it('names the required role', async () => {
    const answer = await api.app.inject({
      method: 'POST',
      url: '/pipelines',
      headers: { authorization: `Bearer ${tokens.viewer}` },
    })
    expect([answer.statusCode, answer.json()]).toMatchObject([
      403,
      { code: 'FORBIDDEN', needed_role: 'admin', vtr: 'VTR-7002' },
    ])
    expect(answer.json().detail).toContain('role admin')
  })
})

describe('tokens', () => {
  it('show their value once, and are stored as hashes', async () => {
    const answer = await api.post('/tokens', {
      name: 'ci',
      role: 'operator',
      expires_at: '2099-01-01T00:00:00+03:00',
    })
    expect(answer.statusCode).toBe(201)
    const { token, ...rest } = answer.json()
    expect(token).toMatch(/^vtr_[\w-]{43}$/)
    expect(rest).toMatchObject({
      name: 'ci',
      role: 'operator',
      created_by: 'administrator',
      expires_at: '2098-12-31T21:00:00.000000Z',
      revoked_at: null,
    })
    const list = await api.get('/tokens')
    expect(tokenPage.parse(list.json()).items[0]).toEqual(rest)
    expect(list.body).not.toContain(token)
    const everything = JSON.stringify([
      await database.query('SELECT * FROM etl.etl_tokens'),
      await database.query('SELECT * FROM etl.etl_audit'),
      api.lines,
    ])
    expect(everything).not.toContain(token)
  })

  it('are recorded as the author of changes', async () => {
    const { id, token } = await aToken('admin')
    const body = { name: randomUUID(), source_query: 'SELECT 1', target_table: 'analytics.x' }
    const made = await api.app.inject({
      method: 'POST',
      url: '/pipelines',
      payload: body,
      headers: { authorization: `Bearer ${token}` },
    })
    const [version] = (await api.get(`/pipelines/${made.json().id}/versions`)).json().items
    expect(version.author).toBe(`admin token#${id.slice(0, 8)}`)
    const [listed] = (await api.get('/tokens')).json().items
    expect(listed.last_used_at).not.toBeNull()
  })

  it('end at once when revoked, and can be revoked again', async () => {
    const { id, token } = await aToken('viewer')
    const ask = async () =>
      (await api.app.inject({ url: '/pipelines', headers: { authorization: `Bearer ${token}` } })).statusCode
    expect(await ask()).toBe(200)
    for (let time = 0; time < 2; time++)
      expect((await api.call({ method: 'DELETE', url: `/tokens/${id}` })).statusCode).toBe(204)
    expect(await ask()).toBe(401)
    expect((await api.call({ method: 'DELETE', url: `/tokens/${randomUUID()}` })).json().code).toBe(
      'TOKEN_NOT_FOUND',
    )
  })

  it('cannot be read by the runner', async () => {
    const writer = await database.client(database.loginUrl('writer'))
    for (const table of ['etl_tokens', 'etl_sessions', 'etl_audit', 'etl_idempotency'])
      await expect(writer.query(`SELECT * FROM etl.${table}`)).rejects.toMatchObject({ code: '42501' })
  })
})
