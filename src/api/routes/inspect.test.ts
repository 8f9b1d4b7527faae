import { beforeAll, describe, expect, it } from 'vitest'
import { anApi, type TestApi } from '../../../tests/support/api.js'
import { aPipeline } from '../../../tests/support/builders.js'
import { aDatabase, type TestDatabase } from '../../../tests/support/database.js'
import { aRunner } from '../../../tests/support/runner.js'
import { run, runEnded } from '../../../tests/support/runs.js'

let database: TestDatabase
let api: TestApi

beforeAll(async () => {
  database = await aDatabase({ cinema: true })
  api = anApi(database.loginUrl('meta'), { readerUrl: database.loginUrl('reader') })
})

const DRAFT = {
  name: 'draft',
  source_query: 'SELECT id AS film_id, title, rating, modified FROM content.film_work',
  target_table: 'analytics.drafted',
  key_columns: ['film_id'],
}

describe('validate', () => {
  it('returns columns, strategy, way and guarantee of an unsaved pipeline', async () => {
    const answer = await api.post('/validate', {
      ...DRAFT,
      mode: 'incremental',
      incremental_key: 'modified',
      incremental_id_key: 'film_id',
    })
    expect(answer.statusCode).toBe(200)
    expect(answer.json()).toMatchObject({
      valid: true,
      errors: [],
      strategy: 'sql_incremental',
      way: 'pushdown',
      guarantee: 'lossless if the database sets the key',
      creates_target: true,
      columns: [
        { name: 'film_id', type: 'uuid' },
        { name: 'title', type: 'text' },
        { name: 'rating' },
        { name: 'modified', type: 'timestamp with time zone' },
      ],
    })
  })

  it('rejects a query that reads other schemas, with the position in the text', async () => {
    const answer = await api.post('/validate', {
      ...DRAFT,
      source_query: 'SELECT id AS film_id,\n login FROM auth.users',
    })
    expect(answer.json()).toMatchObject({
      valid: false,
      errors: [{ code: 'SOURCE_REFUSED', field: 'source_query', position: { line: 2 } }],
    })
  })

  it('needs no name, and a preview needs no target', async () => {
    const { name: _, ...unnamed } = DRAFT
    expect((await api.post('/validate', unnamed)).json()).toMatchObject({ valid: true, errors: [] })
    const { source_query } = DRAFT
    expect((await api.post('/preview?limit=1', { source_query })).json().rows).toHaveLength(1)
    expect((await api.post('/validate', { source_query })).json().errors).toMatchObject([
      { field: 'target_table' },
    ])
    expect((await api.post('/pipelines', unnamed)).json().errors).toMatchObject([{ field: 'name' }])
  })

  it('names the column that does not match, and the table', async () => {
    await database.query(
      'CREATE TABLE analytics.misfit (film_id uuid PRIMARY KEY, title integer, rating numeric, modified timestamptz)',
    )
    await database.query('GRANT SELECT ON analytics.misfit TO vitrina_meta')
    const { errors } = (await api.post('/validate', { ...DRAFT, target_table: 'analytics.misfit' })).json()
    expect(errors).toMatchObject([{ code: 'TARGET_MISMATCH', field: 'target_table' }])
    expect(errors[0].message).toMatch(/analytics\.misfit: column "title"/)
  })

  it('rejects a column that no table can be created with', async () => {
    const source_query = 'SELECT id AS film_id, xmin FROM content.film_work'
    const { valid, errors } = (await api.post('/validate', { ...DRAFT, source_query })).json()
    expect([valid, errors]).toMatchObject([
      false,
      [{ code: 'TARGET_MISMATCH', field: 'target_table', hint: expect.stringContaining('xmin AS') }],
    ])
  })

  it('warns of a key that is not unique and of a limited guarantee', async () => {
    const answer = await api.post('/validate', {
      ...DRAFT,
      source_query: 'SELECT type AS film_id, title FROM content.film_work',
    })
    expect(answer.json().warnings).toMatchObject([{ code: 'KEY_NOT_UNIQUE' }])
    const grouped = await api.post('/validate', {
      ...DRAFT,
      source_query: 'SELECT film_id, max(modified) AS modified FROM ugc.ratings GROUP BY film_id',
      mode: 'incremental',
      incremental_key: 'modified',
    })
    expect(grouped.json()).toMatchObject({
      valid: true,
      guarantee: 'bounded',
      warnings: [{ code: 'GUARANTEE_BOUNDED' }],
    })
  })
})

describe('preview', () => {
  it('shows the first rows and writes nothing', async () => {
    const answer = await api.post('/preview?limit=3', DRAFT)
    expect(answer.statusCode).toBe(200)
    expect(answer.json().rows).toHaveLength(3)
    expect(answer.json().rows[0]).toMatchObject({ title: expect.any(String), film_id: expect.any(String) })
    expect(await database.query("SELECT to_regclass('analytics.drafted') AS found")).toEqual([
      { found: null },
    ])
  })

  it('rejects what validate rejects', async () => {
    const answer = await api.post('/preview', { ...DRAFT, source_query: 'SELECT pg_sleep(60) AS film_id' })
    expect(answer.statusCode).toBe(422)
    expect(answer.json()).toMatchObject({ code: 'SOURCE_REFUSED' })
  })
})

