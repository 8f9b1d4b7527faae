import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { anApi, type TestApi } from '../../../tests/support/api.js'
import { aDatabase, type TestDatabase } from '../../../tests/support/database.js'
import { clickhouse } from '../../sinks/clickhouse/index.js'
import { pipelineWire } from '../schemas/pipeline.js'

let database: TestDatabase
let api: TestApi

beforeAll(async () => {
  database = await aDatabase({ cinema: true })
  await database.query(`
    CREATE TABLE content."Odd ""Name""" ("Id" int PRIMARY KEY, "a column" text);
    INSERT INTO content."Odd ""Name""" VALUES (1, 'x');
    GRANT SELECT ON content."Odd ""Name""" TO vitrina_reader;
    CREATE TABLE public.hidden (id int)`)
  const settings = { CLICKHOUSE_URL: 'http://localhost:1/analytics', ALLOWED_CH_TABLES: ['*'] }
  api = anApi(database.loginUrl('meta'), {
    readerUrl: database.loginUrl('reader'),
    kinds: [clickhouse.create(settings as never)],
  })
})

const spec = (changes: object = {}) => {
  const name = `p_${randomUUID().slice(0, 8)}`
  return {
    name,
    source_table: 'content.film_work',
    target_table: `analytics.${name}`,
    key_columns: ['id'],
    ...changes,
  }
}
const mistakes = (answer: { json(): { errors?: { field: string; code: string }[] } }) =>
  Object.fromEntries((answer.json().errors ?? []).map(({ field, code }) => [field, code]))

