import { randomUUID } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { anApi, type TestApi, TOKEN } from '../../tests/support/api.js'
import { aDatabase } from '../../tests/support/database.js'

let api: TestApi
beforeAll(async () => {
  const database = await aDatabase()
  api = anApi(database.loginUrl('meta'))
})
afterAll(() => api.close())

describe('tokens', () => {
  it('asks for one on every route but health, with and without the prefix', async () => {
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
    const open = answers.filter(({ closed }) => !closed).map(({ url }) => url)
    expect(answers.length).toBeGreaterThan(30)
    expect([...new Set(open)].sort()).toEqual([
      '/api/v1/health',
      '/api/v1/health/ready',
      '/health',
      '/health/ready',
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

  it('does not tell a stranger which routes there are', async () => {
    expect((await api.app.inject({ url: '/nothing/here' })).statusCode).toBe(401)
  })
})

describe('problems', () => {
  it('name the route that does not exist', async () => {
    const answer = await api.get('/api/v1/nothing?x=1')
    expect(answer.statusCode).toBe(404)
    expect(answer.json()).toEqual({
      type: 'urn:vitrina:error:ROUTE_NOT_FOUND',
      title: 'There is no such route.',
      status: 404,
      detail: 'There is no route /api/v1/nothing.',
      instance: '/api/v1/nothing',
      code: 'ROUTE_NOT_FOUND',
      vtr: 'VTR-7102',
      hint: 'All routes begin with /api/v1.',
      retryable: false,
      request_id: answer.headers['x-request-id'],
    })
  })

  it('name the methods that a route does answer', async () => {
    const answer = await api.call({ method: 'PUT', url: `/pipelines/${randomUUID()}/run` })
    expect(answer.statusCode).toBe(405)
    expect(answer.headers.allow).toBe('POST')
  })

  it('tell every field that is wrong', async () => {
    const answer = await api.get('/pipelines?limit=201&status=BUSY&enabled=yes&state=IDLE')
    expect(answer.statusCode).toBe(422)
    const { code, errors } = answer.json()
    expect(code).toBe('REQUEST_INVALID')
    expect(errors.map((error: { field: string }) => error.field).sort()).toEqual([
      'enabled',
      'limit',
      'state',
      'status',
    ])
    for (const error of errors)
      expect(error).toEqual({
        field: expect.any(String),
        code: expect.any(String),
        message: expect.any(String),
      })
  })

  it.each([
    'garbage',
    Buffer.from('["a","b"]').toString('base64url'),
    Buffer.from('["2024-02-31T00:00:00Z","x"]').toString('base64url'),
  ])('refuse the cursor %s', async (cursor) => {
    for (const list of ['/pipelines', '/runs']) {
      const answer = await api.get(`${list}?cursor=${cursor}`)
      expect([answer.statusCode, answer.json().code]).toEqual([422, 'REQUEST_INVALID'])
    }
  })

  it('refuse a body that is not JSON, too large or of another type', async () => {
    const url = `/pipelines/${randomUUID()}/run`
    const send = (type: string, payload: string) =>
      api.call({
        method: 'POST',
        url,
        payload,
        headers: { authorization: `Bearer ${TOKEN}`, 'content-type': type },
      })
    const answers = [
      await send('application/json', '{"a":'),
      await send('application/json', '{"__proto__":{}}'),
      await send('application/json', JSON.stringify('x'.repeat(1024 * 1024))),
      await send('text/plain', 'hello'),
      await send('application/json', '{"external_ref":"dag"}'),
    ]
    expect(answers.map((answer) => answer.statusCode)).toEqual([400, 400, 413, 415, 422])
    for (const answer of answers) expect(answer.json().code).toBe('REQUEST_INVALID')
  })

  it('welcome an empty body, whatever it is called', async () => {
    for (const type of ['application/json', 'application/x-www-form-urlencoded']) {
      const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': type }
      const answer = await api.call({
        method: 'POST',
        url: `/pipelines/${randomUUID()}/run`,
        payload: '',
        headers,
      })
      expect(answer.statusCode).toBe(404)
    }
  })

  it('cover a path that cannot be decoded', async () => {
    const answer = await api.get('/pipelines/%zz')
    expect(answer.statusCode).toBe(400)
    expect(answer.headers['content-type']).toMatch(/^application\/problem\+json/)
    expect(answer.json().request_id).toBeTruthy()
  })

  it('hide what went wrong inside, and log it under the same request id', async () => {
    const database = await aDatabase()
    const broken = anApi(database.loginUrl('meta'))
    await database.query('REVOKE ALL ON ALL TABLES IN SCHEMA etl FROM vitrina_meta')
    const answer = await broken.get('/pipelines')
    await broken.close()
    expect(answer.json()).toMatchObject({
      status: 500,
      code: 'INTERNAL',
      detail: 'The request could not be answered.',
    })
    expect(answer.body).not.toMatch(/permission|stack|\.ts:/)
    const line = broken.lines.find((each) => each.level === 'error')
    expect(line).toMatchObject({ request_id: answer.json().request_id, code: 'INTERNAL' })
    expect(JSON.stringify(line)).toContain('permission denied')
  })
})

describe('request ids', () => {
  it('are taken from the caller, given back and logged', async () => {
    const headers = { authorization: `Bearer ${TOKEN}`, 'x-request-id': 'airflow-dag.1:try-2' }
    const answer = await api.call({ url: '/pipelines?q=secret', headers })
    expect(answer.headers['x-request-id']).toBe('airflow-dag.1:try-2')
    const line = api.lines.find((each) => each.request_id === 'airflow-dag.1:try-2')
    expect(line).toMatchObject({ msg: 'GET /pipelines answered 200.', route: '/pipelines', status: 200 })
    expect(line).toHaveProperty('duration_ms')
  })

  it.each(['', 'x'.repeat(129), 'two words', '<script>'])(
    'are made when the caller sends %j',
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
