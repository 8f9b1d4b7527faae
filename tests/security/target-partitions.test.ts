import { beforeAll, describe, expect, it } from 'vitest'
import { anApi, type TestApi } from '../support/api.js'
import { aPipeline } from '../support/builders.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { aRunner } from '../support/runner.js'
import { run } from '../support/runs.js'

/** Each mart is an allowed target by its name. Rows written to it, or deleted from it, are in another table. */
const MARTS = `
  CREATE SCHEMA private;
  CREATE EXTENSION postgres_fdw;
  CREATE SERVER elsewhere FOREIGN DATA WRAPPER postgres_fdw;

  CREATE TABLE analytics.direct (id int PRIMARY KEY, name text) PARTITION BY RANGE (id);
  CREATE TABLE analytics.direct_own PARTITION OF analytics.direct FOR VALUES FROM (0) TO (1);
  CREATE TABLE private.direct_part PARTITION OF analytics.direct DEFAULT;

  CREATE TABLE analytics.deep (id int PRIMARY KEY, name text) PARTITION BY RANGE (id);
  CREATE TABLE analytics.deep_1 PARTITION OF analytics.deep DEFAULT PARTITION BY RANGE (id);
  CREATE TABLE analytics.deep_2 PARTITION OF analytics.deep_1 DEFAULT PARTITION BY RANGE (id);
  CREATE TABLE private.deep_3 PARTITION OF analytics.deep_2 DEFAULT;

  CREATE TABLE analytics.far (id int NOT NULL, name text) PARTITION BY RANGE (id);
  CREATE FOREIGN TABLE analytics.far_part PARTITION OF analytics.far DEFAULT SERVER elsewhere;

  CREATE TABLE analytics.parent (id int PRIMARY KEY, name text);
  CREATE TABLE private.child () INHERITS (analytics.parent);
  INSERT INTO private.child VALUES (-1, 'not in the source');

  CREATE TABLE analytics.far_parent (id int PRIMARY KEY, name text);
  CREATE FOREIGN TABLE analytics.far_child () INHERITS (analytics.far_parent) SERVER elsewhere;

  CREATE TABLE analytics.own (id int PRIMARY KEY, name text) PARTITION BY RANGE (id);
  CREATE TABLE analytics.own_1 PARTITION OF analytics.own FOR VALUES FROM (0) TO (10) PARTITION BY RANGE (id);
  CREATE TABLE analytics.own_1a PARTITION OF analytics.own_1 DEFAULT;
  CREATE TABLE analytics.own_2 PARTITION OF analytics.own DEFAULT;

  CREATE TABLE content.thing (id int PRIMARY KEY, name text);
  INSERT INTO content.thing SELECT n, 'thing ' || n FROM generate_series(1, 20) n;
  GRANT SELECT ON content.thing TO vitrina_reader, vitrina_writer;
  GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA analytics TO vitrina_writer;
  GRANT SELECT ON ALL TABLES IN SCHEMA analytics TO vitrina_meta;`

const SOURCE_QUERY = 'SELECT id, name FROM content.thing'
const REFUSED = [
  ['a partition in another schema', 'direct', /private\.direct_part is a partition of analytics\.direct /],
  ['a partition at the third level', 'deep', /private\.deep_3 is a partition of analytics\.deep_2 /],
  ['a foreign table as partition', 'far', /analytics\.far_part is a foreign table /],
  ['an inherited table in another schema', 'parent', /private\.child inherits from analytics\.parent /],
  ['an inherited foreign table', 'far_parent', /analytics\.far_child is a foreign table /],
] as const

