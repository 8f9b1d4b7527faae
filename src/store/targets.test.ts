import type pg from 'pg'
import { describe, expect, it } from 'vitest'
import { aPipeline } from '../../tests/support/builders.js'
import { aDatabase, type TestDatabase } from '../../tests/support/database.js'
import { targetIdentity } from '../model/target.js'
import { migrate, migrations } from './migrate.js'

const MIGRATION = '0016_source_table_and_shared_target'

const insert = (database: TestDatabase, columns: Record<string, unknown>) =>
  database.query(
    `INSERT INTO etl.etl_pipelines (${Object.keys(columns).join(', ')})
     VALUES (${Object.keys(columns).map((_, n) => `$${n + 1}`)})`,
    Object.values(columns),
  )
const named = (database: TestDatabase, name: string) =>
  database.query('SELECT * FROM etl.etl_pipelines WHERE name = $1', [name]).then(([row]) => row!)

describe('the identity of a target in the database', () => {
  it('groups addresses exactly as the program does', async () => {
    const database = await aDatabase()
    const addresses = [
      ...['analytics.film_dim', 'Analytics.FILM_DIM', '"analytics"."film_dim"', ' analytics.film_dim '],
      ...['analytics."Film_Dim"', 'analytics."film_""dim"', '"analytics.film_dim".x', 'analytics."film.dim"'],
      ...['analytics.фильм', 'analytics."фильм"', 'analytics.a$1', 'analytics.order', '"order"."select"'],
      ...['es:film_dim', 'es:films.v2', 'ch:film_dim', 'ch:analytics.film_dim', 'CH:x', 's3:marts/film_dim'],
      ...['nonsense', 'a.b.c', 'analytics.', '"unclosed.x', 'search/films'],
    ]
    const pairs = addresses.flatMap((address) =>
      [null, 'dwh', 'DWH'].map((connection) => ({ address, connection })),
    )
    const rows = await database.query<{ identity: string }>(
      `SELECT etl.target_identity(p.address, p.connection) AS identity
         FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS p (address, connection, n) ORDER BY n`,
      [pairs.map(({ address }) => address), pairs.map(({ connection }) => connection)],
    )
    const groups = (keys: string[]) => keys.map((key) => keys.indexOf(key))
    expect(groups(rows.map(({ identity }) => identity))).toEqual(
      groups(pairs.map(({ address, connection }) => targetIdentity(address, connection))),
    )
    expect(new Set(groups(rows.map(({ identity }) => identity))).size).toBeGreaterThan(30)
  })

  it('treats names as equal that PostgreSQL would truncate to the same 63 bytes', async () => {
    const database = await aDatabase()
    const long = 'ж'.repeat(40)
    await insert(database, { name: 'one', source_query: 'SELECT 1', target_table: `analytics.${long}a` })
    await expect(
      insert(database, { name: 'two', source_query: 'SELECT 1', target_table: `analytics.${long}b` }),
    ).rejects.toMatchObject({ code: 'VT005' })
  })
})