describe('R5.5 reconcile through the API', () => {
  it('finds tampered rows, repairs exactly those, and finds no more differences', async () => {
    await aRunner(database)
    const { id } = await aPipeline(database, { targetTable: 'analytics.films' })
    expect(await run(database, id)).toMatchObject({ status: 'SUCCESS' })
    expect((await api.get(`/pipelines/${id}/reconcile?deep=true`)).json()).toMatchObject({
      matches: true,
      control_field: 'film_id',
    })
    await database.query("DELETE FROM analytics.films WHERE title LIKE 'Star Wars%'")
    await database.query(
      "UPDATE analytics.films SET title = 'tampered' WHERE title = 'Solaris' OR title LIKE 'Stalker%'",
    )
    const drift = (await api.get(`/pipelines/${id}/reconcile?deep=true`)).json()
    expect(drift.matches).toBe(false)
    expect(drift.missing.count).toBeGreaterThan(0)
    expect(drift.different.count).toBeGreaterThan(0)
    const repair = await api.post(`/pipelines/${id}/reconcile/repair`)
    expect(repair.statusCode).toBe(202)
    expect(repair.json().rows).toBe(drift.missing.count + drift.different.count)
    expect(await runEnded(database, repair.json().run_id)).toMatchObject({
      status: 'SUCCESS',
      rows_inserted: drift.missing.count,
      rows_updated: drift.different.count,
    })
    expect((await api.get(`/pipelines/${id}/reconcile?deep=true`)).json()).toMatchObject({ matches: true })
    expect((await api.post(`/pipelines/${id}/reconcile/repair`)).json()).toMatchObject({
      rows: 0,
      run_id: null,
    })
  })
})

it('guarantees less for a key from a sequence that does not count up one by one', async () => {
  await database.query(
    'CREATE TABLE content.counted (id bigint GENERATED ALWAYS AS IDENTITY (CACHE 20) PRIMARY KEY, note text)',
  )
  await database.query('CREATE VIEW content.counted_view AS SELECT * FROM content.counted')
  await database.query('GRANT SELECT ON content.counted, content.counted_view TO vitrina_reader')
  const draft = {
    ...DRAFT,
    source_query: 'SELECT id, note FROM content.counted',
    key_columns: ['id'],
    mode: 'incremental',
    incremental_key: 'id',
  }
  expect((await api.post('/validate', draft)).json()).toMatchObject({ valid: true, guarantee: 'bounded' })
  await database.query('ALTER TABLE content.counted ALTER COLUMN id SET CACHE 1')
  expect((await api.post('/validate', draft)).json()).toMatchObject({
    guarantee: 'lossless if the database sets the key',
  })
  const behindView = { ...draft, source_query: 'SELECT id, note FROM content.counted_view' }
  expect((await api.post('/validate', behindView)).json()).toMatchObject({ guarantee: 'bounded' })
  await database.query('ALTER TABLE content.counted ALTER COLUMN id SET INCREMENT -1')
  expect((await api.post('/validate', draft)).json()).toMatchObject({ guarantee: 'bounded' })
})

it.each([
  ['computes its key', "SELECT id, date_trunc('hour', modified) AS modified FROM content.film_work"],
  ['uses the clock', 'SELECT id, modified FROM content.film_work WHERE modified < CURRENT_DATE'],
  ['takes the first rows', 'SELECT id, modified FROM content.film_work ORDER BY rating LIMIT 10'],
  [
    'joins a table with itself',
    'SELECT a.id, a.modified FROM content.film_work a JOIN content.film_work b ON a.title = b.title',
  ],
])('guarantees less for a query that %s', async (_what, query) => {
  const draft = { ...DRAFT, key_columns: ['id'], mode: 'incremental', incremental_key: 'modified' }
  const { valid, guarantee, warnings } = (
    await api.post('/validate', { ...draft, source_query: query })
  ).json()
  expect({ valid, guarantee }).toEqual({ valid: true, guarantee: 'bounded' })
  expect(warnings).toContainEqual(expect.objectContaining({ code: 'GUARANTEE_BOUNDED' }))
})

it('rejects a key that cannot be ordered', async () => {
  await database.query(
    "CREATE COLLATION content.loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
  )
  await database.query(
    'CREATE TABLE content.odd (id integer PRIMARY KEY, data json NOT NULL, code text COLLATE content.loose NOT NULL)',
  )
  await database.query('GRANT SELECT ON content.odd TO vitrina_reader')
  const draft = {
    ...DRAFT,
    source_query: 'SELECT id, data, code FROM content.odd',
    key_columns: ['id'],
    mode: 'incremental',
  }
  for (const key of ['data', 'code']) {
    const { errors } = (await api.post('/validate', { ...draft, incremental_key: key })).json()
    expect(errors).toMatchObject([{ code: 'KEY_UNORDERED', field: 'incremental_key' }])
  }
})
