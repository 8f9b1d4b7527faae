import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { anApi, type TestApi, TOKEN } from '../../tests/support/api.js'
import { aPipeline } from '../../tests/support/builders.js'
import { aDatabase, type TestDatabase } from '../../tests/support/database.js'

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
afterAll(() => api.close())

const HUGE = 10 ** 30
const VALUES: unknown[] = [
  ...[
    null,
    true,
    0,
    -1,
    1.5,
    HUGE,
    -HUGE,
    2 ** 31,
    2 ** 53,
    '',
    ' ',
    '\u0000',
    'a\u0000b',
    '\ud800',
    'a\udfffb',
  ],
  ...[
    'x'.repeat(100_000),
    "'; DROP TABLE etl.etl_pipelines; --",
    '../../etc/passwd',
    '9'.repeat(400),
    '-1',
    'NaN',
    'null',
  ],
  ...[
    '* * * * * * * *',
    '0 0 31 2 *',
    '99999-1 * * * *',
    'P99999999999999999999D',
    '1e400',
    '2024-02-30T99:99:99Z',
    '+275760-09-13T00:00:00Z',
    '0000-00-00T00:00:00Z',
  ],
  ...[
    [],
    [[]],
    [null],
    ['\u0000'],
    {},
    { a: 1 },
    { constructor: 1 },
    { toString: 'x' },
    [{}],
    [{ task_type: 'SQL' }],
    [1, 'a', null],
  ],
]

const BODY_FIELDS = [
  ...[
    'name',
    'description',
    'type',
    'source_type',
    'source_connection',
    'source_query',
    'target_table',
    'target_connection',
    'mode',
  ],
  ...[
    'full_strategy',
    'incremental_key',
    'incremental_id_key',
    'capture',
    'deletes',
    'key_columns',
    'batch_size',
    'enabled',
  ],
  ...[
    'schedule_interval',
    'schedule_timezone',
    'quarantine_limit',
    'delete_brake',
    'tasks',
    'reset_checkpoint',
    'id',
    'status',
  ],
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

function expectAnswered(answer: { statusCode: number; body: string }, what: string): void {
  expect(answer.statusCode, `${what}: ${answer.body.slice(0, 500)}`).toBeLessThan(500)
}

const JSON_SHAPES = [
  '',
  'null',
  '[]',
  '"text"',
  '1',
  '{',
  '{"a":1}}',
  '{"__proto__":{"a":1}}',
  '{"constructor":{"prototype":1}}',
  '[{}]',
  '{"a":',
  '\ufeff{}',
  '{"a":"\\ud800"}',
  '{"\\u0000":1}',
  '1e999',
  '[1,2',
  'nul',
]

describe('nonsense is answered, never with a 5xx', () => {
  it.each(POSTS)('as a body: %s', async (route) => {
    for (const shape of JSON_SHAPES) expectAnswered(await send(route, shape), shape)
  })

  /** Routes that take few fields get those and some that belong elsewhere. */
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
    for (const field of fields)
      for (const value of VALUES) {
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
    for (const field of ['order_index', 'task_type', 'body', 'source_table', 'target_table', 'id', 'other'])
      for (const value of VALUES) {
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

  const QUERIES = [
    ...[
      'limit=-1',
      'limit=0',
      'limit=1e9',
      'limit=99999999999',
      'limit=',
      'limit=1&limit=2',
      'limit[]=1',
      'limit=%00',
      'limit=1.5',
    ],
    ...[
      'cursor=',
      'cursor=x',
      'cursor=%00',
      'cursor=W10',
      'cursor=WyJhIl0',
      'cursor=WyJhIiwiYiJd',
      'cursor=WyItMSJd',
      'cursor=Wzk5OV0',
      'cursor=WyI5OTk5OTk5OTk5OTk5OTk5OTk5OTkiXQ',
    ],
    ...[
      'status=NONE',
      'status=IDLE&status=IDLE',
      'enabled=maybe',
      'q=%00',
      'q=%ED%A0%80',
      'q=%',
      'pipeline_id=x',
      'action=%00',
      'target_id=%00',
      '__proto__=1',
      'a[b][c]=1',
      '&&&=',
      '%%%',
    ],
  ]
  it.each(GETS)('in the query: %s', async (url) => {
    for (const query of QUERIES)
      expectAnswered(await api.get(`${url.replace('$', pipelineId)}?${query}`), query)
  })

  const IDS = [
    '%00',
    '%ED%A0%80',
    '%',
    '..%2f..',
    'a'.repeat(5000),
    '%F0%9F%92%A9',
    "'%20OR%201=1",
    '-1',
    `${'0'.repeat(8)}-0000-0000-0000-000000000000`,
    '{',
    '%0d%0aX:%201',
  ]
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