describe('a pipeline with a table as source', () => {
  it('is created, read, validated and previewed as the query for the table', async () => {
    const answer = await api.post('/pipelines', spec({ source_columns: ['title', 'id'] }))
    expect(answer.statusCode, answer.body).toBe(201)
    const made = pipelineWire.strict().parse(answer.json())
    expect(made).toMatchObject({
      source_query: null,
      source_table: 'content.film_work',
      source_columns: ['title', 'id'],
    })
    expect((await api.get(`/pipelines/${made.id}`)).json()).toEqual(answer.json())
    const columns = [
      { name: 'title', type: 'text' },
      { name: 'id', type: 'uuid' },
    ]
    expect((await api.post(`/pipelines/${made.id}/validate`)).json()).toMatchObject({
      valid: true,
      columns,
      errors: [],
    })
    const preview = (await api.post(`/pipelines/${made.id}/preview?limit=3`)).json()
    expect([preview.columns, preview.rows.length]).toEqual([columns, 3])
    const lineage = (await api.get(`/pipelines/${made.id}/lineage`)).json()
    expect(JSON.stringify(lineage)).toContain('content.film_work')
  })

  it('reads all columns if none is given, also of a table whose name needs quotes', async () => {
    const body = spec({ source_table: 'content."Odd ""Name"""', key_columns: ['Id'] })
    expect((await api.post('/validate', body)).json()).toMatchObject({
      valid: true,
      columns: [{ name: 'Id' }, { name: 'a column' }],
    })
    const { rows } = (await api.post('/preview', body)).json()
    expect(rows).toEqual([{ Id: '1', 'a column': 'x' }])
  })

  it.each([
    ['both', { source_query: 'SELECT 1' }, { source_table: 'SOURCE_DOUBLED' }],
    ['no schema', { source_table: 'film_work' }, { source_table: 'SOURCE_NAME' }],
    ['more than a name', { source_table: 'content.genre g' }, { source_table: 'SOURCE_NAME' }],
    ['a forbidden schema', { source_table: 'auth.users' }, { source_table: 'SOURCE_REFUSED' }],
    ['a catalog', { source_table: 'pg_catalog.pg_authid' }, { source_table: 'SOURCE_REFUSED' }],
    ['columns twice', { source_columns: ['id', 'id'] }, { source_columns: 'COLUMN_DOUBLED' }],
    [
      'columns without a table',
      { source_table: null, source_query: 'SELECT 1', source_columns: ['id'] },
      { source_columns: 'SOURCE_MISSING' },
    ],
    ['nothing', { source_table: null }, { source_query: 'SOURCE_MISSING' }],
    ['a long name', { source_table: `content.${'x'.repeat(64)}` }, { source_table: 'NAME_TOO_LONG' }],
    ['a long column', { source_columns: ['я'.repeat(32)] }, { 'source_columns.0': 'custom' }],
  ])('is rejected with its field: %s', async (_, changes, expected) => {
    const answer = await api.post('/pipelines', spec(changes))
    expect(answer.statusCode).toBe(422)
    expect(mistakes(answer)).toEqual(expected)
  })

  it('suggests a similar table, without a position in the generated text', async () => {
    const [missing] = (await api.post('/validate', spec({ source_table: 'content.film_wrk' }))).json().errors
    expect(missing).toMatchObject({
      code: 'SOURCE_QUERY_FAILED',
      field: 'source_table',
      message: 'PostgreSQL rejected the query: relation "content.film_wrk" does not exist.',
      hint: 'Did you mean content.film_work?',
      position: null,
    })
    const [column] = (await api.post('/validate', spec({ source_columns: ['id', 'titel'] }))).json().errors
    expect(column).toMatchObject({
      field: 'source_columns',
      hint: expect.stringContaining('film_work.title'),
      position: null,
    })
    const preview = await api.post('/preview', spec({ source_table: 'content.film_wrk' }))
    expect(preview.json().detail).toBe(missing.message)
  })

  it('replaces a query, and the other way round', async () => {
    const { id } = (await api.post('/pipelines', spec())).json()
    const query = 'SELECT id, name FROM content.genre'
    const toQuery = (await api.patch(`/pipelines/${id}`, { source_query: query })).json()
    expect(toQuery).toMatchObject({ source_query: query, source_table: null, source_columns: [] })
    const dry = await api.patch(`/pipelines/${id}?dry_run=true`, { source_table: 'content.genre' })
    expect(dry.json().dry_run.changes).toEqual({
      source_query: { old: query, new: null },
      source_table: { old: null, new: 'content.genre' },
    })
    const toTable = (await api.patch(`/pipelines/${id}`, { source_table: 'content.genre' })).json()
    expect(toTable).toMatchObject({ source_query: null, source_table: 'content.genre' })
    const both = await api.patch(`/pipelines/${id}`, { source_table: 'content.genre', source_query: query })
    expect(mistakes(both)).toEqual({ source_table: 'SOURCE_DOUBLED' })
    const restored = await api.post(`/pipelines/${id}/versions/2/restore`, {})
    expect(restored.json()).toMatchObject({ source_query: query, source_table: null, config_version: 4 })
    const first = await api.post(`/pipelines/${id}/versions/1/restore`, {})
    expect(first.json()).toMatchObject({ source_query: null, source_table: 'content.film_work' })
    const [line] = (await api.get(`/audit?target_id=${id}&limit=1`)).json().items
    expect(line.diff).toMatchObject({ source_table: { old: null, new: 'content.film_work' } })
  })

  it('cannot change while a run is in progress', async () => {
    const { id } = (await api.post('/pipelines', spec())).json()
    for (const status of ['RUN_REQUESTED', 'RUNNING'])
      await database.query('UPDATE etl.etl_pipelines SET status = $2 WHERE id = $1', [id, status])
    const answer = await api.patch(`/pipelines/${id}`, { source_columns: ['id'] })
    expect([answer.statusCode, answer.json().fields]).toEqual([409, ['source_columns']])
  })
})

