import { expect, it } from 'vitest'
import { aPipeline } from '../support/builders.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { aRunner } from '../support/runner.js'
import { requestRun, runEnded } from '../support/runs.js'
import { waitFor } from '../support/wait.js'

async function aSource(): Promise<TestDatabase> {
  const database = await aDatabase()
  await database.query(`
    CREATE SCHEMA content;
    CREATE TABLE content.item (id integer PRIMARY KEY, name text NOT NULL);
    INSERT INTO content.item SELECT n, 'name ' || n FROM generate_series(1, 20) AS n;
    GRANT USAGE ON SCHEMA content TO vitrina_reader;
    GRANT SELECT ON content.item TO vitrina_reader`)
  return database
}

async function aPipelineWith(database: TestDatabase, n: number, tags: readonly string[]): Promise<string> {
  const { id } = await aPipeline(database, {
    sourceQuery: 'SELECT id, name FROM content.item',
    targetTable: `analytics.mart_${n}`,
    keyColumns: ['id'],
    tags,
  })
  return id
}

/** Runs wait for the source while `work` waits for them. */
async function whileSourceIsLocked(database: TestDatabase, work: () => Promise<void>): Promise<void> {
  await database.query('BEGIN')
  await database.query('LOCK TABLE content.item IN ACCESS EXCLUSIVE MODE')
  try {
    await work()
  } finally {
    await database.query('COMMIT')
  }
}

async function runningWith(database: TestDatabase, tag: string): Promise<number> {
  const [row] = await database.query<{ n: number }>(
    "SELECT count(*)::int AS n FROM etl.etl_pipelines WHERE status = 'RUNNING' AND $1 = ANY (tags)",
    [tag],
  )
  return row!.n
}

/** Runs with this tag that were in progress at the same time, from the history. */
async function mostAtOnce(database: TestDatabase, tag: string): Promise<number> {
  const [row] = await database.query<{ n: number }>(
    `SELECT max((SELECT count(*) FROM etl.etl_runs o JOIN etl.etl_pipelines q ON q.id = o.pipeline_id AND $1 = ANY (q.tags)
                  WHERE o.started_at <= r.started_at AND o.finished_at > r.started_at))::int AS n
       FROM etl.etl_runs r JOIN etl.etl_pipelines p ON p.id = r.pipeline_id AND $1 = ANY (p.tags)`,
    [tag],
  )
  return row!.n
}

it('a runner executes as many runs of a tag at once as it has slots for', async () => {
  const database = await aSource()
  const ids: string[] = []
  for (let n = 0; n < 8; n++) ids.push(await aPipelineWith(database, n, n < 4 ? ['heavy'] : ['light']))
  const env = { RUNNER_TAGS: 'heavy:1,*:2', RUNNER_POLL_INTERVAL_MS: '20' }
  const runs: string[] = []
  for (const id of ids) runs.push(await requestRun(database, id))
  await whileSourceIsLocked(database, async () => {
    await aRunner(database, { env })
    await waitFor(
      async () =>
        (await runningWith(database, 'heavy')) === 1 && (await runningWith(database, 'light')) === 2,
      { what: 'every slot to be in use' },
    )
  })
  for (const id of runs) expect(await runEnded(database, id)).toMatchObject({ status: 'SUCCESS' })
  expect([await mostAtOnce(database, 'heavy'), await mostAtOnce(database, 'light')]).toEqual([1, 2])
})

it('a limit of a connection holds over all runners', async () => {
  const database = await aSource()
  const ids: string[] = []
  for (let n = 0; n < 9; n++) ids.push(await aPipelineWith(database, n, ['any']))
  const runs: string[] = []
  for (const id of ids) runs.push(await requestRun(database, id))
  await whileSourceIsLocked(database, async () => {
    const env = { CONNECTION_LIMITS: 'main:2', RUNNER_POLL_INTERVAL_MS: '20' }
    await Promise.all([aRunner(database, { env }), aRunner(database, { env }), aRunner(database, { env })])
    await waitFor(async () => (await runningWith(database, 'any')) >= 2, {
      what: 'two runs to be in progress',
    })
  })
  for (const id of runs) expect(await runEnded(database, id)).toMatchObject({ status: 'SUCCESS' })
  expect(await mostAtOnce(database, 'any')).toBe(2)
})

