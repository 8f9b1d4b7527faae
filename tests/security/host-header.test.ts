import { type AddressInfo, connect } from 'node:net'
import { beforeAll, expect, it, onTestFinished } from 'vitest'
import { serveMetrics } from '../../src/main/metrics.js'
import { createMeter } from '../../src/telemetry/meter.js'
import { anApi, type TestApi } from '../support/api.js'
import { aDatabase } from '../support/database.js'

let api: TestApi
beforeAll(async () => {
  api = anApi((await aDatabase()).loginUrl('meta'))
  await api.app.listen({ host: '127.0.0.1', port: 0 })
})

/** The whole answer to these bytes. */
function send(
  lines: readonly string[],
  { port } = api.app.server.address() as Pick<AddressInfo, 'port'>,
): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(`${lines.join('\r\n')}\r\n\r\n`))
    socket.on('data', (chunk) => {
      answer += chunk
    })
    socket.on('end', () => resolve(answer)).on('error', reject)
  })
}

it.each([
  ['/health', ['Host: a', 'Host: b']],
  ['/health', ['Host: a', 'Host: a']],
  ['/health', ['Host: a', 'hOST: b']],
  ['/openapi.json', ['Host: a', 'Host: b']],
  ['/pipelines', ['Host: a', 'Host: b']],
  ['/nowhere', ['Host: a', 'Host: b']],
  ['/ui/', ['Host: a', 'X-Something: c', 'Host: b']],
])('returns 400 for %s with %j', async (path, headers) => {
  const answer = await send([`GET ${path} HTTP/1.1`, ...headers, 'Connection: close'])
  expect(answer).toMatch(/^HTTP\/1\.1 400 /)
  expect(answer).toContain('more than one Host header')
})

it('accepts a request with one, even if values look like a header', async () => {
  const answer = await send(['GET /health HTTP/1.1', 'Host: a', 'X-Name: Host', 'Connection: close'])
  expect(answer).toMatch(/^HTTP\/1\.1 200 /)
})

it('returns 400 for two of them where a runner serves its metrics', async () => {
  const meter = createMeter({ version: 'test' })
  const metrics = await serveMetrics(meter, { host: '127.0.0.1', port: 0, isReady: () => true })
  onTestFinished(() => metrics.close())
  const two = ['GET /metrics HTTP/1.1', 'Host: localhost', 'Host: evil.example', 'Connection: close']
  expect(await send(two, metrics)).toMatch(/^HTTP\/1\.1 400 /)
})
