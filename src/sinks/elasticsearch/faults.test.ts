import { beforeEach, describe, expect, it } from 'vitest'
import {
  batchId,
  elasticsearchKind,
  openTestSink,
  SearchLab,
  searchServer,
} from '../../../tests/support/elasticsearch.js'
import { FaultProxy, type ProxyFault } from '../../../tests/support/fault-proxy.js'
import type { Sink } from '../../ports/sink.js'
import { RowBatch } from '../../sql/row-batch.js'

const server = await searchServer()
const lab = new SearchLab('url' in server ? server.url : '')
beforeEach((context) => {
  if ('missing' in server) context.skip(server.missing)
})

const ROWS = Array.from({ length: 1200 }, (_, id) => [String(id), `film ${id}`])

/** A mart behind a proxy; faults begin after it was created. */
async function aMart(environment: NodeJS.ProcessEnv = {}, options = {}) {
  const proxy = await FaultProxy.before(lab.url)
  const name = lab.name()
  const sink = await openTestSink({
    url: proxy.url,
    name,
    columns: ['id integer', 'title text'],
    environment,
    options,
  })
  await sink.prepare()
  proxy.seen.length = 0
  return { proxy, name, sink }
}

const write = (sink: Sink, number = 1) => sink.write(RowBatch.ofRows(ROWS), batchId(number))

/** The first so many bulks meet the fault. */
function firstBulks(proxy: FaultProxy, count: number, fault: ProxyFault): void {
  let left = count
  proxy.fault = ({ path }) => (path.includes('/_bulk') && left-- > 0 ? fault : null)
}

interface BulkResponse {
  errors: boolean
  items: { update: { status: number; result?: string; error?: unknown } }[]
}

/** Every n-th item of the answer is reported as failed, though the server did it. */
const failing =
  (every: number, status: number, type: string) =>
  (body: string): string => {
    const answer = JSON.parse(body) as BulkResponse
    for (const [index, item] of answer.items.entries())
      if (index % every === 0) item.update = { status, error: { type, reason: 'the proxy says so' } }
    return JSON.stringify({ ...answer, errors: true })
  }

describe('a batch is written completely', () => {
  const passing: Record<string, ProxyFault> = {
    'when the server is overloaded (429)': {
      kind: 'answer',
      status: 429,
      body: { error: { type: 'es_rejected_execution_exception' } },
    },
    'when the server sends Retry-After': {
      kind: 'answer',
      status: 429,
      headers: { 'retry-after': '1' },
    },
    'when the server fails (500)': { kind: 'answer', status: 500 },
    'when a gateway has no server (502)': { kind: 'answer', status: 502, body: '<html>' },
    'when the server restarts (503)': { kind: 'answer', status: 503 },
    'when the connection is cut before the server hears of it': { kind: 'cut' },
    'when the connection is cut after the server did it': { kind: 'lose' },
    'when the answer ends in the middle': { kind: 'half' },
    'when the response is invalid': { kind: 'pass', change: () => '{"items":' },
    'when some items are refused for now (429)': {
      kind: 'pass',
      change: failing(3, 429, 'es_rejected_execution_exception'),
    },
    'when some items fail (503)': { kind: 'pass', change: failing(2, 503, 'unavailable_shards_exception') },
    'when two updates of a document meet (409)': {
      kind: 'pass',
      change: failing(5, 409, 'version_conflict_engine_exception'),
    },
  }
  for (const [when, fault] of Object.entries(passing)) {
    it(when, async () => {
      const { proxy, name, sink } = await aMart()
      firstBulks(proxy, 4, fault)
      const { inserted, updated, unchanged, refused } = await write(sink)
      expect(inserted + updated + unchanged).toBe(ROWS.length)
      expect(refused).toEqual([])
      expect(await lab.count(name)).toBe(ROWS.length)
      expect(JSON.parse((await lab.source(name, '1199'))!)).toEqual({ id: 1199, title: 'film 1199' })
    })
  }
})

it('sends again only what failed', async () => {
  const { proxy, sink } = await aMart({ ELASTICSEARCH_PARALLEL_BULKS: '1' })
  firstBulks(proxy, 1, { kind: 'pass', change: failing(400, 429, 'es_rejected_execution_exception') })
  await write(sink)
  const lines = proxy.bulks().map(({ body }) => body.toString().trim().split('\n').length / 2)
  expect(lines).toEqual([1200, 3])
})

it('halves a bulk that is too large (413), and rejects a single document that is too large', async () => {
  const { proxy, name, sink } = await aMart({ ELASTICSEARCH_PARALLEL_BULKS: '1' })
  const tooLarge = ({ path, body }: { path: string; body: Buffer }): ProxyFault | null =>
    path.includes('/_bulk') && (body.length > 20_000 || body.includes('"film 77"'))
      ? { kind: 'answer', status: 413 }
      : null
  proxy.fault = tooLarge
  const { inserted, refused } = await write(sink)
  expect(inserted).toBe(1199)
  expect(refused).toHaveLength(1)
  expect(refused[0]!.row).toBe(77)
  expect(refused[0]!.reason).toMatch(/The document has \d+ bytes, more than the server accepts/)
  expect(await lab.count(name)).toBe(1199)
})

it('refuses nothing and loses nothing when another part of a bulk is refused', async () => {
  const { proxy, sink } = await aMart({ ELASTICSEARCH_PARALLEL_BULKS: '1' })
  firstBulks(proxy, 1, { kind: 'pass', change: failing(600, 400, 'document_parsing_exception') })
  const { inserted, refused } = await write(sink)
  expect({ inserted, rows: refused.map(({ row }) => row) }).toEqual({ inserted: 1198, rows: [0, 600] })
  expect(refused[0]!.reason).toBe('document_parsing_exception: the proxy says so')
})

