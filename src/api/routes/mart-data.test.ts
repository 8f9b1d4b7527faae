import { beforeAll, describe, expect, it } from 'vitest'
import { anApi, type TestApi } from '../../../tests/support/api.js'
import { aPipeline } from '../../../tests/support/builders.js'
import { aDatabase, type TestDatabase } from '../../../tests/support/database.js'

let database: TestDatabase
let api: TestApi
let id: string

beforeAll(async () => {
  database = await aDatabase()
  await database.query(`CREATE TABLE analytics.things (
    id bigint PRIMARY KEY, name text, price numeric(12,4), at timestamptz, day date, done boolean, doc json, bytes bytea,
    tags text[], "Odd ""name" text, ratio double precision)`)
  await database.query(`INSERT INTO analytics.things
    SELECT 9007199254740993 + n, CASE WHEN n % 10 = 0 THEN NULL ELSE 'name ' || n % 7 END, n * 1.5, timestamptz '2026-11-15 10:00:00.123456+00' + n * interval '1 hour',
           date '2026-01-01' + n, n % 2 = 0, json_build_object('n', n), decode(lpad(to_hex(n), 8, '0'), 'hex'), ARRAY['a', n::text], 'x', n / 3.0
      FROM generate_series(1, 57) n`)
  id = (await aPipeline(database, { targetTable: 'analytics.things', keyColumns: ['id'] })).id
  api = anApi(database.loginUrl('meta'))
})

type Row = Record<string, string | null>

type Query = Readonly<Record<string, string | number | undefined>>

async function rowsOf(query: Query, pipeline = id) {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value))
  const answer = await api.get(`/pipelines/${pipeline}/rows?${search}`)
  return { status: answer.statusCode, body: answer.json() }
}

/** Every page, as a user would follow them. */
async function allRows(query: Query, pipeline = id): Promise<Row[]> {
  const found: Row[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { status, body } = await rowsOf({ ...query, ...(cursor === '' ? {} : { cursor }) }, pipeline)
    expect(status, JSON.stringify(body)).toBe(200)
    found.push(...body.rows)
    cursor = body.next_cursor
  }
  return found
}

