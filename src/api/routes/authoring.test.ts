import { beforeAll, describe, expect, it } from 'vitest'
import { anApi, type TestApi } from '../../../tests/support/api.js'
import { aDatabase, type TestDatabase } from '../../../tests/support/database.js'

let database: TestDatabase
let other: TestDatabase
let api: TestApi

beforeAll(async () => {
  database = await aDatabase({ cinema: true })
  other = await aDatabase({ cinema: true })
  await other.query('CREATE TABLE content.elsewhere (id int PRIMARY KEY, note text)')
  await other.query('GRANT SELECT ON content.elsewhere TO vitrina_reader')
  api = anApi(database.loginUrl('meta'), {
    readerUrl: database.loginUrl('reader'),
    connections: ['src', 'gone'],
    urls: new Map([
      ['src', other.loginUrl('reader')],
      ['gone', 'postgres://reader@127.0.0.1:1/none'],
    ]),
  })
})

const DRAFT = {
  name: 'draft',
  source_query: 'SELECT id AS film_id, title, modified FROM content.film_work',
  target_table: 'analytics.drafted',
  key_columns: ['film_id'],
}
const INCREMENTAL = { ...DRAFT, mode: 'incremental', incremental_key: 'modified' }

describe('the tables that a query may read', () => {
  it('are returned with their columns, without those of schemas that are not allowed', async () => {
    const { schemas, items, truncated } = (await api.get('/catalog/tables')).json()
    expect([schemas, truncated]).toEqual([['content', 'ugc'], false])
    expect(new Set(items.map(({ schema }: { schema: string }) => schema))).toEqual(
      new Set(['content', 'ugc']),
    )
    const films = items.find(({ name }: { name: string }) => name === 'film_work')
    expect(films).toMatchObject({ schema: 'content', kind: 'table' })
    expect(films.columns).toContainEqual({ name: 'id', type: 'uuid', not_null: true })
  })

  it('exclude what the reader has no right to, also single columns', async () => {
    await database.query(`CREATE TABLE content.hidden (id int);
      CREATE TABLE content.half_open (id int, secret text);
      CREATE VIEW content.film_titles AS SELECT title FROM content.film_work;
      REVOKE ALL ON content.hidden, content.half_open FROM vitrina_reader;
      GRANT SELECT (id) ON content.half_open TO vitrina_reader;
      GRANT SELECT ON content.film_titles TO vitrina_reader`)
    const { items } = (await api.get('/catalog/tables')).json()
    const named = (name: string) => items.find((one: { name: string }) => one.name === name)
    expect(named('hidden')).toBeUndefined()
    expect(named('half_open').columns).toEqual([{ name: 'id', type: 'integer', not_null: false }])
    expect(named('film_titles')).toMatchObject({ kind: 'view', rows: null })
  })

  it('are those of a named connection if one is requested', async () => {
    const { items } = (await api.get('/catalog/tables?connection=src')).json()
    expect(items.map(({ name }: { name: string }) => name)).toContain('elsewhere')
    expect((await api.get('/catalog/tables?connection=nowhere')).json()).toMatchObject({
      status: 422,
      code: 'CONNECTION_UNKNOWN',
    })
    expect((await api.get('/catalog/tables?connection=gone')).json()).toMatchObject({ status: 503 })
  })
})

describe('what validate reports while a query is being written', () => {
  it('returns the columns before a key is chosen', async () => {
    const answer = await api.post('/validate', { ...DRAFT, key_columns: [] })
    expect(answer.json()).toMatchObject({
      valid: false,
      errors: [{ code: 'TARGET_KEY_MISSING', field: 'key_columns' }],
      columns: [{ name: 'film_id' }, { name: 'title' }, { name: 'modified' }],
      plan: null,
    })
  })

  it('reads no rows when quick', async () => {
    const draft = { ...DRAFT, source_query: 'SELECT type AS film_id FROM content.film_work' }
    expect((await api.post('/validate', draft)).json().warnings).toMatchObject([{ code: 'KEY_NOT_UNIQUE' }])
    expect((await api.post('/validate?quick=true', draft)).json()).toMatchObject({
      valid: true,
      warnings: [],
    })
  })

  it('reports the estimate of the planner', async () => {
    await database.query('ANALYZE content.film_work')
    const { plan } = (await api.post('/validate', DRAFT)).json()
    expect(plan).toMatchObject({
      rows: 71,
      scans: [{ table: 'content.film_work', rows: 71, filter: null, is_big: false }],
      indexes: [],
    })
    expect(plan.total_cost).toBeGreaterThan(0)
  })

  it('recommends an index on the incremental key of a large table until one exists', async () => {
    await database.query(`CREATE TABLE content.big (id int PRIMARY KEY, "changed At" timestamptz NOT NULL, kind text);
      INSERT INTO content.big SELECT n, now() - n * interval '1 s', 'a' FROM generate_series(1, 20000) n;
      ANALYZE content.big;
      GRANT SELECT ON content.big TO vitrina_reader`)
    const draft = {
      ...INCREMENTAL,
      source_query: `SELECT b.id AS film_id, b."changed At" AS modified, f.title FROM content.big b
                       LEFT JOIN content.film_work f ON f.title = b.kind WHERE b.kind <> 'b'`,
    }
    expect((await api.post('/validate?quick=true', draft)).json().plan).toMatchObject({
      scans: expect.arrayContaining([
        { table: 'content.big', rows: 20_000, filter: expect.stringContaining('kind'), is_big: true },
      ]),
      indexes: [
        {
          table: 'content.big',
          statement: 'CREATE INDEX CONCURRENTLY ON content.big ("changed At", id)',
        },
      ],
    })
    await database.query('CREATE INDEX ON content.big ("changed At", id)')
    expect((await api.post('/validate?quick=true', draft)).json().plan.indexes).toEqual([])
  })
})

describe('the next times of a schedule', () => {
  const runs = async (query: Record<string, string>) =>
    (await api.get(`/schedule/runs?${new URLSearchParams(query)}`)).json()

  it('are returned in its time zone', async () => {
    const schedule = await runs({
      schedule_interval: '0 6 * * *',
      schedule_timezone: 'Europe/Moscow',
      limit: '3',
    })
    expect(schedule).toMatchObject({ valid: true, errors: [] })
    expect(schedule.runs).toHaveLength(3)
    for (const { at, local, clock_change_minutes } of schedule.runs) {
      expect(at).toMatch(/T03:00:00\.000000Z$/)
      expect(local).toMatch(/T06:00:00\+03:00$/)
      expect(clock_change_minutes).toBe(0)
    }
    expect((await runs({ schedule_interval: '15m' })).runs).toHaveLength(5)
  })

  it('are replaced by the invalid field if the schedule is invalid', async () => {
    expect(await runs({ schedule_interval: 'every day' })).toMatchObject({
      valid: false,
      errors: [{ field: 'schedule_interval', code: 'SCHEDULE_UNREADABLE' }],
      runs: [],
    })
    expect(await runs({ schedule_interval: '15m', schedule_timezone: 'Mars/Base' })).toMatchObject({
      valid: false,
      errors: [{ field: 'schedule_timezone', code: 'ZONE_UNKNOWN' }],
    })
  })
})
