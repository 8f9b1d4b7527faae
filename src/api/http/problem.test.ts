import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { anApi, type TestApi, TOKEN } from '../../../tests/support/api.js'
import { aDatabase } from '../../../tests/support/database.js'

let api: TestApi
beforeAll(async () => {
  const database = await aDatabase()
  api = anApi(database.loginUrl('meta'))
})

describe('problems', () => {
  it('name the route that does not exist', async () => {
    const answer = await api.get('/api/v1/nothing?x=1')
    expect(answer.statusCode).toBe(404)
    expect(answer.json()).toEqual({
      type: 'urn:vitrina:error:ROUTE_NOT_FOUND',
      title: 'The route does not exist.',
      status: 404,
      detail: 'The route /api/v1/nothing does not exist.',
      instance: '/api/v1/nothing',
      code: 'ROUTE_NOT_FOUND',
      vtr: 'VTR-7102',
      hint: 'All routes begin with /api/v1.',
      retryable: false,
      request_id: answer.headers['x-request-id'],
    })
  })

  it('name the methods that a route supports', async () => {
    const answer = await api.call({ method: 'PUT', url: `/pipelines/${randomUUID()}/run` })
    expect(answer.statusCode).toBe(405)
    expect(answer.headers.allow).toBe('POST')
  })

  it.each(['/pipelines/overview', '/api/v1/pipelines/overview'])(
    'does not mistake a word of %s for the id of a pipeline',
    async (url) => {
      const answer = await api.call({ method: 'DELETE', url })
      expect([answer.statusCode, answer.headers.allow]).toEqual([405, 'GET, HEAD'])
    },
  )

  it('list every invalid field', async () => {
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
  ])('reject the cursor %s', async (cursor) => {
    for (const list of ['/pipelines', '/runs']) {
      const answer = await api.get(`${list}?cursor=${cursor}`)
      expect([answer.statusCode, answer.json().code]).toEqual([422, 'REQUEST_INVALID'])
    }
  })

  it('reject a body that is not JSON, too large or of another type', async () => {
    const url = `/pipelines/${randomUUID()}/run`
    const send = (type: string, payload: string) =>
      api.call({
        method: 'POST',
        url,
        payload,
        headers: { authorization: `Bearer ${TOKEN}`, 'content-type': type },
      })
    const answers = [
      await send('application/json', '{"a":1,}'),
      await send('application/json', '{"__proto__":{}}'),
      await send('application/json', JSON.stringify('x'.repeat(1024 * 1024))),
      await send('text/plain', 'hello'),
      await send('application/json', '{"nonsense":"dag"}'),
    ]
    expect(answers.map((answer) => answer.statusCode)).toEqual([400, 400, 413, 415, 422])
    for (const answer of answers) expect(answer.json().code).toBe('REQUEST_INVALID')
    expect(answers.slice(0, 4).map((answer) => answer.json().detail)).toEqual([
      'The body is not valid JSON: see character 7.',
      'The body has a field named "__proto__" or "constructor", which is not allowed.',
      'The body is larger than 1 MiB.',
      'The content type of the body is not supported.',
    ])
  })

  it('accept an empty body with any content type', async () => {
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

  it('hide an internal error, and log it with the same request id', async () => {
    const database = await aDatabase()
    const broken = anApi(database.loginUrl('meta'))
    await database.query('REVOKE ALL ON ALL TABLES IN SCHEMA etl FROM vitrina_meta')
    const answer = await broken.get('/pipelines')
    await broken.close()
    expect(answer.json()).toMatchObject({
      status: 500,
      code: 'INTERNAL',
      detail: 'The request failed.',
    })
    expect(answer.body).not.toMatch(/permission|stack|\.ts:/)
    const line = broken.lines.find((each) => each.level === 'error')
    expect(line).toMatchObject({ request_id: answer.json().request_id, code: 'INTERNAL' })
    expect(JSON.stringify(line)).toContain('permission denied')
  })
})