describe('a second pipeline on a target', () => {
  it.each([
    ['analytics.film_dim', '"analytics".FILM_DIM'],
    ['es:film_dim', 'es:film_dim'],
    ['ch:analytics.film_dim', 'ch:analytics.film_dim'],
    ['s3:marts/film_dim', 's3:marts/film_dim'],
  ])('is rejected for SQL written by hand, with its name: %s and %s', async (first, second) => {
    const database = await aDatabase()
    await insert(database, { name: 'first', source_query: 'SELECT 1', target_table: first })
    await expect(
      insert(database, { name: 'second', source_query: 'SELECT 1', target_table: second }),
    ).rejects.toMatchObject({
      code: 'VT005',
      message: `pipeline "first" already writes to ${second}, so pipeline "second" cannot`,
      hint: 'Choose another target, or set shared_target to true on both pipelines.',
    })
    // Another target is allowed.
    await insert(database, {
      name: 'second',
      source_query: 'SELECT 1',
      target_table: second,
      target_connection: 'dwh',
    })
  })

  it('is allowed if both allow sharing, and neither may stop while the other exists', async () => {
    const database = await aDatabase()
    const target_table = 'analytics.shared'
    await insert(database, { name: 'a', source_query: 'SELECT 1', target_table })
    const shared = { name: 'b', source_query: 'SELECT 1', target_table, shared_target: true }
    await expect(insert(database, shared)).rejects.toMatchObject({ code: 'VT005' })
    await database.query("UPDATE etl.etl_pipelines SET shared_target = true WHERE name = 'a'")
    await insert(database, shared)
    const stop = "UPDATE etl.etl_pipelines SET shared_target = false WHERE name = 'a'"
    await expect(database.query(stop)).rejects.toMatchObject({ code: 'VT005' })
    await database.query("DELETE FROM etl.etl_pipelines WHERE name = 'b'")
    await database.query(stop)
    // The flag is configuration: it creates versions, and an audit entry each.
    expect((await named(database, 'a')).config_version).toBe(3)
  })

  it('is found where the last task of a plan writes, and where it no longer does', async () => {
    const database = await aDatabase()
    const { id } = await aPipeline(database, {
      name: 'planned',
      targetTable: 'analytics.own',
      type: 'PYTHON',
      tasks: [
        { taskType: 'SQL', body: 'SELECT 1 AS id' },
        { taskType: 'PYTHON', body: 'trim', targetTable: 'analytics.elsewhere' },
      ],
    })
    await aPipeline(database, { name: 'own', targetTable: 'analytics.own' })
    await expect(aPipeline(database, { targetTable: 'analytics.ELSEWHERE' })).rejects.toMatchObject({
      code: 'VT005',
    })
    const back = 'UPDATE etl.etl_pipeline_tasks SET target_table = NULL WHERE pipeline_id = $1'
    await expect(database.query(back, [id])).rejects.toMatchObject({
      message: 'pipeline "own" already writes to analytics.own, so pipeline "planned" cannot',
    })
    await database.query("DELETE FROM etl.etl_pipelines WHERE name = 'own'")
    await database.query(back, [id])
    await aPipeline(database, { targetTable: 'analytics.elsewhere' })
  })

  it('is checked at the end of a transaction: two pipelines may swap their targets', async () => {
    const database = await aDatabase()
    await aPipeline(database, { name: 'a', targetTable: 'analytics.one' })
    await aPipeline(database, { name: 'b', targetTable: 'analytics.two' })
    await database.query(
      `UPDATE etl.etl_pipelines SET target_table = CASE name WHEN 'a' THEN 'analytics.two' ELSE 'analytics.one' END`,
    )
    expect((await named(database, 'a')).target_table).toBe('analytics.two')
  })

  it('is rejected for one of two transactions that do not see each other', async () => {
    const database = await aDatabase()
    const clients = await Promise.all([database.client(), database.client()])
    const save = async (client: pg.Client, name: string) => {
      await client.query('BEGIN')
      await client.query(
        "INSERT INTO etl.etl_pipelines (name, source_query, target_table) VALUES ($1, 'SELECT 1', 'analytics.x')",
        [name],
      )
    }
    await save(clients[0]!, 'first')
    await save(clients[1]!, 'second')
    const ends = await Promise.allSettled(clients.map((client) => client.query('COMMIT')))
    expect(ends.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(await database.query('SELECT FROM etl.etl_pipelines')).toHaveLength(1)
  })

  it('does not slow down many pipelines: thousands are inserted in one statement', async () => {
    const database = await aDatabase()
    await database.query(
      `INSERT INTO etl.etl_pipelines (name, source_query, target_table)
       SELECT 'p' || n, 'SELECT 1', 'analytics.t' || n FROM generate_series(1, 1000) n`,
    )
    const [row] = await database.query(
      'SELECT count(DISTINCT identity)::int AS n FROM etl.etl_pipeline_targets',
    )
    expect(row).toEqual({ n: 1000 })
  })
})

describe('a table as source, written by hand', () => {
  it('needs no query, not even an empty one', async () => {
    const database = await aDatabase()
    await insert(database, { name: 'a', source_table: 'content.genre', target_table: 'analytics.a' })
    await insert(database, {
      ...{ name: 'b', source_query: '', source_table: 'content.genre', source_columns: ['id'] },
      target_table: 'analytics.b',
    })
    expect(await named(database, 'a')).toMatchObject({ source_query: null, source_columns: [] })
    expect(await named(database, 'b')).toMatchObject({ source_query: null, source_columns: ['id'] })
  })

  it.each([
    ['etl_pipelines_one_source', { source_query: 'SELECT 1', source_table: 'content.genre' }],
    ['etl_pipelines_columns_of_table', { source_query: 'SELECT 1', source_columns: ['id'] }],
    ['etl_pipelines_source_table_check', { source_table: ' ' }],
  ])('is rejected by %s', async (constraint, source) => {
    const database = await aDatabase()
    await expect(
      insert(database, { name: 'x', target_table: 'analytics.x', ...source }),
    ).rejects.toMatchObject({ code: '23514', constraint })
  })

  it('is a version of the configuration, and cannot change while a run is in progress', async () => {
    const database = await aDatabase()
    await insert(database, { name: 'a', source_table: 'content.genre', target_table: 'analytics.a' })
    const change = (sets: string) => database.query(`UPDATE etl.etl_pipelines SET ${sets}`)
    await change("source_columns = '{id,name}'")
    await change("source_query = 'SELECT 1', source_table = NULL, source_columns = '{}'")
    await change("source_table = 'content.genre', source_query = NULL")
    const versions = await database.query<{ diff: Record<string, unknown> }>(
      'SELECT diff FROM etl.etl_pipeline_versions ORDER BY version OFFSET 1',
    )
    expect(versions.map(({ diff }) => diff)).toEqual([
      { source_columns: { old: [], new: ['id', 'name'] } },
      {
        source_query: { old: null, new: 'SELECT 1' },
        source_table: { old: 'content.genre', new: null },
        source_columns: { old: ['id', 'name'], new: [] },
      },
      {
        source_query: { old: 'SELECT 1', new: null },
        source_table: { old: null, new: 'content.genre' },
      },
    ])
    for (const status of ['RUN_REQUESTED', 'RUNNING']) await change(`status = '${status}'`)
    for (const sets of ["source_table = 'content.person'", "source_columns = '{id}'"])
      await expect(change(sets)).rejects.toMatchObject({ code: 'VT002' })
    await change('shared_target = true')
  })
})

describe('the migration of an installation', () => {
  /** Everything before it, as the last release left it. */
  async function before(): Promise<TestDatabase> {
    const database = await aDatabase({ migrated: false })
    const client = await database.client()
    const older = migrations().filter(({ name }) => name < MIGRATION)
    await client.query(`
      CREATE SCHEMA etl;
      CREATE TABLE etl.schema_migrations (
        name text PRIMARY KEY, checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`)
    for (const { name, sql, checksum } of older) {
      await client.query(sql)
      await client.query('INSERT INTO etl.schema_migrations (name, checksum) VALUES ($1, $2)', [
        name,
        checksum,
      ])
    }
    return database
  }

  it('marks pipelines that share a target, and leaves their versions and the others unchanged', async () => {
    const database = await before()
    await database.query(`
      INSERT INTO etl.etl_pipelines (name, source_query, target_table) VALUES
        ('one', 'SELECT 1', 'analytics.shared'), ('two', 'SELECT 2', '"analytics".SHARED'), ('alone', '', 'analytics.alone'),
        ('planned', '', 'analytics.unused');
      INSERT INTO etl.etl_pipeline_tasks (pipeline_id, order_index, task_type, body, target_table)
        SELECT id, 1, 'SQL', 'SELECT 3', 'analytics.shared' FROM etl.etl_pipelines WHERE name = 'planned'`)
    const stamps = () =>
      database.query('SELECT name, config_version, updated_at FROM etl.etl_pipelines ORDER BY name')
    const kept = await stamps()
    expect(await migrate(database.url)).toContain(MIGRATION)
    const rows = await database.query('SELECT name, shared_target FROM etl.etl_pipelines ORDER BY name')
    expect(rows).toEqual([
      { name: 'alone', shared_target: false },
      { name: 'one', shared_target: true },
      { name: 'planned', shared_target: true },
      { name: 'two', shared_target: true },
    ])
    expect(await stamps()).toEqual(kept)
    // The first change afterwards is recorded as that change alone.
    await database.query("UPDATE etl.etl_pipelines SET description = 'x' WHERE name = 'one'")
    const [last] = await database.query(
      `SELECT v.diff FROM etl.etl_pipeline_versions v JOIN etl.etl_pipelines p ON p.id = v.pipeline_id
        WHERE p.name = 'one' ORDER BY v.version DESC LIMIT 1`,
    )
    expect(last?.diff).toHaveProperty('description')
    for (const field of ['source_table', 'source_columns', 'shared_target'])
      expect(last?.diff).not.toHaveProperty(field)
  })
})
