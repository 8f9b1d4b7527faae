import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { anApi, type TestApi, TOKEN } from '../../../tests/support/api.js'
import { aPipeline } from '../../../tests/support/builders.js'
import { aDatabase, type TestDatabase } from '../../../tests/support/database.js'
import {
  expectAnswered,
  fieldsWithValues,
  IDS,
  JSON_SHAPES,
  QUERIES,
} from '../../../tests/support/nonsense.js'
import { aRunner } from '../../../tests/support/runner.js'
import { run } from '../../../tests/support/runs.js'
import { PREVIEW_TIMEOUTS } from '../../inspect/read-first-rows.js'

let database: TestDatabase
let api: TestApi
let path: Record<'pipeline' | 'run' | 'row' | 'token', string>

beforeAll(async () => {
  database = await aDatabase({ cinema: true })
  api = inspectingApi()
  const { id } = await aPipeline(database)
  const runner = await aRunner(database)
  const ended = await run(database, id)
  await runner.stop()
  expect(ended.status).toBe('SUCCESS')
  const [row] = await database.query<{ id: string }>(
    `INSERT INTO etl.etl_quarantine (pipeline_id, run_id, row_key, columns, row_text, reason)
     VALUES ($1, $2, '1', '{film_id}', '{1}', 'refused')
     RETURNING id::text`,
    [id, ended.id],
  )
  const token = (await api.post('/tokens', { name: 'victim', role: 'viewer' })).json()
  path = {
    pipeline: `/pipelines/${id}`,
    run: `/runs/${ended.id}`,
    row: `/pipelines/${id}/quarantine/${row!.id}`,
    token: `/tokens/${token.id}`,
  }
})
afterAll(() => api.close())

const inspectingApi = (timeouts = PREVIEW_TIMEOUTS) =>
  anApi(database.loginUrl('meta'), { readerUrl: database.loginUrl('reader'), timeouts })

/** `{pipeline}/validate` with the path of an existing pipeline. */
const fill = (template: string) => template.replace(/\{(\w+)\}/, (_, name: keyof typeof path) => path[name])

const BODIES = [
  'POST /validate',
  'POST /preview',
  'POST {pipeline}/validate',
  'POST {pipeline}/preview',
  'POST {pipeline}/reconcile/repair',
  'POST {pipeline}/versions/1/restore',
  'POST {row}/replay',
  'POST {row}/discard',
  'POST /tokens',
]

const READS = [
  '{pipeline}/reconcile',
  '{pipeline}/versions',
  '{pipeline}/versions/1',
  '{pipeline}/quarantine',
  '{run}',
  '{run}/log',
  '{run}/batches',
  '/tokens',
  '/audit',
]

async function send(
  route: string,
  payload: string | Buffer,
  { type = 'application/json', to = api }: { type?: string; to?: TestApi } = {},
) {
  const [method, template] = route.split(' ') as ['POST', string]
  return to.call({
    method,
    url: fill(template),
    payload,
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': type },
  })
}

const DRAFT = { name: 'x', source_query: 'SELECT id FROM content.film_work', target_table: 'analytics.x' }
const FIELDS = ['source_query', 'target_table', 'source_connection', 'mode', 'key_columns', 'tasks']

