import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { anApi, type TestApi } from '../../../tests/support/api.js'
import { aPipeline } from '../../../tests/support/builders.js'
import { aDatabase, type TestDatabase } from '../../../tests/support/database.js'
import { pipelineWire } from '../schemas/pipeline.js'

let database: TestDatabase
let api: TestApi
beforeAll(async () => {
  database = await aDatabase()
  api = anApi(database.loginUrl('meta'), { connections: ['warehouse'] })
})

const spec = (changes: object = {}) => ({
  name: `p_${randomUUID().slice(0, 8)}`,
  source_query: 'SELECT id AS film_id, modified AS updated_at FROM content.film_work',
  target_table: `analytics.mart_${randomUUID().slice(0, 8)}`,
  ...changes,
})

async function created(changes: object = {}): Promise<string> {
  const answer = await api.post('/pipelines', spec(changes))
  expect(answer.statusCode, answer.body).toBe(201)
  return answer.json().id
}

const codes = (answer: { json(): { errors?: { field: string; code: string }[] } }) =>
  Object.fromEntries((answer.json().errors ?? []).map(({ field, code }) => [field, code]))

async function setStatus(id: string, ...statuses: string[]): Promise<void> {
  for (const status of statuses)
    await database.query('UPDATE etl.etl_pipelines SET status = $2 WHERE id = $1', [id, status])
}

async function setCheckpoint(id: string): Promise<void> {
  await database.query(
    "UPDATE etl.etl_state SET last_processed_key = '2024-01-01', last_processed_id = '7' WHERE pipeline_id = $1",
    [id],
  )
}

