import { randomUUID } from 'node:crypto'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
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
import { pipelineFields } from '../schemas/pipeline-input.js'

let database: TestDatabase
let api: TestApi
let pipelineId: string
beforeAll(async () => {
  database = await aDatabase()
  api = anApi(database.loginUrl('meta'))
})
beforeEach(async () => {
  pipelineId = (await aPipeline(database)).id
})

const BODY_FIELDS = [
  ...Object.keys(pipelineFields),
  ...['reset_checkpoint', 'id', 'status'],
  ...[
    'external_ref',
    'last_processed_key',
    'last_processed_id',
    'role',
    'expires_at',
    'constructor',
    'hasOwnProperty',
    '',
  ],
]

const POSTS = [
  ...[
    'POST /pipelines',
    'PATCH /pipelines/$',
    'POST /pipelines/$/update-config',
    'POST /pipelines/$/run',
    'POST /pipelines/$/pause',
  ],
  ...[
    'POST /pipelines/$/enable',
    'POST /pipelines/$/disable',
    'POST /pipelines/$/reset',
    'POST /pipelines/$/reload-config',
  ],
  ...[
    'POST /pipelines/$/versions/1/restore',
    'POST /pipelines/$/quarantine/1/replay',
    'POST /pipelines/$/quarantine/1/discard',
  ],
  ...[
    `POST /runs/${randomUUID()}/cancel`,
    'POST /tokens',
    'DELETE /pipelines/$',
    `DELETE /tokens/${randomUUID()}`,
  ],
]

const GETS = [
  ...[
    '/pipelines',
    '/pipelines/$',
    '/pipelines/$/status',
    '/pipelines/$/state',
    '/pipelines/$/runs',
    '/pipelines/$/versions',
  ],
  ...[
    '/pipelines/$/versions/1',
    '/pipelines/$/quarantine',
    '/runs',
    `/runs/${randomUUID()}`,
    '/runners',
    '/audit',
    '/tokens',
  ],
]

async function send(route: string, payload: string, headers: Record<string, string> = {}) {
  const [method, url] = route.split(' ') as ['POST', string]
  return api.call({
    method,
    url: url.replace('$', pipelineId),
    payload,
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', ...headers },
  })
}

describe('nonsense gets a response, never a 5xx', () => {
  it.each(POSTS)('as a body: %s', async (route) => {
    for (const shape of JSON_SHAPES) expectAnswered(await send(route, shape), shape)
  })

  /** Routes with few fields get those and some that belong elsewhere. */
  const FIELDS: Record<string, string[]> = {
    'POST /pipelines': BODY_FIELDS,
    'PATCH /pipelines/$': BODY_FIELDS,
    'POST /pipelines/$/update-config': ['name', 'tasks', 'reset_checkpoint'],
    'POST /pipelines/$/run': ['external_ref', 'constructor'],
    'POST /pipelines/$/reset': ['last_processed_key', 'last_processed_id', ''],
    'POST /pipelines/$/versions/1/restore': ['reset_checkpoint', 'id'],
    'POST /tokens': ['name', 'role', 'expires_at', 'id'],
    'POST /pipelines/$/enable': ['enabled'],
    'POST /pipelines/$/quarantine/1/replay': ['id'],
  }
  it.each(Object.entries(FIELDS))('as a field: %s', async (route, fields) => {
    for (const [field, value] of fieldsWithValues(route, fields)) {
      const good =
        route === 'POST /pipelines'
          ? { name: randomUUID(), source_query: 'SELECT 1', target_table: 'analytics.x' }
          : {}
      expectAnswered(
        await send(route, JSON.stringify({ ...good, [field]: value })),
        `${field} ${String(JSON.stringify(value)).slice(0, 60)}`,
      )
    }
  })

  it('as a field of a task', async () => {
    const fields = ['order_index', 'task_type', 'body', 'source_table', 'target_table', 'id', 'other']
    for (const [field, value] of fieldsWithValues('task', fields)) {
      const task = { task_type: 'SQL', body: 'SELECT 1', [field]: value }
      expectAnswered(
        await send(
          'POST /pipelines',
          JSON.stringify({ name: randomUUID(), target_table: 'analytics.x', tasks: [task] }),
        ),
        `${field} ${String(JSON.stringify(value)).slice(0, 60)}`,
      )
    }
  })

  it.each(GETS)('in the query: %s', async (url) => {
    for (const query of QUERIES)
      expectAnswered(await api.get(`${url.replace('$', pipelineId)}?${query}`), query)
  })

  it.each(
    [...GETS.map((url) => `GET ${url}`), ...POSTS].filter(
      (route) => route.includes('$') || route.includes('/runs/'),
    ),
  )('in the path: %s', async (route) => {
    const [method, url] = route.split(' ') as ['GET', string]
    for (const id of IDS) {
      const path = url.replace('$', id).replace(/\/runs\/[^/]+/, `/runs/${id}`)
      expectAnswered(await api.call({ method, url: path }), id)
      expectAnswered(await api.call({ method, url: path.replace(/\/1(\/|$)/, `/${id}$1`) }), id)
    }
  })

  it('in headers', async () => {
    for (const value of [
      '',
      '"',
      'W/"1"',
      '"1", "2"',
      '*',
      'x'.repeat(10_000),
      '\u00ff',
      '"99999999999999999999"',
    ])
      for (const header of [
        'if-match',
        'idempotency-key',
        'x-request-id',
        'last-event-id',
        'authorization',
        'accept',
        'content-type',
      ])
        expectAnswered(
          await send('PATCH /pipelines/$', '{"description":"x"}', { [header]: value }),
          `${header}: ${value.slice(0, 50)}`,
        )
    for (const key of ['', ' ', 'ключ', 'x'.repeat(300)])
      expectAnswered(await send('POST /pipelines/$/run', '{}', { 'idempotency-key': key }), key)
  })

  it('and the server still works', async () => {
    expect((await api.get('/health/ready')).statusCode).toBe(200)
    expect((await api.get(`/pipelines`)).statusCode).toBe(200)
  })
})
