import { beforeAll, describe, expect, it } from 'vitest'
import { anApi, type TestApi } from '../support/api.js'
import { aPipeline } from '../support/builders.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { aRunner } from '../support/runner.js'
import { run } from '../support/runs.js'

/** Each is readable by itself: it lies in an allowed schema. Its rows do not. */
const PARENTS = `
  CREATE SCHEMA private;
  CREATE TABLE content.visit (id int, day date, PRIMARY KEY (id, day)) PARTITION BY RANGE (day);
  CREATE TABLE content.visit_old PARTITION OF content.visit FOR VALUES FROM ('2020-01-01') TO ('2021-01-01');
  CREATE TABLE private.visit_new PARTITION OF content.visit FOR VALUES FROM ('2021-01-01') TO ('2022-01-01');
  CREATE TABLE content.visit_nested PARTITION OF content.visit FOR VALUES FROM ('2022-01-01') TO ('2023-01-01')
    PARTITION BY RANGE (id);
  CREATE TABLE private.visit_deep PARTITION OF content.visit_nested DEFAULT;
  CREATE TABLE content.person_any (id int PRIMARY KEY, day date);
  CREATE TABLE private.person_hidden () INHERITS (content.person_any);
  CREATE VIEW content.visits AS SELECT * FROM content.visit;
  CREATE TABLE content.late (id int PRIMARY KEY, day date);
  INSERT INTO content.visit VALUES (1, '2020-05-05'), (2, '2021-05-05'), (3, '2022-05-05');
  INSERT INTO private.person_hidden VALUES (4, '2020-05-05');
  INSERT INTO content.late VALUES (5, '2020-05-05');
  GRANT SELECT ON ALL TABLES IN SCHEMA content TO vitrina_reader, vitrina_writer;`

let database: TestDatabase
let api: TestApi
beforeAll(async () => {
  database = await aDatabase({ cinema: true })
  await database.query(PARENTS)
  api = anApi(database.loginUrl('meta'), { readerUrl: database.loginUrl('reader') })
  await aRunner(database)
})
const draft = (source: object) => ({ ...source, target_table: 'analytics.visits', key_columns: ['id'] })

describe('rows in a schema that is not allowed', () => {
  it.each([
    ['a partition', 'content.visit', /private\.visit_new is a partition of content\.visit, /],
    ['a partition of a partition', 'content.visit_nested', /private\.visit_deep is a partition of/],
    ['a child', 'content.person_any', /private\.person_hidden inherits from content\.person_any, /],
    ['a partition behind a view', 'content.visits', /private\.visit_new is a partition of content\.visit, /],
  ])('are not read through %s', async (_what, table, message) => {
    for (const source of [{ source_query: `SELECT id, day FROM ${table}` }, { source_table: table }]) {
      const checked = (await api.post('/validate', draft(source))).json()
      expect(checked.valid).toBe(false)
      expect(new Set(checked.errors.map(({ code }: { code: string }) => code))).toEqual(
        new Set(['SOURCE_REFUSED']),
      )
      expect(JSON.stringify(checked.errors)).toMatch(message)
      const seen = await api.post('/preview', draft(source))
      expect([seen.statusCode, seen.json().code]).toEqual([422, 'SOURCE_REFUSED'])
    }
  })

  it('are not read by a run either, also when the partition came after the pipeline', async () => {
    const { id, spec } = await aPipeline(database, {
      sourceQuery: 'SELECT id, day FROM content.late',
      keyColumns: ['id'],
    })
    expect(await run(database, id)).toMatchObject({ status: 'SUCCESS' })
    await database.query(
      "CREATE TABLE private.later () INHERITS (content.late); INSERT INTO private.later VALUES (6, '2020-05-05')",
    )
    const ended = await run(database, id)
    expect(ended).toMatchObject({ status: 'FAILED', error_code: 'VTR-2001' })
    expect(ended.error).toMatch(/private\.later inherits from content\.late/)
    expect(await database.query(`SELECT id FROM ${spec.targetTable}`)).toEqual([{ id: 5 }])
  })

  it('are read once their schema is allowed', async () => {
    await database.query('GRANT USAGE ON SCHEMA private TO vitrina_reader')
    const open = anApi(database.loginUrl('meta'), {
      readerUrl: database.loginUrl('reader'),
      sourceSchemas: ['content', 'private'],
    })
    try {
      const checked = await open.post(
        '/validate',
        draft({ source_query: 'SELECT id, day FROM content.visit' }),
      )
      expect(checked.json().errors).toEqual([])
    } finally {
      await open.close()
    }
  })
})
