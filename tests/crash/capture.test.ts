import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CAPTURE_FAILPOINTS } from '../../src/model/failpoints.js'
import { patchedBy, ROWS_PREFIX, ROWS_ROUTE } from '../stress/patches.js'
import { aPipeline } from '../support/builders.js'
import { aLogicalServer, type LogicalServer, prepareSource } from '../support/capture.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { isStopped } from '../support/proc.js'
import { type SpawnedVitrina, spawnVitrina } from '../support/processes.js'
import { aRunner } from '../support/runner.js'
import { requestRun, run, runEnded, type StoredRun } from '../support/runs.js'
import { sampleOf } from '../support/sample.js'
import { rowTexts } from '../support/stand.js'
import { waitFor } from '../support/wait.js'

const TABLES = `
  CREATE SCHEMA content;
  CREATE TABLE content.film (id int PRIMARY KEY, title text);
  CREATE TABLE content.rating (id int PRIMARY KEY, film_id int NOT NULL, score int) ;
  ALTER TABLE content.rating REPLICA IDENTITY FULL;
  INSERT INTO content.film SELECT n, 'film ' || n FROM generate_series(1, 60) n;
  INSERT INTO content.rating SELECT n, n % 60 + 1, n % 5 FROM generate_series(1, 300) n`
const QUERY = `SELECT f.id, f.title, count(r.id)::int AS ratings, sum(r.score)::int AS score
  FROM content.film f JOIN content.rating r ON r.film_id = f.id GROUP BY f.id`

/** What the run that is struck has to do. */
const WORK = {
  'some scopes':
    'UPDATE content.rating SET film_id = film_id % 60 + 1 WHERE id <= 20; DELETE FROM content.film WHERE id = 7',
  'every row': 'ALTER TABLE content.film ADD COLUMN extra int; DELETE FROM content.rating WHERE film_id = 9',
} as const
/** What happens in the source while the runner is dead or frozen. */
const MEANWHILE = `DELETE FROM content.rating WHERE film_id IN (11, 12); UPDATE content.rating SET film_id = 3 WHERE id BETWEEN 100 AND 110;
  INSERT INTO content.film VALUES (61, 'new'); INSERT INTO content.rating VALUES (301, 61, 5)`

type Route = 'relay' | 'rows'

interface Case {
  readonly how: 'kill' | 'freeze'
  readonly route: Route
  readonly work: keyof typeof WORK
  /** `batch.merged@1` */
  readonly point: string
  readonly title: string
}

/** Those that a run of this kind passes, in both parts of a runner. */
const POINTS = [
  ...['run.claimed@1', 'run.prepared@1', 'fence.taken@1', 'batch.begun@1', 'checkpoint.moved@1'],
  ...['lease.renewed@1', 'batch.committed@1', 'run.finishing@1', 'capture.decoded@1', 'capture.logged@1'],
] as const

/** By rows every batch of a pass over all rows, and the removal of absent rows before it. */
const MORE_BATCHES = ['batch.begun@2', 'checkpoint.moved@2', 'batch.committed@2'] as const

const ALL: readonly Case[] = (['kill', 'freeze'] as const).flatMap((how) =>
  (['relay', 'rows'] as const).flatMap((route) =>
    (Object.keys(WORK) as (keyof typeof WORK)[]).flatMap((work) =>
      [...POINTS, ...(route === 'rows' ? MORE_BATCHES : [])].map((point) => ({
        ...{ how, route, work, point },
        title: `${how} at ${point}: ${work}, ${route}`,
      })),
    ),
  ),
)

const CASES = sampleOf(ALL, {
  key: ({ title }) => title,
  labels: ({ how, route, work, point }) => [`${how} ${point.split('@')[0]}`, `${how} ${work} ${route}`],
})

const AT_ONCE = 4
let server: LogicalServer
const outcomes = new Map<Case, Outcome | Error>()

interface Outcome {
  readonly struck: StoredRun
  readonly next: StoredRun
  readonly mart: readonly string[]
  readonly source: readonly string[]
}

