import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { anApi, type TestApi, TOKEN } from '../../../tests/support/api.js'
import { aDatabase } from '../../../tests/support/database.js'
import { openStream } from '../../../tests/support/sse.js'

const SCRIPT = `export const words = ${JSON.stringify('film '.repeat(1000))}`
const PAGE = `<!doctype html><meta content="{{csp-nonce}}">${'<p>film</p>'.repeat(200)}`

let home: string
let api: TestApi
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'vitrina-packing-'))
  await mkdir(join(home, 'assets'))
  await writeFile(join(home, 'index.html'), PAGE)
  await writeFile(join(home, 'assets', 'app-1a2b.js'), SCRIPT)
  // Not what gzip would produce now: so it shows which of the two was sent.
  await writeFile(join(home, 'assets', 'app-1a2b.js.gz'), gzipSync(SCRIPT, { level: 1 }))
  api = anApi((await aDatabase()).loginUrl('meta'), { consoleDir: home })
})
afterAll(() => rm(home, { recursive: true }))

const ask = (url: string, accepted?: string) =>
  api.app.inject({
    url,
    headers: {
      authorization: `Bearer ${TOKEN}`,
      ...(accepted === undefined ? {} : { 'accept-encoding': accepted }),
    },
  })

describe('a response', () => {
  it.each([
    ['gzip, deflate, br', 'br'],
    ['gzip', 'gzip'],
    ['br;q=0.1, gzip;q=0.9', 'gzip'],
    ['br;q=0, *', 'gzip'],
    ['identity', undefined],
    ['gzip;q=0', undefined],
    [undefined, undefined],
  ])('for a client that accepts %s is compressed as %s', async (accepted, packing) => {
    const plain = await ask('/openapi.json')
    const answer = await ask('/openapi.json', accepted)
    expect(answer.headers['content-encoding']).toBe(packing)
    expect(answer.headers.vary).toBe('accept-encoding')
    expect(Number(answer.headers['content-length'])).toBe(answer.rawPayload.length)
    const unpack = { br: brotliDecompressSync, gzip: gunzipSync, plain: (all: Buffer) => all }
    const content = unpack[(packing ?? 'plain') as keyof typeof unpack](answer.rawPayload)
    expect(content.equals(plain.rawPayload)).toBe(true)
    if (packing !== undefined) expect(answer.rawPayload.length).toBeLessThan(plain.rawPayload.length / 4)
  })

  it('that is small, or has no body, is not compressed', async () => {
    expect((await ask('/health', 'br')).headers['content-encoding']).toBeUndefined()
    expect((await ask('/ui', 'br')).headers['content-encoding']).toBeUndefined()
  })

  it('to HEAD has the headers of GET', async () => {
    const headers = { 'accept-encoding': 'gzip' }
    const head = await api.app.inject({ method: 'HEAD', url: '/openapi.json', headers })
    const get = await api.app.inject({ url: '/openapi.json', headers })
    expect(head.headers['content-encoding']).toBe('gzip')
    expect(head.headers['content-length']).toBe(get.headers['content-length'])
    expect(head.rawPayload.length).toBe(0)
  })
})

describe('the files of the console', () => {
  it('are sent as the build compressed them, and with the same policy', async () => {
    const answer = await ask('/ui/assets/app-1a2b.js', 'gzip')
    expect(answer.rawPayload.equals(gzipSync(SCRIPT, { level: 1 }))).toBe(true)
    expect(answer.headers).toMatchObject({
      'content-encoding': 'gzip',
      'content-type': 'text/javascript; charset=utf-8',
      vary: 'accept-encoding',
    })
    expect(answer.headers['cache-control']).toContain('immutable')
    expect(answer.headers['content-security-policy']).toContain("script-src 'self'")
  })

  it('are compressed when sent if the build did not', async () => {
    const answer = await ask('/ui/assets/app-1a2b.js', 'br')
    expect(answer.headers['content-encoding']).toBe('br')
    expect(brotliDecompressSync(answer.rawPayload).toString()).toBe(SCRIPT)
  })

  it('keep the nonce of each page in its policy', async () => {
    const answer = await ask('/ui/pipelines', 'gzip')
    const [, nonce] = /content="([\w+/=]{24})"/.exec(gunzipSync(answer.rawPayload).toString()) ?? []
    expect(answer.headers['content-security-policy']).toContain(`'nonce-${nonce}'`)
    expect(answer.headers['content-security-policy']).not.toContain('unsafe')
  })
})

describe('the event stream', () => {
  it('is never compressed, whatever the client accepts: an event is delivered at once', async () => {
    await api.app.listen({ host: '127.0.0.1', port: 0 })
    const client = await openStream(api.app, {
      authorization: `Bearer ${TOKEN}`,
      'accept-encoding': 'gzip, br',
    })
    try {
      expect(client.response.headers.get('content-encoding')).toBeNull()
      await api.post('/pipelines', {
        name: 'announced',
        source_query: 'SELECT 1 AS id',
        target_table: 'analytics.announced',
        key_columns: ['id'],
      })
      await client.waitFor('the new pipeline', (events) =>
        events.some(({ event }) => event === 'pipeline.created'),
      )
    } finally {
      client.close()
    }
  })
})