it('a limit of a connection counts the parts of a run', async () => {
  const database = await aSource()
  // Every part waits when it writes.
  await database.query(`
    CREATE TABLE analytics.mart_1 (id integer PRIMARY KEY, name text);
    CREATE FUNCTION public.wait() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN PERFORM pg_advisory_xact_lock_shared(42); RETURN NULL; END $$;
    CREATE TRIGGER wait BEFORE INSERT ON analytics.mart_1 FOR EACH STATEMENT EXECUTE FUNCTION public.wait()`)
  const { id: parted } = await aPipeline(database, {
    sourceQuery: 'SELECT id, name FROM content.item',
    targetTable: 'analytics.mart_1',
    keyColumns: ['id'],
    parallelism: 8,
  })
  const other = await aPipelineWith(database, 2, [])
  const holder = await database.client()
  await holder.query('SELECT pg_advisory_lock(42)')
  const run = await requestRun(database, parted)
  const env = { CONNECTION_LIMITS: 'main:2', RUNNER_POLL_INTERVAL_MS: '20' }
  await Promise.all([aRunner(database, { env }), aRunner(database, { env }), aRunner(database, { env })])
  await waitFor(
    async () => (await database.query("SELECT FROM etl.etl_run_parts WHERE status = 'RUNNING'")).length >= 2,
    { what: 'two parts to be in progress' },
  )
  const next = await requestRun(database, other)
  expect(await database.query('SELECT etl.why_waiting($1) AS waiting', [other])).toEqual([
    { waiting: { code: 'CONNECTION_LIMIT', connection: 'main', runs: 2, limit: 2 } },
  ])
  await holder.query('SELECT pg_advisory_unlock(42)')
  expect(await runEnded(database, run)).toMatchObject({ status: 'SUCCESS', parts_done: 8 })
  expect(await runEnded(database, next)).toMatchObject({ status: 'SUCCESS' })
  const [most] = await database.query<{ parts: number }>(
    `SELECT max((SELECT count(*) FROM etl.etl_run_parts o WHERE o.started_at <= q.started_at AND o.finished_at > q.started_at))::int AS parts
       FROM etl.etl_run_parts q`,
  )
  expect(most).toEqual({ parts: 2 })
})

it('a run that no runner takes is marked and logged, and starts once a runner takes its tag', async () => {
  const database = await aSource()
  const run = await requestRun(database, await aPipelineWith(database, 1, ['heavy']))
  await database.query("UPDATE etl.etl_pipelines SET requested_at = requested_at - interval '1 minute'")
  await aRunner(database, { env: { RUNNER_TAGS: 'heavy:0,*:4' } })
  const [line] = await waitFor(
    async () => {
      const lines = await database.query('SELECT level, message FROM etl.etl_run_log WHERE run_id = $1', [
        run,
      ])
      return lines.length > 0 ? lines : null
    },
    { what: 'the line in the log of the run' },
  )
  expect(line).toEqual({ level: 'warn', message: 'Run cannot start: No runner accepts the tag heavy.' })
  await aRunner(database, { env: { RUNNER_TAGS: 'heavy:1' } })
  expect(await runEnded(database, run)).toMatchObject({ status: 'SUCCESS', stalled_since: null })
})

it('refuses a limit for a connection that does not exist', async () => {
  const database = await aDatabase()
  await expect(aRunner(database, { env: { CONNECTION_LIMITS: 'main:5,dhw:2' } })).rejects.toMatchObject({
    code: 'SETTING_INVALID',
    message: expect.stringContaining('names dhw, but the connections are main'),
  })
})
