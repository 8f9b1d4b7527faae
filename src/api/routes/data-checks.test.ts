import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { anApi, type TestApi } from '../../../tests/support/api.js'
import { aDatabase, type TestDatabase } from '../../../tests/support/database.js'
import { aDispatcher, aRule, webhookEnv } from '../../../tests/support/notifications.js'
import { anHttpReceiver } from '../../../tests/support/receivers.js'
import { aRunner } from '../../../tests/support/runner.js'
import { run } from '../../../tests/support/runs.js'
import { sinkKinds } from '../../sinks/index.js'

let database: TestDatabase
let api: TestApi
beforeAll(async () => {
  database = await aDatabase({ cinema: true })
  const kinds = sinkKinds({ ELASTICSEARCH_URL: 'http://127.0.0.1:1', ALLOWED_ES_INDEXES: '*' })
  api = anApi(database.loginUrl('meta'), { readerUrl: database.loginUrl('reader'), kinds })
})

const QUERY = 'SELECT id AS film_id, title, rating, modified AS updated_at FROM content.film_work'

function body(checks: readonly object[], fields: object = {}): Record<string, unknown> {
  const name = `checked_${randomUUID().slice(0, 8)}`
  return {
    name,
    source_query: QUERY,
    target_table: `analytics.${name}`,
    key_columns: ['film_id'],
    checks,
    ...fields,
  }
}

const RANGE_OF_KEYS = { name: 'keyed', type: 'not_null', column: 'film_id', on_failure: 'fail' }
const RANGE = { name: 'rating_range', type: 'range', column: 'rating', min: 0, max: 10, on_failure: 'fail' }

async function create(checks: readonly object[], fields: object = {}): Promise<{ id: string; name: string }> {
  const made = await api.post('/pipelines', body(checks, fields))
  expect(made.json()).toMatchObject({ checks })
  return made.json()
}

async function mistakes(checks: readonly object[], fields: object = {}): Promise<[string, string][]> {
  const answer = await api.post('/pipelines', body(checks, fields))
  expect(answer.statusCode).toBe(422)
  return answer
    .json()
    .errors.map(({ field, message }: { field: string; message: string }) => [field, message])
}

