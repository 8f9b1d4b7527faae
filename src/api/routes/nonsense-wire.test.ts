import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { beforeAll, describe, expect, it } from 'vitest'
import { anApi, type TestApi, TOKEN } from '../../../tests/support/api.js'
import { aDatabase } from '../../../tests/support/database.js'

let api: TestApi
let port: number
beforeAll(async () => {
  const database = await aDatabase()
  api = anApi(database.loginUrl('meta'))
  await api.app.listen({ host: '127.0.0.1', port: 0 })
  port = (api.app.server.address() as AddressInfo).port
})

interface Raw {
  readonly status: number
  readonly head: string
  readonly body: string
}

/** The response of a socket that sends exactly this, and then nothing more. */
async function sendRaw(...parts: (string | Buffer)[]): Promise<Raw> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  for (const part of parts) socket.write(part)
  // The server closes the connection: the request asks for it, or it cannot be parsed.
  const answer = await text(socket)
  const [head = '', body = ''] = answer.split(/\r\n\r\n(.*)/s)
  return { status: Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1] ?? 0), head, body }
}

const AUTH = `Authorization: Bearer ${TOKEN}`
const request = (line: string, headers: string[], body = '') =>
  [`${line} HTTP/1.1`, 'Host: x', 'Connection: close', ...headers, '', body].join('\r\n')

describe('raw bytes on the connection', () => {
  it('get a problem document, even if they are not HTTP', async () => {
    for (const garbage of ['nonsense\r\n\r\n', '\u0000\u0001\u0002\r\n\r\n', 'GET / HTTP/9.9\r\n\r\n']) {
      const { status, head, body } = await sendRaw(garbage)
      expect(status, garbage).toBe(400)
      expect(head).toContain('application/problem+json')
      expect(JSON.parse(body)).toMatchObject({ code: 'REQUEST_INVALID', status: 400 })
    }
  })

  it('are limited to 16 KiB before the body', async () => {
    for (const line of [
      request(`GET /api/v1/pipelines?q=${'x'.repeat(20_000)}`, [AUTH]),
      request('GET /api/v1/pipelines', [AUTH, `X-Long: ${'x'.repeat(20_000)}`]),
    ]) {
      const { status, body } = await sendRaw(line)
      expect([status, JSON.parse(body).status]).toEqual([431, 431])
    }
  })

  it('may repeat a header', async () => {
    const twice: [string[], number][] = [
      // Node uses the first one: the second of two headers grants no access.
      [[AUTH, 'Authorization: Bearer x'], 200],
      [['Authorization: Bearer x', AUTH], 401],
      [[AUTH, 'If-Match: "1"', 'If-Match: "2"'], 200],
      [[AUTH, 'X-Request-Id: a', 'X-Request-Id: b'], 200],
      [[AUTH, 'Accept: text/html', 'Accept: application/xml'], 200],
    ]
    for (const [headers, status] of twice)
      expect((await sendRaw(request('GET /api/v1/pipelines', headers))).status, headers.join()).toBe(status)
    const sizes = ['Content-Length: 2', 'Content-Length: 3', 'Content-Type: application/json']
    expect((await sendRaw(request('POST /api/v1/tokens', [AUTH, ...sizes], '{}'))).status).toBe(400)
  })

  it('may contradict their body', async () => {
    const post = (...headers: string[]) => request('POST /api/v1/tokens', [AUTH, ...headers])
    const json = 'Content-Type: application/json'
    for (const lie of [
      post(json, 'Content-Length: -1'),
      post(json, 'Content-Length: 1e9'),
      post(json, 'Transfer-Encoding: chunked', 'Content-Length: 2'),
      `${post(json, 'Transfer-Encoding: chunked')}zz\r\n`,
    ])
      expect((await sendRaw(lie)).status, lie).toBe(400)
    // More than the limit is rejected by its length, before it is sent.
    expect((await sendRaw(post(json, 'Content-Length: 99999999'))).status).toBe(413)
    // A compressed body is not read as something else.
    const packed = gzipSync('{}')
    const headers = post(json, 'Content-Encoding: gzip', `Content-Length: ${packed.length}`)
    expect((await sendRaw(headers, packed)).status).toBe(400)
  })

  it('get a problem document where Node alone would send none', async () => {
    const hostless = await sendRaw('GET /api/v1/health HTTP/1.1\r\nConnection: close\r\n\r\n')
    const proxied = await sendRaw(request('CONNECT example.com:443', [AUTH]))
    for (const { head, body } of [hostless, proxied]) {
      expect(head).toContain('application/problem+json')
      expect(JSON.parse(body)).toMatchObject({ code: 'REQUEST_INVALID', hint: expect.any(String) })
    }
    expect([hostless.status, proxied.status]).toEqual([400, 405])
    expect((await sendRaw('GET /api/v1/health HTTP/1.0\r\n\r\n')).status).toBe(200)
    expect((await sendRaw(request('GET /api/v1/pipelines', [AUTH, 'Expect: miracles']))).status).toBe(200)
  })

  it('are rejected by their method, with the methods of the path', async () => {
    for (const method of ['QUERY', 'TRACE', 'PUT', 'PROPFIND', 'OPTIONS']) {
      const { status, head } = await sendRaw(request(`${method} /api/v1/pipelines`, [AUTH]))
      expect([method, status]).toEqual([method, 405])
      expect(head.toLowerCase()).toContain('allow: get, head, post')
    }
  })

  it('learn the methods of an open path without a token, and nothing about other paths', async () => {
    const open = await sendRaw(request('DELETE /api/v1/health', []))
    expect(open.status).toBe(405)
    expect(open.head.toLowerCase()).toContain('allow: get, head')
    for (const path of ['/api/v1/pipelines', '/api/v1/nothing'])
      expect((await sendRaw(request(`DELETE ${path}`, []))).status).toBe(401)
  })

  const PATHS = [
    '//',
    '/../../etc/passwd',
    '/api/v1/../v1/pipelines',
    '/api/v1/pipelines/',
    '/API/V1/PIPELINES',
    '/api/v1/pipelines%00',
    '/api/v1/pipelines;x=1',
    '/api/v1/%70ipelines%2f',
    'http://other.example/api/v1/pipelines',
    '*',
    '/?/#',
    `/${'a/'.repeat(2000)}`,
  ]
  it('may request any path', async () => {
    for (const path of PATHS) {
      const { status } = await sendRaw(request(`GET ${path}`, [AUTH]))
      expect(status, path).toBeGreaterThanOrEqual(200)
      expect(status, path).toBeLessThan(500)
    }
  })

  it('and the server still works', async () => {
    expect((await api.get('/health/ready')).statusCode).toBe(200)
  })
})