describe('GET /pipelines/{id}/rows', () => {
  it('returns rows in the order of the key, with every value as the text of the database', async () => {
    const { body } = await rowsOf({ limit: 1 })
    expect(body.rows).toEqual([
      {
        id: '9007199254740994',
        name: 'name 1',
        price: '1.5000',
        at: '2026-11-15 11:00:00.123456+00',
        day: '2026-01-02',
        done: 'false',
        doc: '{"n" : 1}',
        bytes: '\\x00000001',
        tags: '{a,1}',
        'Odd "name': 'x',
        ratio: '0.3333333333333333',
      },
    ])
    expect(body.columns[0]).toEqual({ name: 'id', type: 'bigint', is_key: true, not_null: true })
    expect(body.columns[2]).toMatchObject({ name: 'price', type: 'numeric(12,4)' })
    expect(body.sort).toBeNull()
    expect(body.next_cursor).toEqual(expect.any(String))
  })

  it.each([
    ['id', 'asc'],
    ['-id', 'desc'],
    ['name', 'asc'],
    ['name:desc', 'desc'],
    ['-at', 'desc'],
    ['doc', 'asc'],
    ['tags desc', 'desc'],
    ['-Odd "name', 'desc'],
    ['ratio', 'asc'],
  ])('pages through every row once, sorted by %s', async (sort, direction) => {
    const column = sort.replace(/^-|[: ](asc|desc)$/g, '')
    const type = column === 'doc' ? '::text COLLATE "C"' : ''
    const quoted = `"${column.replaceAll('"', '""')}"${type}`
    const expected = await database.query<{ id: string }>(
      `SELECT id::text FROM analytics.things ORDER BY ${quoted} ${direction}, id ${direction}`,
    )
    const rows = await allRows({ sort, limit: 5 })
    expect(rows.map((row) => row.id)).toEqual(expected.map((row) => row.id))
  })

  it.each([
    ['price >= 81', 'price >= 81'],
    ["name = 'name 3'", "name = 'name 3'"],
    ['name is null', 'name IS NULL'],
    ['name is not null and done = true', 'name IS NOT NULL AND done'],
    ["name contains 'NAME 3'", "name = 'name 3'"],
    ["name not in ('name 1', 'name 2')", "name NOT IN ('name 1', 'name 2')"],
    ['id in (9007199254740994, 9007199254740999)', 'id IN (9007199254740994, 9007199254740999)'],
    ['at < 2026-11-15T13:00:00Z', "at < '2026-11-15 13:00:00+00'"],
    ['doc = \'{"n" : 4}\'', 'doc::text = \'{"n" : 4}\''],
    ['tags contains 57', '57::text = ANY (tags)'],
    // Rounded to the scale of the column it would be equal to the first price.
    ['price = 1.50000001', 'false'],
  ])('filters by %s', async (filter, condition) => {
    const expected = await database.query<{ id: string }>(
      `SELECT id::text FROM analytics.things WHERE ${condition} ORDER BY id`,
    )
    const rows = await allRows({ filter, limit: 4 })
    expect(rows.map((row) => row.id)).toEqual(expected.map((row) => row.id))
  })

  it.each([
    ['an unknown column in the filter', { filter: 'nope = 1' }, 'filter', /no column "nope"/],
    ['an unknown column in the order', { sort: 'id; DROP TABLE analytics.things' }, 'sort', /no column/],
    ['an expression as order', { sort: 'pg_sleep(10)' }, 'sort', /no column/],
    ['SQL in the filter', { filter: 'id = 1 or 1=1' }, 'filter', /"or" at position/],
    ['a subquery in the filter', { filter: 'id = (select 1)' }, 'filter', /"\(" at position/],
    ['a value of another type', { filter: 'id = abc' }, 'filter', /does not fit.*invalid input syntax/],
    ['a number out of range', { filter: 'id = 99999999999999999999' }, 'filter', /does not fit/],
    ['a limit of zero', { limit: 0 }, 'limit', /./],
    ['a huge limit', { limit: 1_000_000 }, 'limit', /./],
    ['a limit that is not a number', { limit: '1e3' }, 'limit', /./],
    ['a forged cursor', { cursor: 'AAAA' }, 'cursor', /not created by this server/],
    ['an unknown parameter', { where: '1=1' }, 'where', /./],
    ['a long filter', { filter: `name = '${'x'.repeat(4000)}'` }, 'filter', /./],
    ['a NUL character', { filter: "name = '\0'" }, 'filter', /./],
  ])('rejects %s', async (_what, query, field, message) => {
    const { status, body } = await rowsOf(query as Query)
    expect(status).toBe(422)
    expect(body).toMatchObject({ code: 'REQUEST_INVALID', errors: [{ field }] })
    expect(body.detail).toMatch(message)
    expect(body.hint).toBeTruthy()
  })

  it('takes a value that looks like SQL as a value', async () => {
    const filter = "name = '''; DROP TABLE analytics.things; --'"
    expect((await rowsOf({ filter })).body.rows).toEqual([])
    expect(await database.query('SELECT count(*)::int AS n FROM analytics.things')).toEqual([{ n: 57 }])
  })

  it('rejects a cursor of another order or filter, and one whose values were changed', async () => {
    const { next_cursor: cursor } = (await rowsOf({ limit: 5, sort: 'price' })).body
    for (const query of [
      { cursor },
      { cursor, sort: '-price' },
      { cursor, sort: 'price', filter: 'id > 1' },
    ]) {
      const { status, body } = await rowsOf(query)
      expect(status).toBe(422)
      expect(body.detail).toMatch(/another mart, order or filter/)
    }
    const [signature] = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    const forged = (parts: unknown[]) => Buffer.from(JSON.stringify(parts)).toString('base64url')
    for (const parts of [
      [signature, "1' OR true --", '1'],
      [signature, '1', 'x'],
      [signature, '1', null],
      [signature, '1'],
      [signature, 1, 2],
      { signature },
    ]) {
      const { status, body } = await rowsOf({ cursor: forged(parts as unknown[]), sort: 'price' })
      expect(status, JSON.stringify(parts)).toBe(422)
      expect(body.code).toBe('REQUEST_INVALID')
    }
  })

  it('cuts long values and reports how long they are', async () => {
    await database.query('CREATE TABLE analytics.long (id int PRIMARY KEY, body text, raw bytea)')
    await database.query(
      "INSERT INTO analytics.long SELECT n, repeat('я', 100000), decode(repeat('ff', 50000), 'hex') FROM generate_series(1, 3) n",
    )
    const { id: long } = await aPipeline(database, { targetTable: 'analytics.long' })
    const { body } = await rowsOf({ limit: 1 }, long)
    expect(body.rows[0].body).toBe('я'.repeat(2000))
    expect(body.rows[0].raw).toBe(`\\x${'ff'.repeat(1000)}`)
    expect(body.cut).toEqual([
      { row: 0, column: 'body', length: 100_000 },
      { row: 0, column: 'raw', length: 50_000 },
    ])
    const sorted = await rowsOf({ limit: 1, sort: 'body' }, long)
    expect(sorted.status).toBe(422)
    expect(sorted.body.detail).toMatch(/too long/)
    expect(await allRows({ limit: 1, sort: '-id' }, long)).toHaveLength(3)
  })

  it('pages through a table without a key by the place of its rows', async () => {
    await database.query('CREATE TABLE analytics.keyless (n int) PARTITION BY LIST (n)')
    for (const part of [1, 2])
      await database.query(
        `CREATE TABLE analytics.keyless_${part} PARTITION OF analytics.keyless FOR VALUES IN (${part})`,
      )
    await database.query('INSERT INTO analytics.keyless SELECT 1 + n % 2 FROM generate_series(1, 20) n')
    await database.query('GRANT SELECT ON analytics.keyless TO vitrina_meta')
    const { id: keyless } = await aPipeline(database, { targetTable: 'analytics.keyless' })
    expect(await allRows({ limit: 3 }, keyless)).toHaveLength(20)
    expect((await allRows({ limit: 3, sort: '-n' }, keyless)).map((row) => row.n).join('')).toBe(
      '2'.repeat(10) + '1'.repeat(10),
    )
  })

  it('leaves out columns that its login may not read, and names the GRANT if it may read none', async () => {
    await database.query('CREATE TABLE analytics.secret (id int PRIMARY KEY, name text, salary numeric)')
    await database.query("INSERT INTO analytics.secret VALUES (1, 'a', 10)")
    await database.query('REVOKE ALL ON analytics.secret FROM vitrina_meta')
    const { id: secret } = await aPipeline(database, { targetTable: 'analytics.secret' })
    for (const route of ['rows', 'profile']) {
      const answer = await api.get(`/pipelines/${secret}/${route}`)
      expect(answer.statusCode).toBe(422)
      expect(answer.json()).toMatchObject({
        code: 'MART_UNREADABLE',
        detail: 'The login vitrina_meta may not read analytics.secret.',
        hint: 'Run: GRANT USAGE ON SCHEMA "analytics" TO "vitrina_meta"; GRANT SELECT ON "analytics"."secret" TO "vitrina_meta"',
      })
    }
    await database.query('GRANT SELECT (id, name) ON analytics.secret TO vitrina_meta')
    const { body } = await rowsOf({}, secret)
    expect(body).toMatchObject({ rows: [{ id: '1', name: 'a' }], hidden_columns: ['salary'] })
    expect((await rowsOf({ sort: 'salary' }, secret)).body.detail).toMatch(/no column "salary"/)
    expect((await rowsOf({ filter: 'salary > 1' }, secret)).body.detail).toMatch(/no column "salary"/)
    const profile = (await api.get(`/pipelines/${secret}/profile`)).json()
    expect(profile.columns.map(({ name }: { name: string }) => name)).toEqual(['id', 'name'])
  })

  it.each([
    ['a mart that does not exist', 'analytics.not_built', 409, 'MART_MISSING'],
    ['a table that is not an allowed target', 'etl.etl_tokens', 422, 'TARGET_REFUSED'],
    ['a table of another schema', 'content.film_work', 422, 'TARGET_REFUSED'],
    ['a view', 'analytics.seen', 422, 'TARGET_MISMATCH'],
  ])('refuses %s', async (_what, targetTable, status, code) => {
    await database.query('CREATE OR REPLACE VIEW analytics.seen AS SELECT * FROM etl.etl_tokens')
    const { id: other } = await aPipeline(database, { targetTable })
    for (const route of ['rows', 'profile']) {
      const answer = await api.get(`/pipelines/${other}/${route}`)
      expect([answer.statusCode, answer.json().code]).toEqual([status, code])
      expect(answer.json().hint).toBeTruthy()
    }
  })

  it('returns 404 for a pipeline that does not exist', async () => {
    const nowhere = '00000000-0000-0000-0000-000000000000'
    expect((await rowsOf({}, nowhere)).body.code).toBe('PIPELINE_NOT_FOUND')
    expect((await api.get(`/pipelines/${nowhere}/profile`)).statusCode).toBe(404)
  })

  it('reads in a transaction that can change nothing', async () => {
    // A function in a policy runs with every read: it shows what the transaction may do.
    await database.query('CREATE TABLE analytics.watched (id int PRIMARY KEY)')
    await database.query('INSERT INTO analytics.watched VALUES (1)')
    await database.query('CREATE TABLE analytics.seen_by (who text)')
    await database.query('GRANT INSERT ON analytics.seen_by TO vitrina_meta')
    await database.query(
      'CREATE FUNCTION analytics.watch() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN INSERT INTO analytics.seen_by VALUES (current_user); RETURN true; END $$',
    )
    await database.query('ALTER TABLE analytics.watched ENABLE ROW LEVEL SECURITY')
    await database.query('CREATE POLICY p ON analytics.watched USING (analytics.watch())')
    const { id: watched } = await aPipeline(database, { targetTable: 'analytics.watched' })
    const { status, body } = await rowsOf({}, watched)
    expect(status).not.toBe(200)
    expect(body.detail).toMatch(/read-only transaction/)
    expect(await database.query('SELECT * FROM analytics.seen_by')).toEqual([])
  })
})