describe('the checks of a pipeline', () => {
  it('are stored, returned, changed and versioned', async () => {
    const { id } = await create([RANGE])
    const other = { name: 'titled', type: 'not_null', columns: ['title', 'film_id'], on_failure: 'warn' }
    const changed = await api.patch(`/pipelines/${id}`, { checks: [RANGE, other] })
    expect(changed.json()).toMatchObject({ checks: [RANGE, other], config_version: 2 })
    expect((await api.patch(`/pipelines/${id}`, { checks: null })).json()).toMatchObject({ checks: [] })
  })

  it('fail by default', async () => {
    const { on_failure, ...rest } = RANGE
    const made = await api.post('/pipelines', body([rest]))
    expect(made.json().checks).toEqual([RANGE])
    expect(on_failure).toBe('fail')
  })

  it.each([
    ['an unknown type', { ...RANGE, type: 'sum' }, 'checks.0.type', 'not_null'],
    ['no name', { ...RANGE, name: undefined }, 'checks.0.name', 'is required'],
    ['an unknown field', { ...RANGE, maximum: 3 }, 'checks.0.maximum', 'Unknown field'],
    ['an unknown reaction', { ...RANGE, on_failure: 'explode' }, 'checks.0.on_failure', '"warn"'],
    ['no limit', { ...RANGE, min: undefined, max: undefined }, 'checks.0.min', 'is required, or max'],
    ['limits in the wrong order', { ...RANGE, min: 5, max: 1 }, 'checks.0.max', 'must not be less than min'],
    ['no column', { name: 'n', type: 'not_null' }, 'checks.0.column', 'is required'],
    [
      'both column and columns',
      { name: 'n', type: 'not_null', column: 'title', columns: ['title'] },
      'checks.0.columns',
      'combined',
    ],
    [
      'no values',
      { name: 'n', type: 'accepted_values', column: 'title', values: [] },
      'checks.0.values',
      'at least 1',
    ],
    ['no limit of rows', { name: 'n', type: 'row_count' }, 'checks.0.min', 'usual'],
    [
      'an age that is not an interval',
      { name: 'n', type: 'freshness', column: 'updated_at', max_age: 'soon' },
      'checks.0.max_age',
      '15m',
    ],
    [
      'a table without its schema',
      { name: 'n', type: 'relationship', column: 'film_id', to: 'film_work' },
      'checks.0.to',
      'schema',
    ],
    [
      'fewer columns on the other side',
      {
        name: 'n',
        type: 'relationship',
        columns: ['film_id', 'title'],
        to: 'content.film_work',
        to_column: 'id',
      },
      'checks.0.to_columns',
      'as many',
    ],
    [
      'quarantine for the number of rows',
      { name: 'n', type: 'row_count', min: 1, on_failure: 'quarantine' },
      'checks.0.on_failure',
      'whole mart',
    ],
    [
      'quarantine over the mart',
      { name: 'n', type: 'expression', sql: 'rating > 0', over: 'mart', on_failure: 'quarantine' },
      'checks.0.on_failure',
      'written already',
    ],
    [
      'an unknown column',
      { ...RANGE, column: 'stars' },
      'checks.0',
      'no column "stars"; it has film_id, title, rating, updated_at',
    ],
    ['a limit of another type', { ...RANGE, max: 'many' }, 'checks.0', 'many'],
    [
      'a column without an order of time',
      { name: 'n', type: 'freshness', column: 'title', max_age: '1h' },
      'checks.0',
      'timestamp',
    ],
    [
      'aggregates over a batch',
      { name: 'n', type: 'expression', sql: 'count(*) > 3' },
      'checks.0',
      'over: mart',
    ],
    [
      'an expression that is not a condition',
      { name: 'n', type: 'expression', sql: 'title' },
      'checks.0',
      'boolean',
    ],
  ])('are refused with %s', async (_name, check, field, words) => {
    const found = await mistakes([check])
    expect(found.map(([place]) => place)).toContain(field)
    expect(found.map(([, message]) => message).join('\n')).toContain(words)
  })

  it('are refused with the name of another check', async () => {
    expect(await mistakes([RANGE, { ...RANGE, max: 5 }])).toEqual([
      ['checks.1.name', 'is the name of another check: "rating_range"'],
    ])
  })

  it('are limited to rows for targets that are not tables', async () => {
    const found = await mistakes([RANGE, { name: 'n', type: 'row_count', min: 1 }], {
      target_table: 'es:films',
    })
    expect(found).toEqual([['checks.1', expect.stringContaining('es:films supports checks of rows')]])
  })

  it.each([
    ['several statements', 'true; DELETE FROM analytics.film_dim'],
    ['a closed parenthesis', 'true) OR (SELECT true FROM auth.users LIMIT 1) IS NULL OR (true'],
    ['parentheses that close those around it, which would switch off other checks', 'true) OR (true'],
    ['another column', 'true), (1'],
    ['another clause', 'true) FROM auth.users WHERE (true'],
    ['a union', 'true) UNION SELECT (false'],
    ['a query', '(SELECT count(*) FROM content.film_work) > 0'],
    ['a query in EXISTS', 'EXISTS (SELECT FROM auth.users)'],
    [
      'a writing query',
      '(WITH gone AS (DELETE FROM content.film_work RETURNING id) SELECT count(*) FROM gone) > 0',
    ],
    ['a function that waits', 'pg_sleep(10) IS NULL'],
    ['a function that reads files', "pg_read_file('/etc/passwd') IS NULL"],
    ['a function that runs SQL', "query_to_xml('SELECT 1', true, true, '') IS NULL"],
    ['a function that changes settings', "set_config('search_path', 'public', false) IS NULL"],
    ['a function that ends sessions', 'pg_terminate_backend(1)'],
    ['a function of another schema', 'etl.emit(NULL, NULL, NULL, NULL) IS NULL'],
    ['a large object', 'lo_unlink(1) = 1'],
    ['an alias', 'true AS passes'],
    ['a comment that hides the rest', 'true /*'],
    ['a quote that is not closed', "title <> '"],
    ['nothing', '-- nothing'],
    ['a subscripted current user', 'current_setting(title) IS NULL'],
  ])('cannot smuggle in %s', async (_name, sql) => {
    for (const over of ['batch', 'mart']) {
      const found = await mistakes([{ name: 'hostile', type: 'expression', sql, over, on_failure: 'warn' }])
      expect(found[0]?.[0]).toMatch(/^checks\.0/)
    }
  })

  it('cannot read a table outside the allowed schemas', async () => {
    const check = { name: 'n', type: 'relationship', column: 'film_id', to: 'auth.users', to_column: 'id' }
    const answer = await api.post('/validate', body([check]))
    expect(answer.json()).toMatchObject({
      valid: false,
      errors: [{ code: 'SOURCE_REFUSED', field: 'checks.0.to' }],
    })
    expect(answer.json().errors[0].message).toContain('auth.users may not be read')
  })

  const elsewhere = (to: string, more: object = {}) => ({
    ...{ name: 'n', type: 'relationship', column: 'film_id', to, to_column: 'id', on_failure: 'warn' },
    ...more,
  })
  it.each([
    ['a forbidden schema', elsewhere('auth.users'), {}],
    ['a table that does not exist there', elsewhere('auth.nowhere'), {}],
    ['a forbidden schema, over the mart', elsewhere('auth.users', { over: 'mart' }), {}],
    ['a system catalog', elsewhere('pg_catalog.pg_authid'), {}],
    ['the meta store', elsewhere('etl.etl_tokens'), {}],
    ['a target that is not allowed', elsewhere('content_copy.film'), {}],
    [
      'a forbidden schema while the source does not exist',
      elsewhere('auth.users'),
      { source_query: 'SELECT id AS film_id FROM content.later' },
    ],
    [
      'a forbidden schema for a target that is not a table',
      elsewhere('auth.users'),
      { target_table: 'es:films' },
    ],
  ])('are not saved with %s', async (_name, check, fields) => {
    const refusal = {
      field: 'checks.1.to',
      code: 'SOURCE_REFUSED',
      message: expect.stringContaining(`${check.to} may not be read`),
    }
    const answer = await api.post('/pipelines', body([RANGE_OF_KEYS, check], fields))
    expect([answer.statusCode, answer.json().errors]).toEqual([422, [refusal]])
    const { errors } = (await api.post('/validate', body([RANGE_OF_KEYS, check], fields))).json()
    expect(errors).toContainEqual(expect.objectContaining(refusal))
    const { id, config_version } = (await api.post('/pipelines', body([RANGE_OF_KEYS], fields))).json()
    const changed = await api.patch(`/pipelines/${id}`, { checks: [RANGE_OF_KEYS, check] })
    expect([changed.statusCode, changed.json().errors]).toEqual([422, [refusal]])
    expect((await api.get(`/pipelines/${id}`)).json()).toMatchObject({
      config_version,
      checks: [RANGE_OF_KEYS],
    })
  })

  it('are saved with a table of an allowed schema that does not exist yet', async () => {
    await create([elsewhere('analytics.not_yet')])
  })

  it('fail a run with the name of the table if they were stored with SQL and it may not be read', async () => {
    await aRunner(database)
    const { id } = await create([])
    await database.query('UPDATE etl.etl_pipelines SET checks = $2 WHERE id = $1', [
      id,
      JSON.stringify([elsewhere('auth.users')]),
    ])
    expect(await run(database, id)).toMatchObject({
      ...{ status: 'FAILED', error_code: 'VTR-4104' },
      error: expect.stringContaining('auth.users may not be read: only the schemas'),
      error_hint: expect.stringContaining('ALLOWED_SOURCE_SCHEMAS'),
    })
    // Other fields can still be changed.
    expect((await api.patch(`/pipelines/${id}`, { description: 'x' })).statusCode).toBe(200)
  })

  it('are validated with a table that does not exist', async () => {
    const check = {
      name: 'n',
      type: 'relationship',
      column: 'film_id',
      to: 'analytics.nowhere',
      to_column: 'id',
    }
    const answer = await api.post('/validate', body([RANGE, check]))
    expect(answer.json()).toMatchObject({
      valid: false,
      errors: [{ code: 'CHECK_INVALID', field: 'checks.1' }],
    })
    const fine = await api.post('/validate', body([RANGE, { ...check, to: 'content.film_work' }]))
    expect(fine.json()).toMatchObject({ valid: true, errors: [] })
  })

  const reversed = (fields: object) => ({ name: 'n', type: 'range', on_failure: 'fail', ...fields })
  it.each([
    ['numbers', reversed({ column: 'rating', min: 10, max: 0 }), 'min 10 is greater than max 0'],
    [
      'numbers, although rows would be set aside',
      reversed({ column: 'rating', min: 10, max: 0, on_failure: 'quarantine' }),
      'so no row can pass',
    ],
    ['text', reversed({ column: 'title', min: 'b', max: 'a' }), 'min b is greater than max a'],
    [
      'times',
      reversed({ column: 'updated_at', min: '2030-01-01', max: '2020-01-01' }),
      'min 2030-01-01 is greater than max 2020-01-01',
    ],
    [
      'numbers of rows',
      { name: 'n', type: 'row_count', min: 10, max: 0, on_failure: 'fail' },
      'min 10 is greater',
    ],
  ])(
    'end a run before it changes anything if they were stored with a min above the max: %s',
    async (_what, check, words) => {
      await aRunner(database)
      const { id, name } = await create([])
      expect(await run(database, id)).toMatchObject({ status: 'SUCCESS' })
      const rows = () => database.query(`SELECT count(*)::int AS rows FROM analytics.${name}`)
      const before = await rows()
      await database.query('UPDATE etl.etl_pipelines SET checks = $2 WHERE id = $1', [
        id,
        JSON.stringify([check]),
      ])
      expect(await run(database, id)).toMatchObject({
        ...{ status: 'FAILED', error_code: 'VTR-4104', error_hint: 'Swap min and max.' },
        error: expect.stringContaining(words),
      })
      expect(await rows()).toEqual(before)
      const validation = (await api.post(`/pipelines/${id}/validate`)).json()
      expect(validation).toMatchObject({
        valid: false,
        errors: [{ code: 'CHECK_INVALID', field: 'checks.0' }],
      })
      expect((await api.post('/pipelines', body([check]))).statusCode).toBe(422)
    },
  )

  it.each([
    ['a warning', { column: 'rating', min: 10, max: 0, on_failure: 'warn' }, null],
    ['numbers in the order of text', { column: 'title', min: 10, max: 9 }, 'VTR-4103'],
  ])('are evaluated if they were stored with a min above the max: %s', async (_what, fields, code) => {
    await aRunner(database)
    const { id } = await create([])
    await database.query('UPDATE etl.etl_pipelines SET checks = $2 WHERE id = $1', [
      id,
      JSON.stringify([reversed(fields)]),
    ])
    expect((await run(database, id)).error_code).toBe(code)
    await database.query('DELETE FROM etl.etl_pipelines WHERE id = $1', [id])
  })

  it('are refused by a run if they were stored with SQL', async () => {
    await aRunner(database)
    const { id } = await create([])
    const hostile = [{ name: 'hostile', type: 'expression', sql: 'pg_sleep(1) IS NULL', on_failure: 'warn' }]
    await database.query('UPDATE etl.etl_pipelines SET checks = $2 WHERE id = $1', [
      id,
      JSON.stringify(hostile),
    ])
    expect(await run(database, id)).toMatchObject({ status: 'FAILED', error_code: 'VTR-4104' })
  })
})

