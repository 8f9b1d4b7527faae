import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { vtr } from '../../src/model/errors.js'
import { anApi, type TestApi } from '../support/api.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { aRunner } from '../support/runner.js'
import { run } from '../support/runs.js'

/* Data checks answer questions about rows: they must not answer them about tables that no query may read. */

let database: TestDatabase
let api: TestApi
beforeAll(async () => {
  database = await aDatabase({ cinema: true })
  await database.query(`
    CREATE SCHEMA vault; CREATE TABLE vault.secret (id uuid PRIMARY KEY);
    INSERT INTO vault.secret SELECT id FROM content.film_work LIMIT 3;
    CREATE VIEW content.window AS SELECT id FROM vault.secret;
    CREATE VIEW content.honest AS SELECT id FROM content.film_work;
    CREATE VIEW analytics.window AS SELECT id FROM vault.secret;
    CREATE MATERIALIZED VIEW content.copy AS SELECT id FROM vault.secret;
    CREATE TABLE content.parent (id uuid); CREATE TABLE vault.child () INHERITS (content.parent);
    CREATE TABLE content.whole (id uuid) PARTITION BY LIST (id); CREATE TABLE vault.part PARTITION OF content.whole DEFAULT;
    CREATE TABLE analytics.scattered (id uuid) PARTITION BY LIST (id);
    CREATE TABLE vault.piece PARTITION OF analytics.scattered DEFAULT; INSERT INTO vault.piece SELECT id FROM vault.secret;
    GRANT SELECT ON ALL TABLES IN SCHEMA content, analytics TO vitrina_reader, vitrina_writer;
    GRANT SELECT ON ALL TABLES IN SCHEMA analytics TO vitrina_meta`)
  api = anApi(database.loginUrl('meta'), { readerUrl: database.loginUrl('reader') })
})

const relationship = (to: string) => ({
  ...{ name: 'related', type: 'relationship', column: 'film_id', to, to_column: 'id', on_failure: 'warn' },
})

async function aCheckedMart(checks: readonly object[]): Promise<{ id: string; mart: string }> {
  const name = `checked_${randomUUID().slice(0, 8)}`
  const made = await api.post('/pipelines', {
    name,
    source_query: 'SELECT id AS film_id, title FROM content.film_work',
    target_table: `analytics.${name}`,
    key_columns: ['film_id'],
    checks,
  })
  expect([made.statusCode, made.json()]).toMatchObject([201, { checks }])
  return { id: made.json().id, mart: `analytics.${name}` }
}

describe('a relationship', () => {
  it.each(['content.window', 'analytics.window', 'content.copy', 'content.parent', 'content.whole'])(
    'does not read a table outside the allowed schemas through %s',
    async (to) => {
      const runner = await aRunner(database)
      for (const over of ['batch', 'mart'] as const) {
        const { id } = await aCheckedMart([{ ...relationship(to), over }])
        expect(await run(database, id)).toMatchObject({ status: 'FAILED', error_code: vtr('CHECK_INVALID') })
        const [check] = (await api.get(`/pipelines/${id}/checks`)).json().items
        expect(check).toMatchObject({ failed_rows: 0, sample: [] })
      }
      await runner.stop()
    },
  )

  it('reads a view that a query may read', async () => {
    await aRunner(database)
    const { id } = await aCheckedMart([relationship('content.honest')])
    const validation = await api.post(`/pipelines/${id}/validate`)
    expect(validation.json()).toMatchObject({ valid: true, errors: [] })
    expect(await run(database, id)).toMatchObject({ status: 'SUCCESS' })
    const [check] = (await api.get(`/pipelines/${id}/checks`)).json().items
    expect(check).toMatchObject({ status: 'passed', failed_rows: 0 })
  })
})

describe('checks on request', () => {
  const CHECKS = [
    { name: 'unique', type: 'unique', column: 'id', on_failure: 'warn' },
    { name: 'leak', type: 'expression', over: 'mart', sql: 'id::text::int > 0', on_failure: 'warn' },
  ]

  it.each(['etl.etl_tokens', 'vault.secret', 'analytics.window', 'analytics.scattered', 'analytics.nowhere'])(
    'do not read %s',
    async (target) => {
      const { id } = await aCheckedMart([])
      await database.query(
        "UPDATE etl.etl_pipelines SET target_table = $2, key_columns = '{id}', checks = $3 WHERE id = $1",
        [id, target, JSON.stringify(CHECKS)],
      )
      const answer = await api.post(`/pipelines/${id}/checks/run`)
      expect(answer.json().code).toMatch(/^(TARGET_REFUSED|CHECK_INVALID)$/)
      const [found] = (await api.get(`/pipelines/${id}/checks`)).json().items
      expect(found).toMatchObject({ status: 'unknown' })
    },
  )
})

it('a check that finds values of any size twice shows their beginning', async () => {
  const { id, mart } = await aCheckedMart([
    { name: 'title', type: 'unique', column: 'title', over: 'mart', on_failure: 'warn' },
  ])
  await database.query(
    `CREATE TABLE ${mart} AS SELECT gen_random_uuid() AS film_id, repeat('x', 20000000) AS title FROM generate_series(1, 2);
     GRANT SELECT ON ${mart} TO vitrina_meta`,
  )
  const answer = await api.post(`/pipelines/${id}/checks/run`)
  expect([answer.statusCode, answer.json()]).toMatchObject([
    200,
    { items: [{ status: 'warned', failed_rows: 2, sample: [`${'x'.repeat(999)}…`] }] },
  ])
})