describe('GET /pipelines/{id}/profile', () => {
  const columnOf = (profile: { columns: { name: string }[] }, name: string) =>
    profile.columns.find((column) => column.name === name)

  it('counts nulls and distinct values, and has a histogram or the most common values', async () => {
    const answer = await api.get(`/pipelines/${id}/profile`)
    expect(answer.statusCode, answer.body).toBe(200)
    const profile = answer.json()
    expect(profile).toMatchObject({
      target_table: 'analytics.things',
      rows: 57,
      rows_exact: true,
      rows_examined: 57,
      sample_percent: null,
      outdated: false,
    })
    expect(columnOf(profile, 'name')).toMatchObject({
      nulls: 5,
      nulls_exact: true,
      distinct: 7,
      distinct_exact: true,
      min: 'name 0',
      max: 'name 6',
      histogram: [],
    })
    expect((columnOf(profile, 'name') as unknown as { common: { count: number }[] }).common).toHaveLength(7)
    const price = columnOf(profile, 'price') as unknown as {
      min: string
      max: string
      histogram: { from: string; to: string; count: number }[]
    }
    expect(price).toMatchObject({ min: '1.5000', max: '85.5000' })
    expect(price.histogram).toHaveLength(20)
    expect(price.histogram.reduce((sum, bucket) => sum + bucket.count, 0)).toBe(57)
    expect(price.histogram[0]).toMatchObject({ from: '1.5' })
    expect(price.histogram.at(-1)).toMatchObject({ to: '85.5' })
    expect(columnOf(profile, 'at')).toMatchObject({ max: '2026-11-17 19:00:00.123456+00' })
    expect(columnOf(profile, 'doc')).toMatchObject({ distinct: 57, min: null, max: null })
    expect(columnOf(profile, 'done')).toMatchObject({
      common: [
        { value: 'false', count: 29 },
        { value: 'true', count: 28 },
      ],
    })
  })

  it('keeps the profile with its time until it is requested again', async () => {
    const first = (await api.get(`/pipelines/${id}/profile`)).json()
    await database.query('DELETE FROM analytics.things WHERE id = 9007199254740994')
    expect((await api.get(`/pipelines/${id}/profile`)).json()).toEqual(first)
    await database.query(
      "INSERT INTO etl.etl_runs (pipeline_id, status, started_at, finished_at, rows_deleted) VALUES ($1, 'SUCCESS', now(), clock_timestamp(), 1)",
      [id],
    )
    expect((await api.get(`/pipelines/${id}/profile`)).json()).toEqual({ ...first, outdated: true })
    const again = (await api.get(`/pipelines/${id}/profile?refresh=true`)).json()
    expect(again).toMatchObject({ rows: 56, outdated: false })
    expect(Date.parse(again.computed_at)).toBeGreaterThan(Date.parse(first.computed_at))
    expect((await api.get(`/pipelines/${id}/profile`)).json()).toEqual(again)
  })

  it('suggests checks that the mart passes, without what the database guarantees', async () => {
    await database.query(
      `CREATE TABLE analytics.checked (id int PRIMARY KEY, kind text, code text, rating numeric(3,1), loss int)`,
    )
    await database.query(
      "INSERT INTO analytics.checked SELECT n, CASE n % 2 WHEN 0 THEN 'movie' ELSE 'series' END, 'c' || n, 1 + n % 90 / 10.0, -n FROM generate_series(1, 100) n",
    )
    const { id: checked } = await aPipeline(database, { targetTable: 'analytics.checked' })
    const { suggested_checks: checks } = (await api.get(`/pipelines/${checked}/profile`)).json()
    expect(checks).toEqual([
      { name: 'row_count', type: 'row_count', min: 50, on_failure: 'warn' },
      { name: 'kind_not_null', type: 'not_null', column: 'kind', on_failure: 'warn' },
      {
        name: 'kind_values',
        type: 'accepted_values',
        column: 'kind',
        values: ['movie', 'series'],
        on_failure: 'warn',
      },
      { name: 'code_not_null', type: 'not_null', column: 'code', on_failure: 'warn' },
      { name: 'code_unique', type: 'unique', column: 'code', on_failure: 'warn' },
      { name: 'rating_not_null', type: 'not_null', column: 'rating', on_failure: 'warn' },
      { name: 'rating_range', type: 'range', column: 'rating', min: 0, max: 10, on_failure: 'warn' },
      { name: 'loss_not_null', type: 'not_null', column: 'loss', on_failure: 'warn' },
      { name: 'loss_unique', type: 'unique', column: 'loss', on_failure: 'warn' },
      { name: 'loss_range', type: 'range', column: 'loss', min: -100, max: 0, on_failure: 'warn' },
    ])
  })

  it('profiles an empty mart, extreme values and types of every kind', async () => {
    await database.query(`CREATE DOMAIN analytics.percent AS numeric CHECK (VALUE >= 0)`)
    await database.query(`CREATE TYPE analytics.mood AS ENUM ('sad', 'happy')`)
    await database.query(`CREATE TABLE analytics.every (id uuid PRIMARY KEY, n numeric, f float4, g float8, t timestamp, z timestamptz, d date,
      i interval, tm time, p point, x xml, j jsonb, b bit(3), c character(4), m analytics.mood, q analytics.percent, r int4range, k "char",
      ip inet, ns numeric[], l bigint, mo money)`)
    const { id: every } = await aPipeline(database, { targetTable: 'analytics.every' })
    const empty = (await api.get(`/pipelines/${every}/profile`)).json()
    expect(empty).toMatchObject({ rows: 0, suggested_checks: [] })
    await database.query(`INSERT INTO analytics.every VALUES
      (gen_random_uuid(), 'NaN', 'NaN', 'Infinity', 'infinity', '-infinity', 'infinity', '1 day', '10:00', '(1,2)', '<a/>', '{"a": 1}', B'101', 'ab', 'sad', 1, '[1,2)', 'x', '10.0.0.1', '{1,2}', 9223372036854775807, 1),
      (gen_random_uuid(), 1e400, 1e38, -1e308, '294276-01-01', '4713-01-01 BC', '0001-01-01', '-1 day', '11:00', '(1,2)', '<b/>', '[]', B'000', 'cd', 'happy', 2, 'empty', 'y', '::1', NULL, -9223372036854775808, 2),
      (gen_random_uuid(), -5, 0, 1e308, '2026-01-01', '2026-01-01', '2026-01-01', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 5, NULL)`)
    const full = (await api.get(`/pipelines/${every}/profile?refresh=true`)).json()
    expect(full.columns.filter(({ skipped }: { skipped: string | null }) => skipped !== null)).toEqual([])
    expect(columnOf(full, 'n')).toMatchObject({ distinct: 3, max: 'NaN', min: '-5' })
    expect(columnOf(full, 'l')).toMatchObject({ min: '-9223372036854775808', max: '9223372036854775807' })
    expect(columnOf(full, 'ns')).toMatchObject({ nulls: 2, distinct: 1 })
    for (const { name } of full.columns as { name: string }[])
      expect(await allRows({ sort: `-${name}`, limit: 1 }, every), name).toHaveLength(3)
  })
})
