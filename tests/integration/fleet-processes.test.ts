import { describe, expect, it } from 'vitest'
import { anApi, type TestApi } from '../support/api.js'
import { aPipeline } from '../support/builders.js'
import { countWrites } from '../support/counted-mart.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { aFolder } from '../support/folders.js'
import { type SpawnedVitrina, spawnVitrina } from '../support/processes.js'
import { runEnded } from '../support/runs.js'
import { waitFor } from '../support/wait.js'

const PIPELINES = 24
const ROWS = 200

interface Holder {
  readonly id: string
  readonly pid: number
  readonly stopped_at: string | null
  readonly holds: readonly { readonly name: string; readonly run_id: string }[]
}

async function aFleetOfPipelines(): Promise<TestDatabase> {
  const database = await aDatabase()
  await database.query(`
    CREATE SCHEMA content;
    CREATE TABLE content.item (id integer PRIMARY KEY, name text NOT NULL);
    INSERT INTO content.item SELECT n, 'name ' || n FROM generate_series(1, ${ROWS}) AS n;
    GRANT USAGE ON SCHEMA content TO vitrina_reader;
    GRANT SELECT ON content.item TO vitrina_reader`)
  for (let n = 0; n < PIPELINES; n++) {
    const targetTable = `analytics.fleet_${n}`
    const sourceQuery = 'SELECT id, name FROM content.item'
    await aPipeline(database, { name: `p${n}`, sourceQuery, targetTable, keyColumns: ['id'], batchSize: 10 })
    await database.query(`CREATE TABLE ${targetTable} (id integer PRIMARY KEY, name text)`)
    await countWrites(database, targetTable)
  }
  return database
}

async function holdersOf(api: TestApi): Promise<Holder[]> {
  return (await api.get('/runners')).json<{ items: Holder[] }>().items
}

/** One that is working now, according to the API. */
function aBusyRunner(api: TestApi, runners: readonly SpawnedVitrina[]): Promise<SpawnedVitrina> {
  return waitFor(
    async () => {
      const busy = (await holdersOf(api)).filter(({ holds }) => holds.length > 0)
      const names = busy.flatMap(({ holds }) => holds.map(({ name }) => name))
      // Never two holders of one pipeline.
      expect(new Set(names).size).toBe(names.length)
      return runners.find(({ pid }) => busy.some((one) => one.pid === pid))
    },
    { what: 'a runner to hold something' },
  )
}

describe('R7.5 R3.2 runners as separate processes, with many pipelines', () => {
  it('execute each run once, also if one is killed and one is stopped meanwhile, and report what they hold', async () => {
    const database = await aFleetOfPipelines()
    const api = anApi(database.loginUrl('meta'))
    const env = {
      DATABASE_URL: database.url,
      RUNNER_POLL_INTERVAL_MS: '50',
      RUNNER_LEASE_SECONDS: '2',
      RUNNER_CONCURRENCY: '2',
    }
    const folder = await aFolder()
    const runners = [1, 2, 3, 4].map(() => spawnVitrina(['runner'], env, { cwd: folder }))
    await Promise.all(runners.map((runner) => runner.waitForOutput(/Runner started/)))
    await database.query("UPDATE etl.etl_pipelines SET status = 'RUN_REQUESTED'")
    const killed = await aBusyRunner(api, runners)
    killed.kill('SIGKILL')
    await killed.exited
    const left = runners.filter((runner) => runner !== killed)
    const stopped = await aBusyRunner(api, left)
    stopped.kill('SIGTERM')
    expect(await stopped.exited).toBe(0)

    const runs = await database.query<{ id: string }>('SELECT id FROM etl.etl_runs')
    expect(runs).toHaveLength(PIPELINES)
    for (const { id } of runs)
      expect(await runEnded(database, id)).toMatchObject({ status: 'SUCCESS', rows_inserted: ROWS })
    const [counted] = await database.query(
      'SELECT count(*)::int AS writes, count(DISTINCT (mart, key))::int AS rows FROM public.writes',
    )
    expect(counted).toEqual({ writes: PIPELINES * ROWS, rows: PIPELINES * ROWS })
    const fleet = await holdersOf(api)
    expect(fleet.flatMap(({ holds }) => holds)).toEqual([])
    expect(fleet.find(({ pid }) => pid === stopped.pid)?.stopped_at).not.toBeNull()
    expect(fleet.find(({ pid }) => pid === killed.pid)?.stopped_at).toBeNull()
  }, 120_000)
})
