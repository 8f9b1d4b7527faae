import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { serveMetrics } from '../../src/main/metrics.js'
import { createMeter } from '../../src/telemetry/meter.js'
import { anApi, type TestApi } from '../support/api.js'
import { aDatabase } from '../support/database.js'

/** The status and the body of a request to this port of the loopback address, under this name. */
function ask(port: number, host: string, path: string, headers: Record<string, string> = {}) {
  return new Promise<{ status: number; body: string }>((resolve, reject) => {
    request({ host: '127.0.0.1', port, path, headers: { host, ...headers } }, async (response) => {
      response.setEncoding('utf8')
      resolve({ status: response.statusCode!, body: (await response.toArray()).join('') })
    })
      .on('error', reject)
      .end()
  })
}

/** What a browser sends for a page of http://evil.example:port, whose name leads to 127.0.0.1 now. */
const REBOUND = { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors' }

describe('a page whose name leads to this machine', () => {
  let api: TestApi
  let port: number
  beforeAll(async () => {
    api = anApi((await aDatabase()).loginUrl('meta'))
    await api.app.listen({ host: '127.0.0.1', port: 0 })
    port = (api.app.server.address() as AddressInfo).port
  })
  afterAll(() => api.close())

  it.each(['/pipelines', '/events', '/metrics', '/graph', '/session', '/settings', '/checks', '/lineage'])(
    'reads nothing of %s: no cookie of this machine belongs to its name',
    async (path) => {
      expect((await ask(port, `evil.example:${port}`, path, REBOUND)).status).toBe(401)
    },
  )

  it.each(['/pipelines', '/session', '/health', '/openapi.json', '/ui/', '/nowhere'])(
    'is not allowed by any header to read %s from its own origin',
    async (url) => {
      const origin = 'https://evil.example'
      const preflight = {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'x-csrf',
      }
      const answers = [
        await api.app.inject({ url, headers: { origin } }),
        await api.app.inject({ method: 'OPTIONS', url, headers: preflight }),
      ]
      for (const { headers } of answers)
        expect(Object.keys(headers).filter((name) => name.startsWith('access-control-'))).toEqual([])
    },
  )

  it('reads no metrics of a runner on a loopback address', async () => {
    const meter = createMeter({ version: 'test' })
    const metrics = await serveMetrics(meter, { host: '127.0.0.1', port: 0, isReady: () => true })
    onTestFinished(() => metrics.close())
    for (const path of ['/metrics', '/health', '/health/ready']) {
      expect(await ask(metrics.port, `evil.example:${metrics.port}`, path, REBOUND)).toEqual({
        status: 421,
        body: '',
      })
      for (const host of ['127.0.0.1', 'localhost', 'LOCALHOST', '[::1]'])
        expect((await ask(metrics.port, `${host}:${metrics.port}`, path)).status).toBe(200)
    }
  })

  it('is not restricted where a runner listens on a configured address: other machines may use any name', async () => {
    const meter = createMeter({ version: 'test' })
    const metrics = await serveMetrics(meter, { host: '0.0.0.0', port: 0, isReady: () => true })
    onTestFinished(() => metrics.close())
    expect((await ask(metrics.port, 'runner-1:9464', '/health')).status).toBe(200)
  })
})
