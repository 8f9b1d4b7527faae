import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'
import { beforeAll, describe, expect, it } from 'vitest'
import { anApi, type TestApi, TOKEN } from '../../../tests/support/api.js'
import { aDatabase, type TestDatabase } from '../../../tests/support/database.js'
import { RateLimit } from './rate-limit.js'

let database: TestDatabase
let api: TestApi
beforeAll(async () => {
  database = await aDatabase()
  api = anApi(database.loginUrl('meta'))
})

describe('the rate limit', () => {
  it('returns 429 with the time to wait, for each token separately', async () => {
    const limited = anApi(database.loginUrl('meta'), { rateLimit: 5 })
    const { token } = (await limited.post('/tokens', { name: 'other', role: 'viewer' })).json()
    const statuses: number[] = []
    for (let n = 0; n < 6; n++) statuses.push((await limited.get('/pipelines')).statusCode)
    expect(statuses).toEqual([200, 200, 200, 200, 429, 429])
    const answer = await limited.get('/pipelines')
    expect(answer.json()).toMatchObject({ code: 'RATE_LIMITED', retryable: true })
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
    const other = await limited.app.inject({
      url: '/pipelines',
      headers: { authorization: `Bearer ${token}` },
    })
    expect(other.statusCode).toBe(200)
    expect((await limited.app.inject('/health')).statusCode).toBe(200)
    await limited.close()
  })

  it('refills steadily, and never above the limit of a minute', () => {
    let now = 0
    const limit = new RateLimit(60, () => now)
    for (let n = 0; n < 60; n++) limit.take('a')
    expect(() => limit.take('a')).toThrow('60 requests')
    now += 2_000
    limit.take('a')
    limit.take('a')
    expect(() => limit.take('a')).toThrow()
    now += 3_600_000
    for (let n = 0; n < 60; n++) limit.take('a')
    expect(() => limit.take('a')).toThrow()
  })
})

describe('bodies', () => {
  it('may be 1 MiB large and 32 levels deep', async () => {
    const send = (payload: string) =>
      api.call({
        method: 'POST',
        url: '/pipelines',
        payload,
        headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      })
    const deep = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`
    expect((await send(deep(100_000))).json()).toMatchObject({ status: 422, code: 'REQUEST_INVALID' })
    expect((await send(deep(33))).json().detail).toContain('nested deeper')
    expect((await send(deep(32))).json().errors).toBeDefined()
    expect((await send(`{"name":"${'['.repeat(100)}\\""}`)).json().errors).toBeDefined()
    expect((await send(JSON.stringify({ name: 'x'.repeat(1024 * 1024) }))).statusCode).toBe(413)
    expect((await send(`{"tags":[${'1,'.repeat(200_001)}1]}`)).json().detail).toContain(
      'more than 200000 values',
    )
  })

  it('get a short answer, however many mistakes they have', async () => {
    const fields = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, n) => [`x${n}`, 1]))
    for (const [path, payload] of [
      ['/pipelines', fields(80_000)],
      ['/validate?quick=true', fields(80_000)],
      ['/graph/validate', { pipelines: [fields(190_000)] }],
    ] as const) {
      const answer = await api.post(path, payload)
      expect([answer.statusCode, answer.body.length < 50_000]).toEqual([422, true])
      const { errors } = answer.json()
      expect(errors).toHaveLength(101)
      expect(errors.at(-1).message).toMatch(/^and \d+ more mistakes$/)
    }
  })
})

describe('closing', () => {
  it('does not wait for connections without a request', async () => {
    const own = anApi(database.loginUrl('meta'))
    await own.app.listen({ host: '127.0.0.1', port: 0 })
    const socket = connect((own.app.server.address() as AddressInfo).port, '127.0.0.1')
    await new Promise((resolve) => socket.once('connect', resolve))
    await expect(
      Promise.race([
        own.close().then(() => 'closed'),
        new Promise((resolve) => setTimeout(resolve, 20_000, 'waiting')),
      ]),
    ).resolves.toBe('closed')
    socket.destroy()
  })

  it('reports that it is no longer ready', async () => {
    const own = anApi(database.loginUrl('meta'))
    const answers: unknown[] = []
    const ask = async () => {
      const { port } = own.app.server.address() as AddressInfo
      answers.push(await (await fetch(`http://127.0.0.1:${port}/health/ready`)).json())
    }
    // Runs after the server's own: what a load balancer would see from now on.
    own.app.addHook('preClose', ask)
    await own.app.listen({ host: '127.0.0.1', port: 0 })
    await ask()
    await own.close()
    expect(answers).toMatchObject([
      { status: 'ok', draining: false },
      { status: 'unavailable', draining: true },
    ])
  })
})
