import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { HealthService } from '../../src/api/services/health.js'
import { type ApiOptions, anApi } from '../support/api.js'
import { aDatabase, type TestDatabase } from '../support/database.js'

let database: TestDatabase
beforeAll(async () => {
  database = await aDatabase()
})

function aLimitedApi(options: ApiOptions = {}, url = database.loginUrl('meta')) {
  const api = anApi(url, { rateLimit: 20, ...options })
  return async (path: string, remoteAddress = '198.51.100.1', headers: Record<string, string> = {}) =>
    (await api.app.inject({ url: path, remoteAddress, headers })).statusCode
}

async function aConsole(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'vitrina-open-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  await mkdir(join(folder, 'assets'))
  await writeFile(join(folder, 'index.html'), '<title>x')
  await writeFile(join(folder, 'assets', 'a.js'), '1')
  return folder
}

/** Until it is refused; false: never. */
async function isStopped(attempt: () => Promise<number>, most: number): Promise<boolean> {
  for (let n = 0; n < most; n++) if ((await attempt()) === 429) return true
  return false
}

describe('a route without authentication', () => {
  it.each(['/openapi.json', '/docs', '/health/ready', '/api/v1/health/ready', '/nowhere'])(
    'has a limit: %s',
    async (path) => {
      const ask = aLimitedApi()
      expect(await isStopped(() => ask(path), 200)).toBe(true)
      expect(await ask(path, '198.51.100.2')).not.toBe(429)
    },
  )

  it('serves the files of the console many times, up to a limit', async () => {
    const ask = aLimitedApi({ consoleDir: await aConsole() })
    expect(await isStopped(() => ask('/ui/assets/a.js'), 1_000)).toBe(false)
    expect(await isStopped(() => ask('/ui/'), 20_000)).toBe(true)
  })

  it('always reports that the process is alive', async () => {
    const ask = aLimitedApi()
    expect(await isStopped(() => ask('/health'), 500)).toBe(false)
  })

  it('answers readiness probes regardless of other requests from the address', async () => {
    const ask = aLimitedApi()
    expect(await isStopped(() => ask('/openapi.json'), 200)).toBe(true)
    expect(await isStopped(() => ask('/pipelines'), 200)).toBe(true)
    expect(await ask('/health/ready')).toBe(200)
  })
})

describe('the database', () => {
  it('is checked for readiness once a second, regardless of the number of requests', async () => {
    let [asked, now] = [0, 0]
    const ping = async () => {
      asked += 1
    }
    const health = new HealthService({ ping }, '1', () => now)
    const ask = () => health.ready({} as never)
    await Promise.all(Array.from({ length: 100 }, ask))
    now += 999
    expect([(await ask()).status, asked]).toEqual(['ok', 1])
    now += 1
    expect([(await ask()).status, asked]).toEqual(['ok', 2])
    health.drain()
    expect([(await ask()).status, asked]).toEqual(['unavailable', 2])
  })

  it('is not queried for tokens beyond the limit', async () => {
    // A port that was free a moment ago: a request that needs the database gets 503.
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    await new Promise((resolve) => server.close(resolve))
    const ask = aLimitedApi({ rateLimit: 5 }, `postgres://x:x@127.0.0.1:${port}/x`)
    const statuses: number[] = []
    for (let n = 0; n < 8; n++)
      statuses.push(await ask('/pipelines', '198.51.100.1', { authorization: `Bearer wrong-${n}` }))
    expect(statuses.slice(0, 5)).toEqual([503, 503, 503, 503, 503])
    expect(statuses).toContain(429)
  })
})