describe('the results of checks', () => {
  it('are listed for a pipeline and for all, with their history', async () => {
    await aRunner(database)
    const { id, name } = await create([
      RANGE,
      { name: 'many', type: 'row_count', min: 1_000_000, on_failure: 'warn' },
    ])
    const before = (await api.get(`/pipelines/${id}/checks`)).json()
    expect(before.items).toMatchObject([
      { name: 'rating_range', status: 'unknown', run_id: null, checked_at: null, history: [] },
      { name: 'many', status: 'unknown' },
    ])
    const ran = await run(database, id)
    expect(ran).toMatchObject({ status: 'SUCCESS' })
    const { items } = (await api.get(`/pipelines/${id}/checks`)).json()
    expect(items).toMatchObject([
      {
        name: 'rating_range',
        status: 'passed',
        over: 'batch',
        failed_rows: 0,
        run_id: ran.id,
        definition: RANGE,
      },
      {
        name: 'many',
        status: 'warned',
        over: 'mart',
        message: expect.stringContaining('fewer than 1000000'),
      },
    ])
    expect(items[1].history).toMatchObject([
      { run_id: ran.id, status: 'warned', observed: items[1].observed },
    ])
    const fleet = (await api.get('/checks?status=warned')).json().items
    expect(fleet).toMatchObject([{ pipeline_id: id, pipeline_name: name, name: 'many' }])
    const first = (await api.get(`/checks?pipeline_id=${id}&limit=1`)).json()
    expect(first.items).toMatchObject([{ name: 'rating_range' }])
    const second = (await api.get(`/checks?pipeline_id=${id}&limit=1&cursor=${first.next_cursor}`)).json()
    expect(second).toMatchObject({ items: [{ name: 'many' }], next_cursor: null })
    expect((await api.get(`/pipelines/${randomUUID()}/checks`)).statusCode).toBe(404)
    await database.query('DELETE FROM etl.etl_runs WHERE id = $1', [ran.id])
    expect(await database.query('SELECT FROM etl.etl_check_results WHERE run_id = $1', [ran.id])).toEqual([])
  })

  it('are computed over the mart on request, without a run and without a change', async () => {
    await aRunner(database)
    const { id, name } = await create([
      { ...RANGE, on_failure: 'quarantine' },
      { name: 'twins', type: 'unique', column: 'title', on_failure: 'warn' },
      {
        name: 'parents',
        type: 'relationship',
        column: 'film_id',
        to: `analytics.film_copy`,
        to_column: 'id',
        on_failure: 'warn',
      },
      {
        name: 'divided',
        type: 'expression',
        sql: '1 / (rating - rating) > 0',
        over: 'mart',
        on_failure: 'warn',
      },
    ])
    expect((await api.post(`/pipelines/${id}/checks/run`)).json()).toMatchObject({ code: 'CHECK_INVALID' })
    await database.query('UPDATE etl.etl_pipelines SET checks = $2 WHERE id = $1', [
      id,
      JSON.stringify([RANGE]),
    ])
    expect(await run(database, id)).toMatchObject({ status: 'SUCCESS' })
    await database.query(
      `CREATE TABLE analytics.film_copy AS SELECT id FROM content.film_work; GRANT SELECT ON analytics.film_copy TO PUBLIC`,
    )
    const checks = [
      { ...RANGE, on_failure: 'quarantine' },
      { name: 'twins', type: 'unique', column: 'title', on_failure: 'warn' },
      {
        name: 'parents',
        type: 'relationship',
        column: 'film_id',
        to: 'analytics.film_copy',
        to_column: 'id',
        on_failure: 'warn',
      },
      {
        name: 'divided',
        type: 'expression',
        sql: '1 / (rating - rating) > 0',
        over: 'mart',
        on_failure: 'warn',
      },
    ]
    expect((await api.patch(`/pipelines/${id}`, { checks })).statusCode).toBe(200)
    await database.query(
      `UPDATE analytics.${name} SET rating = -1 WHERE film_id = (SELECT min(film_id::text)::uuid FROM analytics.${name})`,
    )
    const signature = () =>
      database.query(`SELECT md5(string_agg(m::text, '' ORDER BY film_id)) AS rows FROM analytics.${name} m`)
    const before = await signature()
    const answer = await api.post(`/pipelines/${id}/checks/run`)
    expect(answer.statusCode).toBe(200)
    expect(answer.json().items).toMatchObject([
      { name: 'rating_range', status: 'failed', failed_rows: 1, run_id: null, over: 'mart' },
      { name: 'twins', over: 'mart' },
      { name: 'parents', status: 'passed' },
      { name: 'divided', status: 'error', message: expect.stringContaining('division by zero') },
    ])
    expect(answer.json().items[0].sample).toHaveLength(1)
    expect(await signature()).toEqual(before)
  })

  it('include relationships to sources, which the login for marts may not read', async () => {
    await aRunner(database)
    await database.query(`
      CREATE TABLE content.studio (id integer PRIMARY KEY, country char(2), UNIQUE (id, country));
      CREATE TABLE content.made (film integer PRIMARY KEY, studio integer, country char(2));
      INSERT INTO content.studio SELECT n, 'DE' FROM generate_series(1, 9000) n;
      INSERT INTO content.made SELECT n, CASE WHEN n % 1000 = 0 THEN NULL ELSE n END, 'DE' FROM generate_series(1, 8999) n;
      GRANT SELECT ON content.studio, content.made TO vitrina_reader`)
    const known = { type: 'relationship', to: 'content.studio', to_column: 'id', on_failure: 'warn' }
    const checks = [
      { ...known, name: 'studio_known', column: 'studio' },
      {
        ...{ name: 'pair_known', type: 'relationship', columns: ['studio', 'country'], to: 'content.studio' },
        ...{ to_columns: ['id', 'country'], over: 'mart', on_failure: 'fail' },
      },
    ]
    const source = { source_query: 'SELECT film, studio, country FROM content.made', key_columns: ['film'] }
    const { id, name } = await create(checks, source)
    expect(await run(database, id)).toMatchObject({ status: 'SUCCESS' })
    const evaluated = async () => (await api.post(`/pipelines/${id}/checks/run`)).json().items
    expect(await evaluated()).toMatchObject([{ status: 'passed' }, { status: 'passed' }])

    await database.query(`UPDATE analytics.${name} SET studio = -1 WHERE film IN (7, 8998);
      UPDATE analytics.${name} SET country = 'FR' WHERE film = 5`)
    const found = await evaluated()
    expect(found).toMatchObject([
      { name: 'studio_known', status: 'warned', failed_rows: 2, over: 'mart' },
      { name: 'pair_known', status: 'failed', failed_rows: 3, over: 'mart' },
    ])
    expect(found[0].sample).toEqual(['7'])
    expect(found[1].sample.toSorted()).toEqual(['5', '7'])

    const wrong = { ...known, name: 'wrong', column: 'studio', to_column: 'nowhere' }
    expect((await api.post('/validate', body([wrong], source))).json()).toMatchObject({
      valid: false,
      errors: [{ field: 'checks.0', message: expect.stringContaining('nowhere') }],
    })
  })

  it('reach a rule for failed checks', async () => {
    const receiver = await anHttpReceiver()
    await aRunner(database)
    const rule = await aRule(database, { events: ['check_failed'] })
    const dispatcher = aDispatcher(database, { env: webhookEnv(receiver.url) })
    const { id, name } = await create([{ ...RANGE, name: 'impossible', max: 0, on_failure: 'warn' }])
    const ran = await run(database, id)
    expect(ran).toMatchObject({ status: 'SUCCESS' })
    const outbox = await database.query<{ event: string; data: Record<string, unknown> }>(
      'SELECT event, data FROM etl.etl_outbox WHERE rule_id = $1',
      [rule],
    )
    expect(outbox).toMatchObject([{ event: 'check_failed', data: { check: 'impossible', status: 'warned' } }])
    await dispatcher.deliver()
    const text = JSON.stringify(receiver.posts)
    expect(text).toContain(`${name} failed the check impossible`)
    expect(text).toContain('rating is less than 0 or greater than 0.')
  })
})