describe('POST /pipelines', () => {
  it('creates a pipeline with every default, and returns its location', async () => {
    const body = spec()
    const answer = await api.post('/api/v1/pipelines', body)
    expect(answer.statusCode).toBe(201)
    const made = pipelineWire.strict().parse(answer.json())
    expect(answer.headers.location).toBe(`/api/v1/pipelines/${made.id}`)
    expect(answer.headers.etag).toBe('"1"')
    expect(made).toMatchObject({
      ...body,
      status: 'IDLE',
      type: 'SQL',
      batch_size: 'auto',
      config_version: 1,
      tasks: [],
    })
    expect((await api.get(String(answer.headers.location))).json()).toEqual(made)
  })

  it('accepts a task plan in the order of its positions', async () => {
    const tasks = [
      { order_index: 2, task_type: 'PYTHON', body: 'demo_film_dim', target_table: 'analytics.other' },
      { order_index: 1, task_type: 'SQL', body: 'SELECT 1 AS id' },
    ]
    const answer = await api.post('/pipelines', spec({ tasks, source_query: undefined }))
    expect(answer.json()).toMatchObject({
      type: 'PYTHON',
      config_version: 1,
      tasks: [{ task_type: 'SQL' }, { body: 'demo_film_dim' }],
    })
  })

  it.each([
    'SELECT 1) AS source; DROP TABLE content.genre; --',
    ') AS source; DELETE FROM content.genre; SELECT * FROM (SELECT 1',
    '\\! id',
    "SELECT 'unfinished",
    'SELECT 1 AS a, 2 AS a',
    "SELECT 'x'::uuid AS a",
  ])('R6.1 does not save a query that can never run: %s', async (source_query) => {
    const answer = await api.post('/pipelines', spec({ source_query }))
    expect([answer.statusCode, codes(answer)]).toEqual([422, { source_query: 'SOURCE_QUERY_FAILED' }])
    const id = await created()
    expect((await api.patch(`/pipelines/${id}`, { source_query })).statusCode).toBe(422)
  })

  it('saves a query whose tables or privileges may come later', async () => {
    await created({ source_query: 'SELECT id, title FROM content.no_such_table' })
    await database.query('CREATE SCHEMA content; CREATE TABLE content.hidden (id int)')
    await created({ source_query: 'SELECT id FROM content.hidden' })
  })

  it('rejects a name that already exists', async () => {
    const body = spec()
    await api.post('/pipelines', body)
    const answer = await api.post('/pipelines', body)
    expect([answer.statusCode, answer.json().code]).toEqual([409, 'PIPELINE_NAME_TAKEN'])
    expect(answer.json().detail).toContain(body.name)
  })

  it('reports all mistakes at once, those of the shape and those of the rules', async () => {
    const answer = await api.post('/pipelines', {
      ...{
        name: '',
        target_table: 'content.film_work',
        mode: 'incremental',
        batch_size: 0,
        schedule_interval: 'often',
      },
      ...{
        source_connection: 'nowhere',
        full_strategy: 'replace',
        key_columns: ['a', 'a'],
        colour: 'red',
        enabled: 'yes',
      },
    })
    expect(answer.statusCode).toBe(422)
    expect(codes(answer)).toEqual({
      ...{
        name: 'too_small',
        batch_size: 'too_small',
        enabled: 'invalid_type',
        colour: 'unrecognized_keys',
      },
      ...{
        source_query: 'SOURCE_MISSING',
        target_table: 'TARGET_REFUSED',
        source_connection: 'CONNECTION_UNKNOWN',
      },
      ...{ incremental_key: 'KEY_MISSING', full_strategy: 'MODE_MISMATCH', key_columns: 'KEY_DOUBLED' },
      ...{ schedule_interval: 'SCHEDULE_UNREADABLE' },
    })
  })

  it.each([
    [
      'schedule_timezone',
      { schedule_interval: '0 6 * * *', schedule_timezone: 'Mars/Olympus' },
      'ZONE_UNKNOWN',
    ],
    ['incremental_id_key', { incremental_id_key: 'id' }, 'KEY_MISSING'],
    ['incremental_id_key', { incremental_key: 'a', incremental_id_key: 'a' }, 'KEY_DOUBLED'],
    ['capture', { capture: 'xmin' }, 'MODE_MISMATCH'],
    ['capture', { capture: 'wal' }, 'MODE_MISMATCH'],
    ['freshness', { freshness: 'live' }, 'MODE_MISMATCH'],
    ['consistency', { consistency: 'group', parallelism: 4 }, 'GROUP_UNSUPPORTED'],
    ['consistency', { consistency: 'group', shared_target: true }, 'GROUP_UNSUPPORTED'],
    [
      'consistency',
      { consistency: 'group', mode: 'incremental', capture: 'wal', freshness: 'live' },
      'GROUP_UNSUPPORTED',
    ],
    ['consistency', { consistency: 'group', engine: 'spark' }, 'GROUP_UNSUPPORTED'],
    ['type', { type: 'PYTHON' }, 'TYPE_MISMATCH'],
    ['target_table', { target_table: 'es:films' }, 'TARGET_REFUSED'],
    ['target_table', { target_table: 'analytics.a;drop' }, 'TARGET_REFUSED'],
    ['schedule_interval', { schedule_interval: '99999999999999d' }, 'SCHEDULE_UNREADABLE'],
    ['name', { name: 'a\u0000b' }, 'custom'],
    ['description', { description: 'half a \ud800 pair' }, 'custom'],
  ])('refuses %s of %j', async (field, changes, code) => {
    const answer = await api.post('/pipelines', spec(changes))
    expect([answer.statusCode, codes(answer)]).toEqual([422, { [field]: code }])
  })

  const sql = { task_type: 'SQL', body: 'SELECT 1' }
  const python = { task_type: 'PYTHON', body: 'demo' }
  it.each([
    [
      'R4.7 order',
      [
        { ...sql, order_index: 1 },
        { ...python, order_index: 1 },
      ],
      'tasks.1.order_index',
      'PLAN_ORDER_DOUBLED',
    ],
    ['R4.7 first SQL', [python, python], 'tasks.0.task_type', 'PLAN_FIRST_NOT_SQL'],
    ['R4.7 rest PYTHON', [sql, sql], 'tasks.1.task_type', 'PLAN_LATER_NOT_PYTHON'],
    ['R4.7 body', [{ ...sql, body: '  ' }], 'tasks.0.body', 'PLAN_BODY_EMPTY'],
    ['R4.7 empty body', [{ ...sql, body: '' }], 'tasks.0.body', 'too_small'],
    ['R4.7 type', [{ body: 'SELECT 1' }], 'tasks.0.task_type', 'invalid_value'],
    [
      'R4.7 target last',
      [{ ...sql, target_table: 'analytics.x' }, python],
      'tasks.0.target_table',
      'PLAN_TARGET_NOT_LAST',
    ],
    [
      'R4.7 target allowed',
      [sql, { ...python, target_table: 'auth.users' }],
      'tasks.1.target_table',
      'TARGET_REFUSED',
    ],
    ['R4.9 no path', [sql, { ...python, body: '../evil.py' }], 'tasks.1.body', 'PLAN_TRANSFORM_NAME'],
  ])('rejects an invalid plan: %s', async (_rule, tasks, field, code) => {
    const answer = await api.post('/pipelines', spec({ tasks }))
    expect([answer.statusCode, codes(answer)]).toEqual([422, { [field]: code }])
  })
})