describe('a second pipeline on a target', () => {
  it('is rejected when it is created, changed, restored or in a dry run, and names the first one', async () => {
    const first = (await api.post('/pipelines', spec())).json()
    const same = { target_table: first.target_table.toUpperCase() }
    const refused = await api.post('/pipelines', spec(same))
    expect(refused.statusCode).toBe(409)
    expect(refused.json()).toMatchObject({
      code: 'TARGET_TAKEN',
      detail: `Pipeline "${first.name}" already writes to ${same.target_table}.`,
      pipeline_id: first.id,
    })
    expect((await api.post('/pipelines?dry_run=true', spec(same))).json().code).toBe('TARGET_TAKEN')
    const other = (await api.post('/pipelines', spec())).json()
    expect((await api.patch(`/pipelines/${other.id}`, same)).json().code).toBe('TARGET_TAKEN')
    expect((await api.patch(`/pipelines/${other.id}?dry_run=true`, same)).json().code).toBe('TARGET_TAKEN')
    // A taken name is the older rule, and the clearer error.
    expect((await api.post('/pipelines', spec({ ...same, name: first.name }))).json().code).toBe(
      'PIPELINE_NAME_TAKEN',
    )
    expect((await api.patch(`/pipelines/${other.id}`, { description: 'x' })).statusCode).toBe(200)
    await api.patch(`/pipelines/${first.id}`, { target_table: `analytics.${first.name}_moved` })
    expect((await api.patch(`/pipelines/${other.id}`, same)).statusCode).toBe(200)
    expect((await api.post(`/pipelines/${first.id}/versions/1/restore`, {})).json().code).toBe('TARGET_TAKEN')
  })

  it('is allowed if both allow sharing', async () => {
    const first = (await api.post('/pipelines', spec())).json()
    const second = spec({ target_table: first.target_table, shared_target: true })
    expect((await api.post('/pipelines', second)).json().code).toBe('TARGET_TAKEN')
    expect((await api.patch(`/pipelines/${first.id}`, { shared_target: true })).json().shared_target).toBe(
      true,
    )
    expect((await api.post('/pipelines', second)).statusCode).toBe(201)
    expect((await api.patch(`/pipelines/${first.id}`, { shared_target: false })).json().code).toBe(
      'TARGET_TAKEN',
    )
  })

  it('is one mart in ClickHouse with and without its database', async () => {
    expect((await api.post('/pipelines', spec({ target_table: 'ch:films' }))).statusCode).toBe(201)
    const again = await api.post('/pipelines', spec({ target_table: 'ch:analytics.films' }))
    expect(again.json()).toMatchObject({
      code: 'TARGET_TAKEN',
      detail: expect.stringContaining('ch:analytics.films'),
    })
    expect((await api.post('/pipelines', spec({ target_table: 'ch:other.films' }))).statusCode).toBe(201)
  })

  it('is rejected by the database when two are saved at the same moment', async () => {
    const target_table = `analytics.raced_${randomUUID().slice(0, 8)}`
    const answers = await Promise.all(
      Array.from({ length: 4 }, () => api.post('/pipelines', spec({ target_table }))),
    )
    expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([201, 409, 409, 409])
    expect(
      new Set(answers.filter(({ statusCode }) => statusCode === 409).map((answer) => answer.json().code)),
    ).toEqual(new Set(['TARGET_TAKEN']))
  })
})

describe('names that PostgreSQL would truncate', () => {
  const long = 'x'.repeat(64)
  it.each([
    ['target_table', { target_table: `analytics.${long}` }, { target_table: 'NAME_TOO_LONG' }],
    ['key_columns', { key_columns: ['id', long] }, { 'key_columns.1': 'custom' }],
    ['incremental_key', { mode: 'incremental', incremental_key: long }, { incremental_key: 'custom' }],
    [
      'an alias',
      { source_table: null, source_query: `SELECT id AS ${long} FROM content.genre` },
      { source_query: 'SOURCE_REFUSED' },
    ],
  ])('are rejected: %s', async (_, changes, expected) => {
    const answer = await api.post('/pipelines', spec(changes))
    expect(answer.statusCode).toBe(422)
    expect(mistakes(answer)).toEqual(expected)
    expect(answer.json().errors[0].message).toMatch(/63/)
  })
})
