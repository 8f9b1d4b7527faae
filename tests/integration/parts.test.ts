import { expect, it } from 'vitest'
import { aPipeline } from '../support/builders.js'
import { aLogicalServer, prepareSource } from '../support/capture.js'
import { aCountedMart, holdRow, signature, writesOf } from '../support/counted-mart.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { aRunner } from '../support/runner.js'
import { requestRun, run, runEnded } from '../support/runs.js'
import { someTasks, taskSettings } from '../support/tasks.js'
import { waitFor } from '../support/wait.js'

const THINNED = `
import { task, type Row } from 'vitrina'
task('thinned', {}, (rows: Row[]) => rows.filter((row) => row.id % 3 === 0).map((row) => ({ ...row, name: row.name + '!' })))
`

it('functions transform the rows of every part', async () => {
  const database = await aDatabase()
  const { folder } = await someTasks({ 'typescript/thinned.ts': THINNED })
  await database.query(`
    CREATE SCHEMA content;
    CREATE TABLE content.tick (id int PRIMARY KEY, name text NOT NULL);
    INSERT INTO content.tick SELECT n, 'tick ' || n FROM generate_series(1, 900) n;
    GRANT USAGE ON SCHEMA content TO PUBLIC; GRANT SELECT ON content.tick TO PUBLIC`)
  const { id } = await aPipeline(database, {
    type: 'PYTHON',
    tasks: [
      { taskType: 'SQL', body: 'SELECT id, name FROM content.tick' },
      { taskType: 'PYTHON', body: 'thinned' },
    ],
    targetTable: 'analytics.tick',
    keyColumns: ['id'],
    parallelism: 3,
  })
  await aRunner(database, { env: taskSettings(folder) })
  expect(await run(database, id)).toMatchObject({
    ...{ status: 'SUCCESS', error: null, strategy: 'tasks_full', parts_done: 3 },
    ...{ rows_read: 900, rows_inserted: 300 },
  })
  expect(await signature(database, 'SELECT * FROM analytics.tick')).toBe(
    await signature(database, "SELECT id, name || '!' AS name FROM content.tick WHERE id % 3 = 0"),
  )
})

it('a part leaves its connection to the source to the next one', async () => {
  const mart = await aCountedMart({ rows: 200, warehouse: true, pipeline: { parallelism: 4 } })
  await aRunner(mart.main, { env: { ...mart.env, RUNNER_CONCURRENCY: '1' } })
  expect(await run(mart.main, mart.pipeline.id)).toMatchObject({ status: 'SUCCESS', parts_done: 4 })
  // The holder of the run leaves two: one it examined the source with, one that kept the snapshot.
  const idle = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND usename = 'vitrina_reader'
    AND application_name = 'vitrina-idle' AND state = 'idle'`
  await waitFor(async () => (await mart.main.query(idle)).length > 2, {
    what: 'a connection of a part to be kept',
  })
})

it('changes that are committed during the first run with capture wal arrive with the next one', async () => {
  const server = await aLogicalServer()
  const main = await aDatabase()
  const source = await aDatabase({ migrated: false, server })
  await source.query(`
    CREATE SCHEMA content;
    CREATE TABLE content.film (id int PRIMARY KEY, title text);
    INSERT INTO content.film SELECT n, 'film ' || n FROM generate_series(1, 400) n`)
  await prepareSource(main, source, { connection: 'src', tables: ['content.film'] })
  await main.query('CREATE TABLE analytics.film (id int PRIMARY KEY, title text)')
  const runner = await aRunner(main, {
    env: {
      VITRINA_CONNECTION_SRC_URL: source.url,
      ALLOWED_SOURCE_SCHEMAS: 'content',
      RUNNER_CONCURRENCY: '2',
    },
  })
  const { id } = await aPipeline(main, {
    ...{
      sourceQuery: 'SELECT id, title FROM content.film',
      targetTable: 'analytics.film',
      keyColumns: ['id'],
    },
    ...{ sourceConnection: 'src', mode: 'incremental', capture: 'wal', parallelism: 4 },
  })
  const locked = await lockTable(main, 'analytics.film')
  const runId = await requestRun(main, id)
  await locked.waitedFor()
  await source.query(`
    UPDATE content.film SET title = 'changed' WHERE id IN (1, 399);
    DELETE FROM content.film WHERE id IN (2, 398);
    INSERT INTO content.film VALUES (0, 'new'), (1000, 'new')`)
  await locked.release()
  expect(await runEnded(main, runId)).toMatchObject({ status: 'SUCCESS', parts_done: 4, rows_inserted: 400 })
  expect(await run(main, id)).toMatchObject({ status: 'SUCCESS', parts_total: 0, error: null })
  expect(await signature(main, 'SELECT id, title FROM analytics.film')).toBe(
    await signature(source, 'SELECT id, title FROM content.film'),
  )
  await runner.stop()
  await source.drop()
  await server.stop()
})

async function lockTable(database: TestDatabase, table: string) {
  const holder = await database.client()
  await holder.query(`BEGIN; LOCK TABLE ${table} IN EXCLUSIVE MODE`)
  const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
    AND starts_with(application_name, 'vitrina-run ')`
  return {
    waitedFor: () =>
      waitFor(async () => (await database.query(waiting)).length > 0, {
        what: 'a part to wait for the mart',
      }),
    release: () => holder.query('COMMIT'),
  }
}

it('a run is cancelled after the parts in progress, and one that a user sets to FAILED commits none of them', async () => {
  for (const isAborted of [false, true]) {
    const mart = await aCountedMart({ rows: 200, stale: 200, pipeline: { parallelism: 4 } })
    const runner = await aRunner(mart.main, { env: { RUNNER_CONCURRENCY: '1' } })
    const held = await holdRow(mart, 60)
    const runId = await requestRun(mart.main, mart.pipeline.id)
    await held.waitForBatch()
    if (isAborted) {
      await mart.main.query("UPDATE etl.etl_pipelines SET status = 'FAILED' WHERE id = $1", [
        mart.pipeline.id,
      ])
      await runEnded(mart.main, runId)
    } else await mart.main.query('UPDATE etl.etl_runs SET cancel_requested = true WHERE id = $1', [runId])
    await held.release()
    const ended = await runEnded(mart.main, runId)
    const parts = isAborted ? 1 : 2
    expect(ended).toMatchObject({ status: isAborted ? 'FAILED' : 'CANCELLED', parts_done: parts })
    await runner.stop()
    expect(await writesOf(mart)).toEqual({ writes: parts * 50, keys: parts * 50 })
    const [pipeline] = await mart.main.query('SELECT status FROM etl.etl_pipelines')
    expect(pipeline).toEqual({ status: isAborted ? 'FAILED' : 'IDLE' })
  }
})