let database: TestDatabase
let api: TestApi
beforeAll(async () => {
  database = await aDatabase({ cinema: true })
  await database.query(MARTS)
  api = anApi(database.loginUrl('meta'), { readerUrl: database.loginUrl('reader') })
  await aRunner(database)
})
describe('a mart whose rows are stored outside the allowed targets', () => {
  it.each(REFUSED)('is refused by validation, comparison and runs: %s', async (_what, name, message) => {
    const targetTable = `analytics.${name}`
    const draft = { source_query: SOURCE_QUERY, target_table: targetTable, key_columns: ['id'] }
    const checked = (await api.post('/validate', draft)).json()
    expect(checked).toMatchObject({
      valid: false,
      errors: [{ code: 'TARGET_REFUSED', field: 'target_table', message: expect.stringMatching(message) }],
    })
    const { id } = await aPipeline(database, {
      sourceQuery: SOURCE_QUERY,
      targetTable,
      keyColumns: ['id'],
      fullStrategy: 'replace',
    })
    const ended = await run(database, id)
    expect(ended).toMatchObject({ status: 'FAILED', attempt: 1, error: expect.stringMatching(message) })
    const compared = await api.get(`/pipelines/${id}/reconcile`)
    expect([compared.statusCode, compared.json().code]).toEqual([422, 'TARGET_REFUSED'])
  })

  it('keeps the rows of the tables behind it', async () => {
    const rows = await database.query(
      `SELECT (SELECT count(*)::int FROM private.direct_part) AS direct, (SELECT count(*)::int FROM private.deep_3) AS deep,
              (SELECT count(*)::int FROM private.child) AS child`,
    )
    expect(rows).toEqual([{ direct: 0, deep: 0, child: 1 }])
  })

  it('is refused by the next run when the partition was added later', async () => {
    await database.query(
      'CREATE TABLE analytics.later (id int PRIMARY KEY, name text) PARTITION BY RANGE (id); CREATE TABLE analytics.later_1 PARTITION OF analytics.later FOR VALUES FROM (0) TO (100); GRANT SELECT, INSERT, UPDATE, DELETE ON analytics.later TO vitrina_writer',
    )
    const { id } = await aPipeline(database, {
      sourceQuery: SOURCE_QUERY,
      targetTable: 'analytics.later',
      keyColumns: ['id'],
    })
    expect(await run(database, id)).toMatchObject({ status: 'SUCCESS', rows_inserted: 20 })
    await database.query(
      "CREATE TABLE private.later_2 PARTITION OF analytics.later DEFAULT; INSERT INTO content.thing VALUES (1000, 'new')",
    )
    expect(await run(database, id)).toMatchObject({
      status: 'FAILED',
      error: expect.stringMatching(/private\.later_2 is a partition of analytics\.later /),
    })
    expect(await database.query('SELECT FROM private.later_2')).toEqual([])
    await database.query('DELETE FROM content.thing WHERE id = 1000')
  })

  it('is accepted with partitions that are allowed targets themselves', async () => {
    const { id } = await aPipeline(database, {
      sourceQuery: SOURCE_QUERY,
      targetTable: 'analytics.own',
      keyColumns: ['id'],
    })
    expect((await api.post(`/pipelines/${id}/validate`)).json()).toMatchObject({ valid: true, errors: [] })
    expect(await run(database, id)).toMatchObject({ status: 'SUCCESS', rows_inserted: 20 })
  })

  it('is compared with exact names, not only with schemas', async () => {
    const own = await aDatabase({ cinema: true })
    await own.query(
      'CREATE TABLE analytics.exact (id uuid PRIMARY KEY, name text) PARTITION BY HASH (id); CREATE TABLE analytics.exact_1 PARTITION OF analytics.exact FOR VALUES WITH (MODULUS 2, REMAINDER 0); CREATE TABLE analytics.exact_2 PARTITION OF analytics.exact FOR VALUES WITH (MODULUS 2, REMAINDER 1); GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA analytics TO vitrina_writer',
    )
    const { id } = await aPipeline(own, {
      sourceQuery: 'SELECT id, name FROM content.genre',
      targetTable: 'analytics.exact',
      keyColumns: ['id'],
    })
    const narrow = await aRunner(own, {
      env: { ALLOWED_TARGET_TABLES: 'analytics.exact,analytics.exact_1' },
    })
    expect(await run(own, id)).toMatchObject({
      status: 'FAILED',
      error: expect.stringMatching(/analytics\.exact_2 is a partition of analytics\.exact /),
    })
    await narrow.stop()
    await aRunner(own, {
      env: { ALLOWED_TARGET_TABLES: 'analytics.exact,analytics.exact_1,analytics.exact_2' },
    })
    expect(await run(own, id)).toMatchObject({ status: 'SUCCESS' })
  })
})