describe('PATCH /pipelines/{id}', () => {
  it('changes the given fields and keeps the rest; null restores the default', async () => {
    const target_table = 'analytics.film_dim'
    const id = await created({ description: 'old', batch_size: 10, schedule_interval: '15m', target_table })
    const answer = await api.patch(`/pipelines/${id}`, {
      description: 'new',
      batch_size: null,
      schedule_interval: null,
    })
    expect([answer.statusCode, answer.headers.etag]).toEqual([200, '"2"'])
    expect(answer.json()).toMatchObject({
      description: 'new',
      batch_size: 'auto',
      schedule_interval: null,
      target_table,
    })
  })

  it('is also available as update-config', async () => {
    const id = await created()
    const answer = await api.post(`/pipelines/${id}/update-config`, { description: 'x' })
    expect([answer.statusCode, answer.json().config_version]).toEqual([200, 2])
  })

  it('creates one version for pipeline and tasks together, and none without changes', async () => {
    const id = await created()
    const tasks = [
      { task_type: 'SQL', body: 'SELECT 1 AS film_id' },
      { task_type: 'PYTHON', body: 'demo' },
    ]
    const answer = await api.patch(`/pipelines/${id}`, { description: 'planned', tasks })
    expect(answer.json()).toMatchObject({
      config_version: 2,
      type: 'PYTHON',
      tasks: [{ order_index: 1 }, { order_index: 2 }],
    })
    expect((await api.patch(`/pipelines/${id}`, { tasks })).json().config_version).toBe(2)
    expect((await api.patch(`/pipelines/${id}`, { tasks: null })).json()).toMatchObject({
      config_version: 3,
      type: 'SQL',
      tasks: [],
    })
  })

  it('respects If-Match, and returns the current version if it is stale', async () => {
    const id = await created()
    const first = await api.patch(`/pipelines/${id}`, { description: 'a' }, { 'if-match': '"1"' })
    expect(first.statusCode).toBe(200)
    const stale = await api.patch(`/pipelines/${id}`, { description: 'b' }, { 'if-match': '"1"' })
    expect([stale.statusCode, stale.json().code, stale.json().current_version]).toEqual([
      412,
      'VERSION_STALE',
      2,
    ])
    expect((await api.patch(`/pipelines/${id}`, { description: 'b' }, { 'if-match': '*' })).statusCode).toBe(
      200,
    )
  })

  it('accepts one of two changes based on the same version', async () => {
    const id = await created()
    const answers = await Promise.all(
      ['a', 'b', 'c', 'd'].map((description) =>
        api.patch(`/pipelines/${id}`, { description }, { 'if-match': '"1"' }),
      ),
    )
    expect(answers.map((answer) => answer.statusCode).sort()).toEqual([200, 412, 412, 412])
  })

  it('R5.2 rejects what would corrupt a run, with a remedy; the rest may change', async () => {
    const id = await created()
    await setStatus(id, 'RUN_REQUESTED', 'RUNNING')
    for (const change of [
      { target_table: 'analytics.b' },
      { mode: 'incremental', incremental_key: 'x' },
      { tasks: [{ task_type: 'SQL', body: 'SELECT 2' }] },
    ]) {
      const answer = await api.patch(`/pipelines/${id}`, change)
      expect([answer.statusCode, answer.json().code]).toEqual([409, 'PIPELINE_BUSY'])
      expect(answer.json().hint).toContain('/pause')
    }
    expect((await api.patch(`/pipelines/${id}`, { batch_size: 7 })).statusCode).toBe(200)
    const gone = await api.call({ method: 'DELETE', url: `/pipelines/${id}` })
    expect([gone.statusCode, gone.json().code]).toEqual([409, 'PIPELINE_BUSY'])
  })

  it('the database itself rejects changes of tasks and deletion while RUNNING', async () => {
    const { id } = await aPipeline(database, { tasks: [{ taskType: 'SQL', body: 'SELECT 1' }] })
    await setStatus(id, 'RUN_REQUESTED', 'RUNNING')
    for (const sql of [
      'DELETE FROM etl.etl_pipelines WHERE id = $1',
      "UPDATE etl.etl_pipeline_tasks SET body = 'x' WHERE pipeline_id = $1",
    ])
      await expect(database.query(sql, [id])).rejects.toMatchObject({ code: 'VT002' })
  })

  it('reports before saving that a change invalidates the checkpoint, and resets it only on request', async () => {
    const id = await created({ mode: 'incremental', incremental_key: 'updated_at' })
    const change = { incremental_key: 'film_id' }
    const source_query = 'SELECT 1 AS film_id, 2 AS updated_at'
    expect((await api.patch(`/pipelines/${id}`, { source_query })).statusCode).toBe(200)
    await setCheckpoint(id)
    const refused = await api.patch(`/pipelines/${id}`, change)
    expect([refused.statusCode, refused.json().code, refused.json().fields]).toEqual([
      409,
      'CHECKPOINT_INVALID',
      ['incremental_key'],
    ])
    expect((await api.patch(`/pipelines/${id}`, { description: 'harmless' })).statusCode).toBe(200)
    const kept = await api.patch(`/pipelines/${id}`, { ...change, reset_checkpoint: false })
    expect([kept.statusCode, (await api.get(`/pipelines/${id}/state`)).json().last_processed_key]).toEqual([
      200,
      '2024-01-01',
    ])
    const reset = await api.patch(`/pipelines/${id}`, { target_table: 'analytics.c', reset_checkpoint: true })
    expect([reset.statusCode, (await api.get(`/pipelines/${id}/state`)).json().last_processed_key]).toEqual([
      200,
      null,
    ])
    expect(
      await database.query('SELECT reset, position FROM etl.etl_state WHERE pipeline_id = $1', [id]),
    ).toEqual([{ reset: true, position: null }])
  })

  it('returns 404 for one that does not exist', async () => {
    for (const id of [randomUUID(), 'film'])
      expect((await api.patch(`/pipelines/${id}`, { description: 'x' })).statusCode).toBe(404)
  })
})

