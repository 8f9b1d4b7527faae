import { setTimeout as delay } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import { ORDER_FAILPOINTS } from '../../src/model/failpoints.js'
import { aPipeline } from '../support/builders.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { type SpawnedVitrina, spawnVitrina } from '../support/processes.js'
import { aRunner } from '../support/runner.js'
import { requestRun } from '../support/runs.js'
import { ALL_CASES, sampleOf } from '../support/sample.js'
import { waitFor } from '../support/wait.js'

const NAMES = ['a', 'b', 'c', 'd'] as const
const SOURCES = {
  a: ['content.numbers'],
  b: ['analytics.a'],
  c: ['analytics.a'],
  d: ['analytics.b', 'analytics.c'],
} as const
const ENV = {
  ALLOWED_SOURCE_SCHEMAS: 'content,analytics',
  RUNNER_LEASE_SECONDS: '1',
  RUNNER_POLL_INTERVAL_MS: '50',
}

interface Diamond {
  readonly database: TestDatabase
  readonly root: string
}

/** d reads b and c, which read a. Its rows are those that both of them have. */
async function aDiamond(): Promise<Diamond> {
  const database = await aDatabase()
  await database.query(`
    CREATE SCHEMA IF NOT EXISTS content; CREATE SCHEMA IF NOT EXISTS analytics;
    CREATE TABLE content.numbers (id int PRIMARY KEY, n int NOT NULL);
    INSERT INTO content.numbers SELECT i, 0 FROM generate_series(1, 50) i;
    GRANT USAGE ON SCHEMA content TO vitrina_writer; GRANT USAGE, CREATE ON SCHEMA analytics TO vitrina_writer;
    GRANT SELECT ON ALL TABLES IN SCHEMA content TO vitrina_writer`)
  let root = ''
  for (const name of NAMES) {
    const sources = SOURCES[name]
    const { id } = await aPipeline(database, {
      name,
      sourceQuery:
        name === 'd'
          ? 'SELECT b.id, b.n, c.n AS m FROM analytics.b JOIN analytics.c USING (id)'
          : `SELECT id, n FROM ${sources[0]}`,
      targetTable: `analytics.${name}`,
      keyColumns: ['id'],
      fullStrategy: name === 'c' ? 'upsert' : 'replace',
      batchSize: 20,
    })
    const parts = sources.map((source) => source.split('.'))
    await database.query('SELECT etl.note_reads($1, ARRAY[NULL], $2, $3, true)', [
      id,
      parts.map(([schema]) => schema),
      parts.map(([, table]) => table),
    ])
    if (name === 'a') root = id
  }
  return { database, root }
}

async function change({ database, root }: Diamond, n: number): Promise<void> {
  await database.query('UPDATE content.numbers SET n = $1', [n])
  await requestRun(database, root)
}

function spawned({ database }: Diamond, more: Record<string, string> = {}): SpawnedVitrina {
  return spawnVitrina(['runner'], { DATABASE_URL: database.url, ...ENV, ...more })
}

/** No run is queued or in progress, and nothing is due. */
function quiet({ database }: Diamond): Promise<unknown> {
  return waitFor(
    async () => {
      const [row] = await database.query<{ busy: number }>(
        "SELECT ((SELECT count(*) FROM etl.etl_due) + (SELECT count(*) FROM etl.etl_pipelines WHERE status <> 'IDLE'))::int AS busy",
      )
      return row!.busy === 0
    },
    { what: 'every follower to have run', timeoutMs: 90_000 },
  )
}

async function outcomeOf({ database }: Diamond) {
  const runs = await database.query<{ name: string; runs: number; failed: number }>(
    `SELECT p.name, count(*)::int AS runs, count(*) FILTER (WHERE r.status <> 'SUCCESS')::int AS failed
       FROM etl.etl_runs r JOIN etl.etl_pipelines p ON p.id = r.pipeline_id GROUP BY 1 ORDER BY 1`,
  )
  const values = await database.query('SELECT n, m, count(*)::int AS rows FROM analytics.d GROUP BY 1, 2')
  // A follower that began before its upstream of the same wave had ended.
  const early = await database.query(
    `SELECT FROM etl.pipeline_edges e JOIN etl.etl_runs u ON u.pipeline_id = e.upstream_id JOIN etl.etl_runs d ON d.pipeline_id = e.downstream_id
      WHERE d.started_at < u.finished_at AND u.started_at < d.finished_at`,
  )
  return { runs, values, early: early.length }
}

const oneRunEach = (waves: number) => NAMES.map((name) => ({ name, runs: waves, failed: 0 }))

const POINTS = [
  ...['run.claimed', 'run.finishing', 'run.finished'].flatMap((point) =>
    [1, 2, 3, 4].map((count) => `${point}@${count}`),
  ),
  ...['order.deciding', 'order.requested'].flatMap((point) =>
    [1, 2, 3, 5, 8].map((count) => `${point}@${count}`),
  ),
]
const CASES = sampleOf(POINTS, {
  key: (point) => `order ${point}`,
  labels: (point) => [point.split('@')[0]!],
})

describe('loses and doubles no run of a follower when the runner is killed at', () => {
  it.each(CASES)('%s', { timeout: 180_000 }, async (point) => {
    const diamond = await aDiamond()
    await change(diamond, 1)
    const victim = spawned(diamond, { VITRINA_FAILPOINT: `${point}=kill` })
    expect(await victim.exited).toBe(137)
    const healthy = await aRunner(diamond.database, { env: { ...ENV, RUNNER_LEASE_SECONDS: '20' } })
    await quiet(diamond)
    await healthy.stop()
    expect(await outcomeOf(diamond)).toEqual({
      runs: oneRunEach(1),
      values: [{ n: 1, m: 1, rows: 50 }],
      early: 0,
    })
  })

  it('every point of the decision', () => {
    expect(new Set(CASES.map((point) => point.split('@')[0]!))).toEqual(
      new Set(['run.claimed', 'run.finishing', ...ORDER_FAILPOINTS]),
    )
  })
})

describe('a diamond under writers, killed and frozen runners', () => {
  const WAVES = ALL_CASES ? 40 : 5
  let diamond: Diamond
  beforeAll(async () => {
    diamond = await aDiamond()
  })

  it(`runs each follower exactly once for each of ${WAVES} waves`, { timeout: 600_000 }, async () => {
    const runners = [spawned(diamond), spawned(diamond)]
    const frozen: SpawnedVitrina[] = []
    for (let wave = 1; wave <= WAVES; wave++) {
      await change(diamond, wave)
      // A random moment of the wave, not a time that anything depends on.
      await delay(Math.random() * 300)
      const victim = runners.shift()!
      if (wave % 3 === 0) {
        victim.kill('SIGSTOP')
        frozen.push(victim)
      } else {
        victim.kill('SIGKILL')
        await victim.exited
      }
      runners.push(spawned(diamond))
      await quiet(diamond)
      expect(await outcomeOf(diamond)).toEqual({
        runs: oneRunEach(wave),
        values: [{ n: wave, m: wave, rows: 50 }],
        early: 0,
      })
    }
    // What they still do counts for nothing.
    for (const runner of frozen) runner.kill('SIGCONT')
    for (const runner of [...runners, ...frozen]) runner.kill('SIGTERM')
    await Promise.all([...runners, ...frozen].map((runner) => runner.exited))
    expect((await outcomeOf(diamond)).runs).toEqual(oneRunEach(WAVES))
    await diamond.database.drop()
  })
})
