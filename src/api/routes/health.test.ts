import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import { anApi, type TestApi } from '../../../tests/support/api.js'
import { aDatabase } from '../../../tests/support/database.js'
import { liveWire, readyWire } from '../schemas/health.js'

function open(url: string): TestApi {
  const api = anApi(url)
  return api
}

/** A port that was free a moment ago, so that nothing listens there. */
async function nowhere(): Promise<string> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return `postgres://etl:hunter2@127.0.0.1:${port}/nothing`
}

describe('GET /health', () => {
  it('is ok without a token, and without a database', async () => {
    const api = open(await nowhere())
    for (const url of ['/health', '/api/v1/health']) {
      const answer = await api.app.inject({ url })
      expect([answer.statusCode, liveWire.parse(answer.json()).status]).toEqual([200, 'ok'])
    }
  })
})

describe('GET /health/ready', () => {
  it('is ok when the database responds and is migrated', async () => {
    const database = await aDatabase()
    const answer = await open(database.loginUrl('meta')).app.inject({ url: '/health/ready' })
    expect(answer.statusCode).toBe(200)
    expect(readyWire.parse(answer.json())).toMatchObject({
      status: 'ok',
      checks: { database: { status: 'ok' }, migrations: { status: 'ok' } },
    })
  })

  it('names missing migrations', async () => {
    const database = await aDatabase({ migrated: false })
    const answer = await open(database.url).app.inject({ url: '/health/ready' })
    expect(answer.statusCode).toBe(503)
    expect(readyWire.parse(answer.json()).checks).toMatchObject({
      database: { status: 'ok' },
      migrations: { status: 'down', code: 'MIGRATION_MISSING' },
    })
  })

  it('reports an unavailable database without revealing its address', async () => {
    const api = open(await nowhere())
    const answer = await api.app.inject({ url: '/health/ready' })
    expect(answer.statusCode).toBe(503)
    expect(readyWire.parse(answer.json()).checks).toMatchObject({
      database: { status: 'down', code: 'DATABASE_UNAVAILABLE' },
    })
    expect(answer.body).not.toContain('127.0.0.1')
    expect(JSON.stringify(api.lines)).not.toContain('hunter2')
  })
})

describe('an unavailable database', () => {
  it('returns 503 with Retry-After, without a password anywhere', async () => {
    const api = open(await nowhere())
    const answer = await api.get('/pipelines')
    expect(answer.statusCode).toBe(503)
    expect(answer.headers['retry-after']).toBe('5')
    expect(answer.json()).toMatchObject({ code: 'DATABASE_UNAVAILABLE', retryable: true })
    expect(answer.body + JSON.stringify(api.lines)).not.toContain('hunter2')
    expect(api.lines).toContainEqual(
      expect.objectContaining({ level: 'error', code: 'DATABASE_UNAVAILABLE' }),
    )
  })

  it('leaves the metrics available, which report it', async () => {
    const answer = await open(await nowhere()).get('/metrics')
    expect(answer.statusCode).toBe(200)
    expect(answer.body).toContain('vitrina_meta_store_up 0')
  })
})