beforeAll(async () => {
  server = await aLogicalServer({ max_connections: '300' })
  const waiting = [...CASES]
  const work = async () => {
    for (let one = waiting.shift(); one !== undefined; one = waiting.shift())
      outcomes.set(one, await strike(one).catch((error: Error) => error))
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
}, 900_000)

afterAll(() => server?.stop())

async function strike(one: Case): Promise<Outcome> {
  const main = await aDatabase()
  const source = await aDatabase({ migrated: false, server })
  await source.query(TABLES)
  await prepareSource(main, source, { connection: 'src', tables: ['content.film', 'content.rating'] })
  const env = { VITRINA_CONNECTION_SRC_URL: source.url, ALLOWED_SOURCE_SCHEMAS: 'content' }
  const { id } = await aPipeline(main, {
    ...{ sourceConnection: 'src', sourceQuery: QUERY, targetTable: 'analytics.mart', keyColumns: ['id'] },
    ...{ mode: 'incremental', capture: 'wal', deleteBrake: 1, batchSize: 25 },
    ...(one.route === 'rows' ? { name: `${ROWS_PREFIX}mart` } : {}),
  })
  await withRunner(main, { env, one }, () => run(main, id))
  await source.query(WORK[one.work])
  const { runId, victim } = await runInto(main, id, { env, one })
  try {
    await source.query(MEANWHILE)
    const [struck, next] = await withRunner(main, { env, one }, async () => {
      const struck = await runEnded(main, runId)
      if (one.how === 'freeze') victim.kill('SIGCONT')
      return [struck, await run(main, id)] as const
    })
    await ended(victim, one)
    const mart = await rowTexts(main, 'SELECT * FROM analytics.mart')
    const expected = await rowTexts(source, QUERY)
    await main.drop()
    await dropSource(source)
    return { struck, next, mart, source: expected }
  } finally {
    // A frozen process could not be ended.
    victim.kill('SIGCONT')
  }
}

interface Parts {
  readonly env: Record<string, string>
  readonly one: Case
}

async function withRunner<T>(main: TestDatabase, { env, one }: Parts, work: () => Promise<T>): Promise<T> {
  const runner = await aRunner(main, { way: one.route, env: { ...env, RUNNER_LEASE_SECONDS: '20' } })
  try {
    return await work()
  } finally {
    await runner.stop()
  }
}

async function runInto(
  main: TestDatabase,
  pipelineId: string,
  { env, one }: Parts,
): Promise<{ runId: string; victim: SpawnedVitrina }> {
  const runId = await requestRun(main, pipelineId)
  const victim = spawnVitrina(['runner'], {
    DATABASE_URL: main.url,
    ...env,
    ...patchedBy([ROWS_ROUTE]),
    VITRINA_FAILPOINT: `${one.point}=${one.how}`,
    RUNNER_LEASE_SECONDS: '1',
    RUNNER_POLL_INTERVAL_MS: '100',
  })
  let isDead = false
  void victim.exited.then(() => {
    isDead = true
  })
  await waitFor(async () => isDead || isStopped(victim.pid), {
    what: `the runner to reach ${one.point}`,
  }).catch((error: Error) => {
    throw new Error(`${error.message}\n${victim.stderr}`)
  })
  return { runId, victim }
}

/** A runner that wakes up finds that others have its work, and stops when it is asked to. */
async function ended(victim: SpawnedVitrina, { how }: Case): Promise<void> {
  if (how === 'freeze') victim.kill('SIGTERM')
  const code = await victim.exited
  if (code !== (how === 'kill' ? 137 : 0)) throw new Error(`the runner ended with ${code}:\n${victim.stderr}`)
}

/** A slot keeps its database. */
async function dropSource(source: TestDatabase): Promise<void> {
  await waitFor(
    async () => {
      await source.query(
        'SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE database = current_database()',
      )
      return true
    },
    { what: 'the slot to be free' },
  )
  await source.drop()
}

describe('R3.2 R3.7 a mart that follows its source loses and doubles nothing when a runner is killed or frozen:', () => {
  it.each(CASES.map((one) => [one.title, one] as const))('%s', (_, one) => {
    const outcome = outcomes.get(one)!
    if (outcome instanceof Error) throw outcome
    expect(outcome.struck).toMatchObject({ status: 'SUCCESS', error: null })
    expect(outcome.next).toMatchObject({ status: 'SUCCESS', error: null })
    expect(outcome.mart).toEqual(outcome.source)
  })

  it('reaches every failpoint of the captor', () => {
    const reached = [...outcomes]
      .filter(([, outcome]) => !(outcome instanceof Error))
      .map(([one]) => one.point)
    for (const point of CAPTURE_FAILPOINTS) expect(reached).toContain(`${point}@1`)
  })
})
