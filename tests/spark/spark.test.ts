import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { aDatabase, type TestDatabase } from '../support/database.js'
import type { SpawnedVitrina } from '../support/processes.js'
import { requestRun, runEnded, type StoredRun } from '../support/runs.js'
import { driverStarted, SparkCluster, type SparkWorker, thaw } from '../support/spark.js'
import { waitFor } from '../support/wait.js'
import {
  aHeavyMart,
  aSource,
  aSparkRunner,
  contentOf,
  type HeavyMart,
  PARTS,
  type Part,
  partsOf,
  ROWS,
  type RunnerOptions,
  someTaskFiles,
  TIMEOUT_MS,
  whenDone,
  writesOf,
} from './support.js'

let cluster: SparkCluster
let workers: SparkWorker[]
let main: TestDatabase
let tasks: string
/** The mart as the runner alone writes it. */
let expected: string

beforeAll(async () => {
  cluster = await SparkCluster.start()
  main = await aDatabase()
  tasks = await someTaskFiles()
  await aSource(main, ROWS)
  const local = await aHeavyMart(main, main, { engine: 'local' })
  const runner = aSparkRunner(main, { cluster, tasks })
  const since = performance.now()
  const run = await finished(await requestRun(main, local.pipeline.id))
  report(`engine: local, ${ROWS} rows`, since)
  expect(run).toMatchObject({ status: 'SUCCESS', rows_inserted: ROWS, parts_total: PARTS })
  expected = await contentOf(main, local.table)
  await stop(runner)
}, TIMEOUT_MS)

/** Each test has workers of its own: it may kill or freeze them. */
beforeEach(async () => {
  workers = await Promise.all([cluster.addWorker(), cluster.addWorker()])
  for (const worker of workers) onTestFinished(() => worker.kill())
}, TIMEOUT_MS)

function report(what: string, since: number): void {
  process.stdout.write(`  ${what}: ${((performance.now() - since) / 1000).toFixed(1)} s\n`)
}

/** Seconds until Spark claimed the first part. */
async function startOf(runId: string): Promise<string> {
  const [row] = await main.query<{ seconds: string }>(
    `SELECT round(extract(epoch FROM min(q.started_at) - r.started_at), 1)::text AS seconds
       FROM etl.etl_runs r JOIN etl.etl_run_parts q ON q.run_id = r.id WHERE r.id = $1 GROUP BY r.started_at`,
    [runId],
  )
  return row!.seconds
}

function finished(runId: string): Promise<StoredRun> {
  return runEnded(main, runId, TIMEOUT_MS)
}

async function stop(runner: SpawnedVitrina): Promise<void> {
  runner.kill('SIGTERM')
  expect(await runner.exited).toBe(0)
}

function aRunner(options: Partial<RunnerOptions> = {}): SpawnedVitrina {
  return aSparkRunner(main, { cluster, tasks, ...options })
}

/** The same mart as without Spark, every row written once, and one checkpoint. */
async function expectExact(mart: HeavyMart, runId: string): Promise<void> {
  const run = await finished(runId)
  expect(run).toMatchObject({ status: 'SUCCESS', error: null, parts_total: PARTS, parts_done: PARTS })
  expect(run).toMatchObject({ rows_read: ROWS, rows_inserted: ROWS, rows_duplicate: 0 })
  expect(await writesOf(mart)).toBe(ROWS)
  expect(await contentOf(mart.target, mart.table)).toBe(expected)
  const parts = await partsOf(main, runId)
  expect(parts.every(({ owner }) => owner?.startsWith('spark:'))).toBe(true)
  expect(parts.reduce((sum, { rows }) => sum + rows, 0)).toBe(ROWS)
  const checkpoints = await mart.target.query(
    "SELECT 1 FROM etl.etl_state WHERE pipeline_id = $1 AND ver > 0 AND NOT position ? 'pass'",
    [mart.pipeline.id],
  )
  expect(checkpoints).toHaveLength(1)
}