describe('a clear state', () => {
  const environment = { ELASTICSEARCH_RETRY_SECONDS: '1' }
  const lasting: Record<string, { fault: ProxyFault; code: string; message: RegExp }> = {
    'overloaded for longer than we wait': {
      fault: { kind: 'answer', status: 429 },
      code: 'SINK_OVERLOADED',
      message: /HTTP 429/,
    },
    'items refused for longer than we wait': {
      fault: { kind: 'pass', change: failing(2, 429, 'es_rejected_execution_exception') },
      code: 'SINK_OVERLOADED',
      message: /es_rejected_execution_exception/,
    },
    'no answer for longer than we wait': {
      fault: { kind: 'cut' },
      code: 'SINK_UNAVAILABLE',
      message: /does not respond/,
    },
    'credentials that are not accepted': {
      fault: {
        kind: 'answer',
        status: 401,
        body: { error: { type: 'security_exception', reason: 'unable to authenticate user' } },
      },
      code: 'SINK_LOGIN',
      message: /unable to authenticate/,
    },
    'a privilege that is missing': {
      fault: { kind: 'pass', change: failing(1, 403, 'security_exception') },
      code: 'SINK_LOGIN',
      message: /security_exception/,
    },
    'an answer with fewer items': {
      fault: { kind: 'pass', change: (body) => JSON.stringify({ ...JSON.parse(body), items: [] }) },
      code: 'SINK_REFUSED',
      message: /bulk of \d+ items contains 0/,
    },
  }
  for (const [what, { fault, code, message }] of Object.entries(lasting)) {
    it(`for ${what}`, async () => {
      const { proxy, name, sink } = await aMart(environment)
      proxy.fault = ({ path }) => (path.includes('/_bulk') ? fault : null)
      const failure = await write(sink).catch((error) => error)
      expect(failure).toMatchObject({ code, message: expect.stringMatching(message) })
      expect(failure.hint).not.toBe('')
      proxy.fault = () => null
      const { inserted, updated, unchanged } = await write(sink)
      expect(inserted + updated + unchanged).toBe(ROWS.length)
      expect(await lab.count(name)).toBe(ROWS.length)
    })
  }

  it('for a server that does not respond, quickly and without its password', async () => {
    const url = 'http://ann:s3cret@127.0.0.1:9'
    const sink = await openTestSink({ url, name: 'x', columns: ['id integer'] })
    const ping = elasticsearchKind(url).ping(AbortSignal.timeout(20_000))
    const failures = await Promise.all([sink.examine(), ping].map((each) => each.catch((error) => error)))
    for (const failure of failures) {
      expect(failure).toMatchObject({ code: 'SINK_UNAVAILABLE' })
      expect(`${failure.message} ${failure.hint} ${failure.cause}`).not.toContain('s3cret')
    }
  })

  it('for a server without TLS', async () => {
    const sink = await openTestSink({
      url: lab.url.replace('http:', 'https:'),
      name: 'x',
      columns: ['id integer'],
    })
    await expect(sink.examine()).rejects.toMatchObject({
      code: 'SINK_REFUSED',
      message: expect.stringContaining('TLS'),
    })
  })
})

it('tries the next node if one does not respond', async () => {
  const name = lab.name()
  const sink = await openTestSink({
    url: `http://127.0.0.1:9,${lab.url}`,
    name,
    columns: ['id integer', 'title text'],
  })
  await sink.prepare()
  expect(await write(sink)).toMatchObject({ inserted: ROWS.length })
})

it('sends the credentials from the environment', async () => {
  const seen: (string | undefined)[] = []
  const proxy = await FaultProxy.before(lab.url)
  proxy.fault = ({ headers }) => {
    seen.push(headers.authorization)
    return null
  }
  const withUser = proxy.url.replace('http://', 'http://ann:p%40ss@')
  await elasticsearchKind(withUser).ping(AbortSignal.timeout(20_000))
  await elasticsearchKind(proxy.url, { ELASTICSEARCH_USERNAME: 'bob', ELASTICSEARCH_PASSWORD: 'x' }).ping(
    AbortSignal.timeout(20_000),
  )
  await elasticsearchKind(withUser, { ELASTICSEARCH_API_KEY: 'a2V5' }).ping(AbortSignal.timeout(20_000))
  const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`
  expect(seen).toEqual([basic('ann:p@ss'), basic('bob:x'), 'ApiKey a2V5'])
})

it('stops waiting when the run is stopped', async () => {
  const proxy = await FaultProxy.before(lab.url)
  const stop = new AbortController()
  const name = lab.name()
  const sink = await openTestSink({
    url: proxy.url,
    name,
    columns: ['id integer', 'title text'],
    signal: stop.signal,
  })
  await sink.prepare()
  proxy.fault = () => {
    stop.abort()
    return { kind: 'answer', status: 429 }
  }
  await expect(write(sink)).rejects.toMatchObject({ name: 'AbortError' })
})

it('does not accept a scan whose response was lost as complete', async () => {
  const { proxy, sink } = await aMart()
  await write(sink)
  proxy.fault = ({ path }) => (path.includes('_search') ? { kind: 'lose' } : null)
  const keys = async function* () {
    yield [['1']]
  }
  await expect(sink.removeAbsent(keys(), batchId(2))).rejects.toMatchObject({ code: 'SINK_UNAVAILABLE' })
})
