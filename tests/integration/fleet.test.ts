import { describe, expect, it } from 'vitest'
import { aPipeline } from '../support/builders.js'
import { countWrites } from '../support/counted-mart.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { aRunner } from '../support/runner.js'
import { requestRun, run, runEnded } from '../support/runs.js'
import { someOf } from '../support/sample.js'
import { waitFor } from '../support/wait.js'

async function aSourceOf(rows: number): Promise<TestDatabase> {
  const database = await aDatabase()
  await database.query(`
    CREATE SCHEMA content;
    CREATE TABLE content.item (id integer PRIMARY KEY, name text NOT NULL);
    INSERT INTO content.item SELECT n, 'name ' || n FROM generate_series(1, ${rows}) AS n;
    GRANT USAGE ON SCHEMA content TO vitrina_reader;
    GRANT SELECT ON content.item TO vitrina_reader`)
  return database
}

async function pipelinesOver(
  database: TestDatabase,
  count: number,
  targetConnection: string | null = null,
): Promise<string[]> {
  const ids: string[] = []
  for (let n = 0; n < count; n++) {
    const { id } = await aPipeline(database, {
      sourceQuery: 'SELECT id, name FROM content.item',
      targetTable: `analytics.mart_${n}`,
      targetConnection,
      keyColumns: ['id'],
      batchSize: 20,
    })
    ids.push(id)
  }
  return ids
}

describe('R3.2 R7.5 runners that compete for fifty pipelines', () => {
  it.each(someOf([2, 8], 1, (runners) => `fleet of ${runners}`))(
    '(%i of them) execute every run exactly once',
    async (runners) => {
      const database = await aSourceOf(50)
      await pipelinesOver(database, 50)
      for (let n = 0; n < 50; n++) {
        await database.query(`CREATE TABLE analytics.mart_${n} (id integer PRIMARY KEY, name text)`)
        await countWrites(database, `analytics.mart_${n}`)
      }
      const env = { RUNNER_POLL_INTERVAL_MS: '20' }
      await Promise.all(Array.from({ length: runners }, () => aRunner(database, { env })))
      await database.query("UPDATE etl.etl_pipelines SET status = 'RUN_REQUESTED'")
      const runIds = (
        await database.query<{ id: string }>('SELECT current_run_id AS id FROM etl.etl_pipelines')
      ).map((row) => row.id)
      for (const id of runIds)
        expect(await runEnded(database, id)).toMatchObject({
          status: 'SUCCESS',
          attempt: 1,
          rows_inserted: 50,
        })
      const [counted] = await database.query(
        'SELECT count(*)::int AS writes, count(DISTINCT (mart, key))::int AS rows FROM public.writes',
      )
      expect(counted).toEqual({ writes: 2500, rows: 2500 })
      const [used] = await database.query<{ runners: number }>(
        'SELECT count(DISTINCT runner_id)::int AS runners FROM etl.etl_runs',
      )
      expect(used!.runners).toBeGreaterThan(1)
    },
  )

  it('begin at once in a database that none of them has written to before', async () => {
    const [database, warehouse] = [await aSourceOf(10), await aDatabase({ migrated: false })]
    await warehouse.query('CREATE SCHEMA analytics')
    const ids = await pipelinesOver(database, 12, 'warehouse')
    const env = { VITRINA_CONNECTION_WAREHOUSE_URL: warehouse.url }
    await Promise.all([aRunner(database, { env }), aRunner(database, { env }), aRunner(database, { env })])
    const runIds = await Promise.all(ids.map((id) => requestRun(database, id)))
    for (const id of runIds)
      expect(await runEnded(database, id)).toMatchObject({ status: 'SUCCESS', attempt: 1 })
  })
})

describe('R3.1 a request', () => {
  const wakeups = "application_name = 'vitrina-wakeups' AND datname = current_database()"

  it('is claimed at once, long before the next poll', async () => {
    const database = await aSourceOf(10)
    const [id] = await pipelinesOver(database, 1)
    await aRunner(database, { env: { RUNNER_POLL_INTERVAL_MS: '600000' } })
    await waitFor(
      async () =>
        (await database.query(`SELECT FROM pg_stat_activity WHERE ${wakeups} AND query LIKE 'LISTEN%'`))
          .length > 0,
      { what: 'the runner to listen' },
    )
    for (let n = 0; n < 3; n++) expect(await run(database, id!)).toMatchObject({ status: 'SUCCESS' })
  })

  it('beyond the capacity of the runner waits only until one of its slots is free', async () => {
    const database = await aSourceOf(10)
    const ids = await pipelinesOver(database, 5)
    await aRunner(database, { env: { RUNNER_POLL_INTERVAL_MS: '600000', RUNNER_CONCURRENCY: '1' } })
    const runIds = await Promise.all(ids.map((id) => requestRun(database, id)))
    for (const id of runIds) expect(await runEnded(database, id)).toMatchObject({ status: 'SUCCESS' })
  })

  it('is claimed by polling when notifications do not arrive', async () => {
    const database = await aSourceOf(10)
    const [id] = await pipelinesOver(database, 1)
    await aRunner(database, { env: { RUNNER_POLL_INTERVAL_MS: '50' } })
    for (let n = 0; n < 3; n++) {
      await waitFor(
        async () => {
          await database.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${wakeups}`)
          return (await database.query(`SELECT FROM pg_stat_activity WHERE ${wakeups}`)).length === 0
        },
        { what: 'the listening session to be gone' },
      )
      expect(await run(database, id!)).toMatchObject({ status: 'SUCCESS' })
    }
  })
})

describe('R4.1 a pipeline whose history or row is blocked', () => {
  it('does not block the runner for others if its run was deleted', async () => {
    const database = await aSourceOf(10)
    const [first, second] = await pipelinesOver(database, 2)
    await requestRun(database, first!)
    await database.query('DELETE FROM etl.etl_runs')
    const runId = await requestRun(database, second!)
    await aRunner(database)
    expect(await runEnded(database, runId)).toMatchObject({ status: 'SUCCESS' })
    const idle = "SELECT FROM etl.etl_pipelines WHERE id = $1 AND status = 'IDLE'"
    await waitFor(async () => (await database.query(idle, [first])).length === 1, {
      what: 'the first one to end',
    })
  })

  it('does not block the runner for others if another session holds its row', async () => {
    const database = await aSourceOf(10)
    const [held, other] = await pipelinesOver(database, 2)
    await database.query("UPDATE etl.etl_pipelines SET schedule_interval = '1h' WHERE id = $1", [held])
    const holder = await database.client()
    await holder.query('BEGIN')
    await holder.query('SELECT FROM etl.etl_pipelines WHERE id = $1 FOR UPDATE', [held])
    const runId = await requestRun(database, other!)
    await aRunner(database)
    expect(await runEnded(database, runId, 5_000)).toMatchObject({ status: 'SUCCESS' })
    await holder.query('COMMIT')
  })
})
