import { randomUUID } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'
import { beforeAll, describe, expect, it } from 'vitest'
import { anApi, type TestApi, TOKEN } from '../../tests/support/api.js'
import { aDatabase } from '../../tests/support/database.js'

let api: TestApi
beforeAll(async () => {
  const database = await aDatabase()
  api = anApi(database.loginUrl('meta'))
})

describe('tokens', () => {
  it('is required on every route except health and the sign-in, with and without the prefix', async () => {
    const routes: { method: string; url: string }[] = []
    const database = await aDatabase()
    const other = anApi(database.loginUrl('meta'))
    other.app.addHook(
      'onRoute',
      ({ method, url }) => void routes.push(...[method].flat().map((each) => ({ method: each, url }))),
    )
    await other.app.ready()
    const answers = await Promise.all(
      routes.map(async ({ method, url }) => {
        const path = url.replace(':id', randomUUID())
        const { statusCode } = await other.app.inject({ method: method as 'GET', url: path })
        return { url, method, closed: statusCode === 401 }
      }),
    )
    await other.close()
    const open = answers.filter(({ closed, method }) => !closed && method !== 'HEAD')
    expect(answers.length).toBeGreaterThan(30)
    expect(open.map(({ method, url }) => `${method} ${url}`).sort()).toEqual([
      'GET /api/v1/health',
      'GET /api/v1/health/ready',
      'GET /health',
      'GET /health/ready',
      'POST /api/v1/session',
      'POST /session',
    ])
  })

  it.each([
    ['none', undefined, 'Bearer realm="vitrina"'],
    ['another', 'Bearer nonsense', 'Bearer realm="vitrina", error="invalid_token"'],
    ['a longer one', `Bearer ${TOKEN}x`, 'Bearer realm="vitrina", error="invalid_token"'],
    ['another scheme', `Basic ${TOKEN}`, 'Bearer realm="vitrina"'],
    ['an empty one', 'Bearer ', 'Bearer realm="vitrina"'],
  ])('refuses %s', async (_name, authorization, challenge) => {
    const answer = await api.app.inject({
      url: '/pipelines',
      headers: authorization === undefined ? {} : { authorization },
    })
    expect(answer.statusCode).toBe(401)
    expect(answer.headers['www-authenticate']).toBe(challenge)
    expect(answer.headers['content-type']).toMatch(/^application\/problem\+json/)
    expect(answer.json()).toMatchObject({ code: 'UNAUTHENTICATED', vtr: 'VTR-7001', status: 401 })
  })

  it('is required to learn which routes exist', async () => {
    expect((await api.app.inject({ url: '/nothing/here' })).statusCode).toBe(401)
  })
})

describe('request ids', () => {
  it('are taken from the caller, returned and logged', async () => {
    const headers = { authorization: `Bearer ${TOKEN}`, 'x-request-id': 'airflow-dag.1:try-2' }
    const answer = await api.call({ url: '/pipelines?q=secret', headers })
    expect(answer.headers['x-request-id']).toBe('airflow-dag.1:try-2')
    const line = api.lines.find((each) => each.request_id === 'airflow-dag.1:try-2')
    expect(line).toMatchObject({ msg: 'GET /pipelines answered 200.', route: '/pipelines', status: 200 })
    expect(line).toHaveProperty('duration_ms')
  })

  it.each(['', 'x'.repeat(129), 'two words', '<script>'])(
    'are generated when the caller sends %j',
    async (given) => {
      const answer = await api.call({
        url: '/pipelines',
        headers: { authorization: `Bearer ${TOKEN}`, 'x-request-id': given },
      })
      expect(answer.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/)
    },
  )
})

describe('close', () => {
  it('ends while a client keeps its connection open', async () => {
    const database = await aDatabase()
    const own = anApi(database.loginUrl('meta'))
    await own.app.listen({ host: '127.0.0.1', port: 0 })
    const socket = connect((own.app.server.address() as AddressInfo).port, '127.0.0.1')
    const ended = new Promise((resolve) => socket.once('close', resolve))
    await new Promise((resolve) => {
      socket.once('data', resolve)
      socket.write('GET /health HTTP/1.1\r\nHost: x\r\n\r\n')
    })
    await own.close()
    await ended
  })
})
