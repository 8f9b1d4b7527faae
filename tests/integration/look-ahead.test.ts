import type pg from 'pg'
import { beforeEach, expect, it } from 'vitest'
import { aPipeline } from '../support/builders.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { aRunner } from '../support/runner.js'
import { requestRun, runById, runEnded } from '../support/runs.js'
import { waitFor } from '../support/wait.js'

/** Rows of the first page of a pass without a configured batch size. */
const PAGE = 20_000
const ROWS = 70_000

let main: TestDatabase
let warehouse: TestDatabase
let pipeline: string

beforeEach(async () => {
  main = await aDatabase()
  warehouse = await aDatabase({ migrated: false })
  await main.query(`
    CREATE SCHEMA content;
    CREATE TABLE content.tick (id bigint PRIMARY KEY);
    INSERT INTO content.tick SELECT 2 * n FROM generate_series(1, ${ROWS}) n;
    GRANT USAGE ON SCHEMA content TO vitrina_reader; GRANT SELECT ON content.tick TO vitrina_reader`)
  await main.query('VACUUM ANALYZE content.tick')
  await warehouse.query(`
    CREATE SCHEMA analytics;
    CREATE TABLE analytics.tick (id bigint PRIMARY KEY);
    CREATE FUNCTION public.wait() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN PERFORM pg_advisory_xact_lock_shared(42); RETURN NEW; END $$;
    CREATE TRIGGER wait BEFORE INSERT ON analytics.tick FOR EACH ROW WHEN (NEW.id = ${2 * PAGE}) EXECUTE FUNCTION public.wait()`)
  const { id } = await aPipeline(main, {
    sourceQuery: 'SELECT id FROM content.tick',
    targetTable: 'analytics.tick',
    targetConnection: 'warehouse',
    keyColumns: ['id'],
    batchSize: null,
  })
  pipeline = id
  await aRunner(main, { env: { VITRINA_CONNECTION_WAREHOUSE_URL: warehouse.url } })
})

/** A run that waits before the last row of its first page is written. */
async function heldInFirstPage(): Promise<{ runId: string; holder: pg.Client }> {
  const holder = await warehouse.client()
  await holder.query('SELECT pg_advisory_lock(42)')
  const runId = await requestRun(main, pipeline)
  await waitFor(
    async () =>
      (await warehouse.query("SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")).length > 0,
    { what: 'the last row of the first page' },
  )
  return { runId, holder }
}

/** The last statement of the session that reads the source. */
async function lastRead(): Promise<string> {
  const [row] = await main.query<{ query: string }>(
    `SELECT query FROM pg_stat_activity
      WHERE datname = current_database() AND starts_with(application_name, 'vitrina-run ') AND usename LIKE 'vitrina_reader%'`,
  )
  return row?.query ?? ''
}

async function contentOf(database: TestDatabase, table: string): Promise<unknown> {
  const [row] = await database.query(`SELECT count(*)::int AS rows, sum(id)::text AS sum FROM ${table}`)
  return row
}

it('the end of the next page is looked up while the rows of this one are written', async () => {
  const { runId, holder } = await heldInFirstPage()
  await waitFor(async () => /OFFSET 19999 LIMIT 1/.test(await lastRead()), {
    what: 'the session of the source to look up the next page',
  })
  expect(await runById(main, runId)).toMatchObject({ status: 'RUNNING', batches: 0 })
  // In the page that was looked up, in the one that was read, and after the end of the pass.
  await main.query(`INSERT INTO content.tick VALUES (${2 * PAGE + 1}), (1), (${2 * ROWS + 1})`)
  await holder.query('SELECT pg_advisory_unlock(42)')
  const run = await runEnded(main, runId)
  // One that had to be repeated would begin another pass, with another end.
  expect(await main.query('SELECT attempts FROM etl.etl_runs WHERE id = $1', [runId])).toEqual([
    { attempts: [] },
  ])
  expect(run).toMatchObject({ status: 'SUCCESS', error: null, rows_inserted: ROWS + 1 })
  await main.query(`DELETE FROM content.tick WHERE id IN (1, ${2 * ROWS + 1})`)
  expect(await contentOf(warehouse, 'analytics.tick')).toEqual(await contentOf(main, 'content.tick'))
})

it('a column that was changed after that lookup is found before the next page is read', async () => {
  const { runId, holder } = await heldInFirstPage()
  await waitFor(async () => /OFFSET 19999 LIMIT 1/.test(await lastRead()), {
    what: 'the session of the source to look up the next page',
  })
  await main.query('ALTER TABLE content.tick ADD COLUMN note text')
  await holder.query('SELECT pg_advisory_unlock(42)')
  expect(await runEnded(main, runId)).toMatchObject({
    status: 'FAILED',
    error_code: 'VTR-2003',
    rows_inserted: PAGE,
  })
  expect(await contentOf(warehouse, 'analytics.tick')).toMatchObject({ rows: PAGE })
})