describe('nonsense about existing objects gets a response, never a 5xx', () => {
  it('as changes that are checked together', async () => {
    for (const shape of JSON_SHAPES) expectAnswered(await send('POST /graph/validate', shape), shape)
    for (const [field, value] of fieldsWithValues('POST /graph/validate', FIELDS))
      expectAnswered(
        await send('POST /graph/validate', JSON.stringify({ pipelines: [{ ...DRAFT, [field]: value }] })),
        `${field} = ${JSON.stringify(value)}`,
      )
  })

  it.each(BODIES)('as a body: %s', async (route) => {
    for (const shape of JSON_SHAPES) expectAnswered(await send(route, shape), shape)
    for (const type of [
      'text/plain',
      'application/xml',
      'multipart/form-data',
      'application/json; charset=x',
    ])
      expectAnswered(await send(route, '{}', { type }), type)
    expect((await send(route, Buffer.from([0x22, 0xff, 0xfe, 0x22]))).json().detail).toBe(
      'The body is not UTF-8.',
    )
    expect((await send(route, `"${'x'.repeat(1024 * 1024)}"`)).statusCode).toBe(413)
    expect((await send(route, '['.repeat(500_000))).statusCode).toBe(422)
  })

  it.each(['POST /validate', 'POST /preview'])('as a field: %s', async (route) => {
    const fields = [...FIELDS, 'incremental_key', 'batch_size', 'reset_checkpoint', '__proto__']
    for (const [field, value] of fieldsWithValues(route, fields))
      expectAnswered(
        await send(route, JSON.stringify({ ...DRAFT, key_columns: ['id'], [field]: value })),
        `${field} ${String(JSON.stringify(value)).slice(0, 60)}`,
      )
  })

  const STRANGE_QUERIES = [
    ...[
      'SELECT',
      'SELECT 1 AS id;;',
      'SELECT 1 AS id --',
      'SELECT 1 AS id /*',
      "SELECT '",
      'SELECT $1',
      'VALUES (1)',
    ],
    ...['SELECT 1 AS id, 2 AS id', 'SELECT 1', 'SELECT FROM content.film_work', `SELECT ${'('.repeat(5000)}`],
    ...[
      'WITH RECURSIVE a AS (SELECT 1 AS id UNION ALL SELECT id + 1 FROM a) SELECT id FROM a',
      'SELECT 1 / 0 AS id',
    ],
    ...[
      `SELECT ${Array.from({ length: 1700 }, (_, n) => `${n} AS c${n}`).join(', ')}`,
      "SELECT 'NaN'::numeric AS id",
    ],
    ...[
      'SELECT (SELECT id FROM content.film_work) AS id',
      "SELECT repeat('x', 1000000) AS id",
      'EXPLAIN SELECT 1',
    ],
  ]
  it('as a query', async () => {
    for (const source_query of STRANGE_QUERIES)
      for (const route of ['POST /validate', 'POST /preview?limit=1'])
        expectAnswered(
          await send(route, JSON.stringify({ ...DRAFT, source_query, key_columns: ['id'] })),
          `${route} ${source_query.slice(0, 60)}`,
        )
  })

  const FAILING_QUERIES = [
    ['SELECT chr(0) AS id', 'SOURCE_QUERY_FAILED'],
    ['SELECT chr(1114112) AS id', 'SOURCE_QUERY_FAILED'],
    ["SELECT xpath('///', '<a/>'::xml) AS id", 'SOURCE_QUERY_FAILED'],
    [
      'SELECT repeat(repeat(title, 9000000), length(title) * 9000000) AS id FROM content.film_work',
      'SOURCE_QUERY_FAILED',
    ],
    [`SELECT '${'!'.repeat(900)}a'::tsquery AS id`, 'SOURCE_QUERY_FAILED'],
  ]
  it.each(FAILING_QUERIES)('as a query that fails while it runs: %s', async (source_query, code) => {
    const answer = await send('POST /preview', JSON.stringify({ ...DRAFT, source_query }))
    expect([answer.statusCode, answer.json().code], answer.body).toEqual([422, code])
    expectAnswered(await send('POST /validate', JSON.stringify({ ...DRAFT, source_query })), source_query!)
  })

  it('as a query that takes too long', async () => {
    const impatient = inspectingApi({ ...PREVIEW_TIMEOUTS, query: 500 })
    onTestFinished(() => impatient.close())
    const source_query =
      'SELECT count(*) AS id FROM generate_series(1, 100000000) a, generate_series(1, 100000000) b'
    const body = JSON.stringify({ ...DRAFT, source_query })
    const answer = await send('POST /preview', body, { to: impatient })
    expect([answer.statusCode, answer.json().code], answer.body).toEqual([422, 'SOURCE_TOO_SLOW'])
    expectAnswered(await send('POST /validate', body), source_query)
  })

  it.each(READS)('in the query: %s', async (template) => {
    for (const query of [
      ...QUERIES,
      'deep=maybe',
      'deep=true&deep=false',
      'deep=',
      'errors_only=1',
      'limit=1e1',
    ])
      expectAnswered(await api.get(`${fill(template)}?${query}`), query)
    expectAnswered(await api.get(`${fill(template)}?${'a=1&'.repeat(3000)}`), 'a long query')
  })

  it('as an unknown parameter', async () => {
    expect((await api.get(`${path.pipeline}/reconcile?dep=true`)).json().errors).toMatchObject([
      { field: 'dep' },
    ])
    expect((await api.post(`${path.pipeline}/preview?limits=1`)).json().errors).toMatchObject([
      { field: 'limits' },
    ])
  })

  it('in the path', async () => {
    for (const id of IDS)
      for (const url of [
        `/pipelines/${id}/reconcile?deep=true`,
        `/runs/${id}/log`,
        `/runs/${id}/batches`,
        `${path.pipeline}/versions/${id}`,
        `${path.pipeline}/quarantine/${id}`,
        `/tokens/${id}`,
        `/events/${id}`,
        `/${id}`,
        `/api/v1/${id}`,
        `//${id}`,
      ])
        for (const method of ['GET', 'POST', 'DELETE', 'OPTIONS'] as const)
          expectAnswered(await api.call({ method, url }), `${method} ${url.slice(0, 80)}`)
  })

  it('to /events, which responds before it starts to stream', async () => {
    for (const query of [
      'last_event_id=-1',
      'last_event_id=9999999999999999',
      'last_event_id=',
      'run_id=x',
      'x=1',
    ])
      expect((await api.get(`/events?${query}`)).statusCode, query).toBe(422)
    for (const id of ['', 'x', '-1', '1.5', '9'.repeat(300), '1, 2'])
      expect(
        (
          await api.call({
            method: 'GET',
            url: '/events',
            headers: { authorization: `Bearer ${TOKEN}`, 'last-event-id': id },
          })
        ).statusCode,
        id,
      ).toBe(422)
  })

  it('and existing pipelines are unchanged', async () => {
    expect((await api.get(path.pipeline)).statusCode).toBe(200)
    expect((await api.get(path.run)).json().status).toBe('SUCCESS')
    expect((await api.get(`/runs/${randomUUID()}/log`)).statusCode).toBe(404)
    const tokens = (await api.get('/tokens?limit=200')).json().items as {
      id: string
      revoked_at: string | null
    }[]
    expect(tokens.find(({ id }) => path.token.endsWith(id))?.revoked_at).toBeNull()
  })
})
