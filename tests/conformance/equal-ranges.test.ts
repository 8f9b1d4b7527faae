import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aPipeline } from '../support/builders.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { aRunner, type TestRunner } from '../support/runner.js'
import { run } from '../support/runs.js'
import { rowTexts } from '../support/stand.js'

const COLUMNS = 'id, name, amount, span, ratio, doc, at, code'
const ROWS = 1_000

/** Ranges of keys whose rows are the same in source and mart are not moved. */
describe('a full pass into another database', () => {
  let main: TestDatabase
  let source: TestDatabase
  let runner: TestRunner
  let id: string

  beforeAll(async () => {
    main = await aDatabase()
    source = await aDatabase({ migrated: false })
    await source.query(`
      CREATE SCHEMA content;
      CREATE TABLE content.item (id int PRIMARY KEY, name text, amount numeric, span interval, ratio float8, doc jsonb,
        at timestamptz, code char(4));
      INSERT INTO content.item SELECT n, CASE WHEN n % 9 > 0 THEN 'item ' || n END, n * 1.5, make_interval(days => n % 3), n / 7.0,
        jsonb_build_object('n', n * 1.0), timestamptz '2026-01-01' + n * interval '1 hour', 'c' || n % 10 FROM generate_series(1, ${ROWS}) n;
      ANALYZE content.item`)
    const env = { VITRINA_CONNECTION_SRC_URL: source.url, ALLOWED_SOURCE_SCHEMAS: 'content' }
    runner = await aRunner(main, { env })
    ;({ id } = await aPipeline(main, {
      sourceConnection: 'src',
      sourceQuery: `SELECT ${COLUMNS} FROM content.item`,
      targetTable: 'analytics.item',
      keyColumns: ['id'],
      mode: 'full',
      batchSize: 100,
    }))
    expect(await run(main, id)).toMatchObject({ status: 'SUCCESS', rows_inserted: ROWS })
  })
  afterAll(async () => {
    await runner?.stop()
    await source?.drop()
  })

  const isEqual = async () =>
    expect(await rowTexts(main, `SELECT ${COLUMNS} FROM analytics.item`)).toEqual(
      await rowTexts(source, `SELECT ${COLUMNS} FROM content.item`),
    )

  it('counts the rows that it did not have to move', async () => {
    expect(await run(main, id)).toMatchObject({
      ...{ status: 'SUCCESS', batches: 10, rows_read: ROWS, rows_unchanged: ROWS },
      ...{ rows_inserted: 0, rows_updated: 0 },
    })
  })

  it.each([
    ['a text', "name = name || '!'", 101],
    ['a value that was NULL', "name = ''", 9],
    ['a number with another scale', "amount = (amount::text || '0')::numeric", 203],
    ['an interval that is equal and looks different', "span = interval '24 hours'", 301],
    ['negative zero', "ratio = '-0'::float8", 401],
    ['a number in a document with another scale', `doc = '{"n": 501.00}'`, 501],
    ['a microsecond', "at = at + interval '1 microsecond'", 603],
  ])('repairs %s', async (_what, assignment, key) => {
    if (assignment.startsWith('ratio'))
      await source.query('UPDATE content.item SET ratio = 0 WHERE id = $1', [key])
    await run(main, id)
    await main.query(`UPDATE analytics.item SET ${assignment} WHERE id = ${key}`)
    expect(await run(main, id)).toMatchObject({ status: 'SUCCESS', rows_read: ROWS, rows_updated: 1 })
    await isEqual()
  })

  it('writes rows that are missing, and those that changed in the source', async () => {
    await main.query('DELETE FROM analytics.item WHERE id IN (1, 500, 1000)')
    await source.query(`
      UPDATE content.item SET name = 'changed' WHERE id IN (2, 777);
      INSERT INTO content.item (id, name) VALUES (${ROWS + 1}, 'new')`)
    expect(await run(main, id)).toMatchObject({ status: 'SUCCESS', rows_inserted: 4, rows_updated: 2 })
    await isEqual()
  })
})