describe(`${ROWS} rows with a heavy function`, () => {
  it('the mart is the same as with engine: local', { timeout: TIMEOUT_MS }, async () => {
    const mart = await aHeavyMart(main, main)
    const runner = aRunner()
    const since = performance.now()
    const runId = await requestRun(main, mart.pipeline.id)
    await finished(runId)
    report(
      `engine: spark, ${ROWS} rows, 2 executors, ${await startOf(runId)} s of it until the first part`,
      since,
    )
    await expectExact(mart, runId)
    await stop(runner)
  })

  it('a worker is killed', { timeout: TIMEOUT_MS }, async () => {
    const mart = await aHeavyMart(main, main)
    const runner = aRunner()
    const runId = await requestRun(main, mart.pipeline.id)
    const done = await whenDone(main, runId, 3)
    await workers[0]!.kill()
    await expectExact(mart, runId)
    expect(await partsOf(main, runId)).toEqual(expect.arrayContaining(done))
    await stop(runner)
  })

  it('a worker is frozen, and resumed when the run has ended', { timeout: TIMEOUT_MS }, async () => {
    const mart = await aHeavyMart(main, main)
    const runner = aRunner()
    const runId = await requestRun(main, mart.pipeline.id)
    const done = await whenDone(main, runId, 3)
    const { frozen } = await freezeInPart(workers[0]!, runId)
    try {
      await expectExact(mart, runId)
    } finally {
      thaw(frozen)
    }
    expect(await partsOf(main, runId)).toEqual(expect.arrayContaining(done))
    // Woken, its processes find that their part is not theirs any more, and end with their driver.
    await waitFor(async () => workers[0]!.processes().length === 1, {
      what: 'the executor to end',
      timeoutMs: TIMEOUT_MS,
    })
    await expectExact(mart, runId)
    await stop(runner)
  })

  it('a worker is frozen, and resumed while others continue', { timeout: TIMEOUT_MS }, async () => {
    const mart = await aHeavyMart(main, main)
    const runner = aRunner()
    const runId = await requestRun(main, mart.pipeline.id)
    await whenDone(main, runId, 2)
    const { frozen, part, attempts } = await freezeInPart(workers[0]!, runId)
    await waitFor(async () => (await partsOf(main, runId))[part - 1]!.attempts > attempts, {
      what: 'the part of the frozen worker to be claimed again',
      timeoutMs: TIMEOUT_MS,
    }).finally(() => thaw(frozen))
    await expectExact(mart, runId)
    await stop(runner)
  })

  it('every process ends right after the commit of its part', { timeout: TIMEOUT_MS }, async () => {
    const mart = await aHeavyMart(main, main)
    const conf = { 'spark.executorEnv.VITRINA_FAILPOINT': 'part.committed@1=kill' }
    const runner = aRunner({ conf })
    const runId = await requestRun(main, mart.pipeline.id)
    await expectExact(mart, runId)
    // Spark starts each task again; none is executed again.
    expect((await partsOf(main, runId)).map(({ attempts }) => attempts)).toEqual(Array(PARTS).fill(1))
    await stop(runner)
  })

  it('the driver is killed, and the runner submits again', { timeout: TIMEOUT_MS }, async () => {
    const mart = await aHeavyMart(main, main)
    const runner = aRunner()
    const runId = await requestRun(main, mart.pipeline.id)
    const done = await whenDone(main, runId, 4)
    for (const { pid } of await driverStarted(runner)) process.kill(pid, 'SIGKILL')
    await expectExact(mart, runId)
    expect(await partsOf(main, runId)).toEqual(expect.arrayContaining(done))
    expect(runner.stdout + runner.stderr).toContain('before every part was committed')
    await stop(runner)
  })

  it('the runner is killed, and another one takes the run over', { timeout: TIMEOUT_MS }, async () => {
    const mart = await aHeavyMart(main, main)
    const first = aRunner()
    const runId = await requestRun(main, mart.pipeline.id)
    const done = await whenDone(main, runId, 4)
    const driver = await driverStarted(first)
    first.kill('SIGKILL')
    const second = aRunner()
    await expectExact(mart, runId)
    expect(await partsOf(main, runId)).toEqual(expect.arrayContaining(done))
    // The driver of the first one has noticed that its run is lost.
    await waitFor(async () => driver.every(({ pid }) => !isRunning(pid)), { what: 'the lost driver to end' })
    await stop(second)
  })
})

/** Freezes a worker while one of its processes works on a part. Frozen, it does not finish it meanwhile. */
function freezeInPart(worker: SparkWorker, runId: string): Promise<Part & { frozen: number[] }> {
  return waitFor(
    async () => {
      const frozen = worker.freeze()
      const held = (await partsOf(main, runId)).find(
        ({ status, owner }) => status === 'RUNNING' && frozen.includes(Number(owner?.split(':')[2])),
      )
      if (held === undefined) thaw(frozen)
      return held === undefined ? null : { ...held, frozen }
    },
    { what: 'the worker to work on a part', timeoutMs: TIMEOUT_MS },
  )
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