describe('other changes', () => {
  it('deletes', async () => {
    const id = await created()
    const stale = await api.call({
      method: 'DELETE',
      url: `/pipelines/${id}`,
      headers: { authorization: 'Bearer a-token-for-tests-only', 'if-match': '"9"' },
    })
    expect(stale.statusCode).toBe(412)
    const answer = await api.call({ method: 'DELETE', url: `/pipelines/${id}` })
    expect([answer.statusCode, answer.body]).toEqual([204, ''])
    expect((await api.call({ method: 'DELETE', url: `/pipelines/${id}` })).statusCode).toBe(404)
  })

  it('enables and disables, repeatedly', async () => {
    const id = await created()
    for (const [verb, enabled, version] of [
      ['disable', false, 2],
      ['disable', false, 2],
      ['enable', true, 3],
    ] as const)
      expect((await api.post(`/pipelines/${id}/${verb}`)).json()).toMatchObject({
        enabled,
        config_version: version,
      })
  })

  it('resets the checkpoint to the start or to a value, but not while RUNNING', async () => {
    const id = await created({
      mode: 'incremental',
      incremental_key: 'updated_at',
      incremental_id_key: 'film_id',
    })
    await setCheckpoint(id)
    const start = await api.post(`/pipelines/${id}/reset`, {})
    expect([start.statusCode, start.json()]).toMatchObject([
      200,
      { pipeline_id: id, last_processed_key: null, last_processed_id: null },
    ])
    const backfill = await api.post(`/pipelines/${id}/reset`, {
      last_processed_key: '2023-01-01',
      last_processed_id: '1',
    })
    expect(backfill.json()).toMatchObject({ last_processed_key: '2023-01-01', last_processed_id: '1' })
    expect((await api.post(`/pipelines/${id}/reset`, { last_processed_id: '1' })).statusCode).toBe(422)
    await setStatus(id, 'RUN_REQUESTED', 'RUNNING')
    const busy = await api.post(`/pipelines/${id}/reset`)
    expect([busy.statusCode, busy.json().code]).toEqual([409, 'PIPELINE_BUSY'])
    const full = await created()
    expect((await api.post(`/pipelines/${full}/reset`, { last_processed_key: '1' })).statusCode).toBe(422)
  })

  it('returns the version that a running pipeline applies next', async () => {
    const id = await created()
    const answer = await api.post(`/pipelines/${id}/reload-config`)
    expect([answer.statusCode, answer.json()]).toEqual([202, { config_version: 1 }])
  })
})
