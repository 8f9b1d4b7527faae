import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { anApi, type TestApi } from '../../../tests/support/api.js'
import { aDatabase, type TestDatabase } from '../../../tests/support/database.js'
import { type BrowserHeaders, signIn } from '../../../tests/support/sign-in.js'

let database: TestDatabase
let api: TestApi
beforeAll(async () => {
  database = await aDatabase()
  api = anApi(database.loginUrl('meta'))
})

interface Made {
  readonly id: string
  readonly token: string
}

const aToken = async (extra: object = {}): Promise<Made> =>
  (await api.post('/tokens', { name: 'airflow', role: 'admin', ...extra })).json()
const rotate = (id: string, body?: object) => api.post(`/tokens/${id}/rotate`, body)
const ask = (token: string) =>
  api.app.inject({ url: '/pipelines', headers: { authorization: `Bearer ${token}` } })
const listed = async (id: string) =>
  (await api.get('/tokens')).json().items.find((one: { id: string }) => one.id === id)

describe('a rotated token', () => {
  it('keeps its id, name and role, and its old value ends at once', async () => {
    const { id, token } = await aToken()
    const answer = await rotate(id)
    expect([answer.statusCode, answer.json()]).toMatchObject([
      200,
      { id, name: 'airflow', role: 'admin', previous_until: null, rotated_at: expect.any(String) },
    ])
    expect((await ask(answer.json().token)).statusCode).toBe(200)
    const refused = await ask(token)
    expect([refused.statusCode, refused.json().detail]).toEqual([
      401,
      'The token was rotated and has a new value.',
    ])
    expect(JSON.stringify(await database.query('SELECT * FROM etl.etl_audit'))).not.toContain(
      answer.json().token,
    )
  })

  it('keeps the old value valid for the grace period, and no longer', async () => {
    const { id, token } = await aToken()
    const { token: next, previous_until } = (await rotate(id, { grace_seconds: 3600 })).json()
    expect(Date.parse(previous_until)).toBeGreaterThan(Date.now() + 3_500_000)
    expect([(await ask(token)).statusCode, (await ask(next)).statusCode]).toEqual([200, 200])
    await database.query('UPDATE etl.etl_tokens SET previous_until = clock_timestamp() WHERE id = $1', [id])
    expect([(await ask(token)).statusCode, (await ask(next)).statusCode]).toEqual([401, 200])
    expect((await listed(id)).previous_until).toBeNull()
  })

  it('invalidates the value before the last one, whatever its grace period was', async () => {
    const { id, token } = await aToken()
    await rotate(id, { grace_seconds: 3600 })
    await rotate(id, { grace_seconds: 3600 })
    expect((await ask(token)).statusCode).toBe(401)
  })

  it('keeps its expiry, or gets a new one', async () => {
    const { id } = await aToken({ expires_at: '2099-01-01T00:00:00Z' })
    expect((await rotate(id)).json().expires_at).toBe('2099-01-01T00:00:00.000000Z')
    expect((await rotate(id, { expires_at: '2098-01-01T00:00:00Z' })).json().expires_at).toBe(
      '2098-01-01T00:00:00.000000Z',
    )
    expect((await rotate(id, { expires_at: null })).json().expires_at).toBeNull()
  })

  it('revokes both values at once', async () => {
    const { id, token } = await aToken()
    const { token: next } = (await rotate(id, { grace_seconds: 3600 })).json()
    await api.call({ method: 'DELETE', url: `/tokens/${id}` })
    expect([(await ask(token)).statusCode, (await ask(next)).statusCode]).toEqual([401, 401])
  })

  it('is recorded in the audit with the author and the fate of the old value', async () => {
    const { id } = await aToken()
    const answer = await rotate(id, { grace_seconds: 60 })
    const { items } = (await api.get(`/audit?request_id=${answer.headers['x-request-id']}`)).json()
    expect(items).toMatchObject([
      {
        action: 'token.rotate',
        actor: 'administrator',
        target_id: id,
        target_name: 'airflow',
        diff: { grace_seconds: 60, expires_at: null },
      },
    ])
  })

  it('keeps the browser signed in that rotated its own token, and no other', async () => {
    const { id, token } = await aToken()
    const [own, other] = [await signIn(api, { token }), await signIn(api, { token })]
    const headers = { ...own, authorization: `Bearer ${token}`, 'sec-fetch-site': 'same-origin' }
    const answer = await api.app.inject({ method: 'POST', url: `/tokens/${id}/rotate`, headers })
    expect(answer.statusCode).toBe(200)
    const look = async (browser: BrowserHeaders) =>
      (await api.app.inject({ url: '/session', headers: browser })).statusCode
    expect([await look(own), await look(other)]).toEqual([200, 401])
  })
})

describe('what cannot be rotated', () => {
  it('is a token that has ended', async () => {
    const revoked = await aToken()
    await api.call({ method: 'DELETE', url: `/tokens/${revoked.id}` })
    const expired = await aToken()
    await database.query('UPDATE etl.etl_tokens SET expires_at = clock_timestamp() WHERE id = $1', [
      expired.id,
    ])
    for (const { id } of [revoked, expired]) {
      const answer = await rotate(id, { expires_at: '2099-01-01T00:00:00Z' })
      expect([answer.statusCode, answer.json().code]).toEqual([409, 'TOKEN_ENDED'])
    }
  })

  it('is one that does not exist, or a grace period of more than a week', async () => {
    for (const id of [randomUUID(), 'nonsense'])
      expect((await rotate(id)).json().code).toBe('TOKEN_NOT_FOUND')
    const { id } = await aToken()
    for (const grace_seconds of [-1, 604_801, 1.5, '60'])
      expect((await rotate(id, { grace_seconds })).statusCode).toBe(422)
  })
})

describe('a used token', () => {
  it('records the address and the signed-in browsers', async () => {
    const { id, token } = await aToken()
    expect((await listed(id)).last_used_from).toBeNull()
    await ask(token)
    expect((await listed(id)).last_used_from).toBe('127.0.0.1')
    const session = await api.app.inject({ url: '/session', headers: { authorization: `Bearer ${token}` } })
    expect(session.json().token_id).toBe(id)
    expect((await api.get('/session')).json().token_id).toBeNull()
  })
})
