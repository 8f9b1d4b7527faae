import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Patch } from '../stress/patches.js'
import { aPipeline } from '../support/builders.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { freePorts } from '../support/ports.js'
import { livingProcesses } from '../support/proc.js'
import { ROOT, type SpawnedVitrina } from '../support/processes.js'
import { requestRun, runEnded, type StoredRun } from '../support/runs.js'
import { aSparkFolder, driverOf, driverStarted, SparkCluster } from '../support/spark.js'
import { PASS_ON, TYPES } from '../support/value-types.js'
import {
  aHeavyMart,
  aSource,
  aSparkRunner,
  contentOf,
  doneParts,
  type HeavyMart,
  partsOf,
  type RunnerOptions,
  someTaskFiles,
  TIMEOUT_MS,
  whenDone,
  writesOf,
} from './support.js'

const ROWS = 20_000
const FUNCTIONS = `
from vitrina import task

@task("fails_at_one")
def fails_at_one(rows):
    return [{**row, "title": row["title"][:row["id"] - 15000 and 100] or 1 / 0} for row in rows]

@task("title_of_one")
def title_of_one(rows):
    return [{**row, "title": None if row["id"] == 15000 else row["title"]} for row in rows]
`

let main: TestDatabase
let warehouse: TestDatabase
let tasks: string

beforeAll(async () => {
  main = await aDatabase()
  warehouse = await aDatabase({ migrated: false })
  tasks = await someTaskFiles({ 'pass_on.py': PASS_ON, 'functions.py': FUNCTIONS })
  await aSource(main, ROWS)
}, TIMEOUT_MS)

function aRunner(options: Partial<RunnerOptions> = {}): SpawnedVitrina {
  const env = { VITRINA_CONNECTION_WAREHOUSE_URL: warehouse.url, ...options.env }
  return aSparkRunner(main, { cluster: null, tasks, ...options, env })
}

async function stop(runner: SpawnedVitrina): Promise<void> {
  runner.kill('SIGTERM')
  expect(await runner.exited).toBe(0)
}

async function run(pipelineId: string): Promise<StoredRun> {
  return runEnded(main, await requestRun(main, pipelineId), TIMEOUT_MS)
}

const slow = [
  { taskType: 'SQL', body: 'SELECT id, user_id, title, minutes, watched FROM content.view' },
  { taskType: 'PYTHON', body: 'slow' },
  { taskType: 'PYTHON', body: 'heavy' },
] as const

/** The same mart as by the runner alone. */
async function expectSame({ target, table }: HeavyMart): Promise<void> {
  const local = await aHeavyMart(main, target, { engine: 'local' })
  expect(await run(local.pipeline.id)).toMatchObject({ status: 'SUCCESS' })
  expect(await contentOf(target, table)).toBe(await contentOf(target, local.table))
}

it('values of every type arrive as they left', { timeout: TIMEOUT_MS }, async () => {
  const all = TYPES.map(({ type, values, asIs = [] }) => ({ type, values: [...values, ...asIs] }))
  const rows = 1 + Math.max(...all.map(({ values }) => values.length))
  await main.query(`CREATE TYPE content.mood AS ENUM ('sad', 'so, "so"', 'happy')`)
  const columns = all.map(({ type }, n) => `c${n} ${type}`).join(', ')
  await main.query(`CREATE TABLE content.everything (id integer PRIMARY KEY, ${columns})`)
  for (let row = 0; row < rows; row += 1) {
    const cells = all.map(({ type, values }) => `(${values[row] ?? 'NULL'})::${type}`)
    await main.query(`INSERT INTO content.everything VALUES (${row}, ${cells.join(', ')})`)
  }
  await main.query(
    'GRANT SELECT ON content.everything TO vitrina_reader; GRANT USAGE ON TYPE content.mood TO PUBLIC; ANALYZE content.everything',
  )
  const runner = aRunner()
  const body = 'SELECT * FROM content.everything'
  // Reversed copies: each row is encoded again, and none of its values may change.
  for (const functions of [[], ['py_copies']]) {
    const { id, spec } = await aPipeline(main, {
      ...{ sourceQuery: body, keyColumns: ['id'], parallelism: 3, engine: 'spark' },
      engineOptions: { profile: 'cluster' },
      ...(functions.length === 0
        ? {}
        : {
            type: 'PYTHON',
            tasks: [
              { taskType: 'SQL', body },
              ...functions.map((name) => ({ taskType: 'PYTHON', body: name }) as const),
            ],
          }),
    })
    expect(await run(id)).toMatchObject({ status: 'SUCCESS', rows_inserted: rows, parts_total: 3 })
    expect(await contentOf(main, spec.targetTable)).toBe(await contentOf(main, 'content.everything'))
  }
  await stop(runner)
})

it('replaces a mart in parts', { timeout: TIMEOUT_MS }, async () => {
  const mart = await aHeavyMart(main, main, { parallelism: 4, fullStrategy: 'replace', deleteBrake: 1 })
  await main.query(`INSERT INTO ${mart.table} (id, title) VALUES (-1, 'gone')`)
  const runner = aRunner()
  expect(await run(mart.pipeline.id)).toMatchObject({
    ...{ status: 'SUCCESS', parts_total: 4, parts_done: 4 },
    ...{ rows_read: ROWS, rows_inserted: ROWS, rows_deleted: 1 },
  })
  await expectSame(mart)
  const left = await main.query("SELECT FROM pg_tables WHERE tablename LIKE 'vitrina_gather%'")
  expect(left).toHaveLength(0)
  await stop(runner)
})

it('writes a mart in another database, and does not repeat a part that was committed there only', {
  timeout: TIMEOUT_MS,
}, async () => {
  const mart = await aHeavyMart(main, warehouse, { parallelism: 4 })
  const runner = aRunner({ conf: { 'spark.executorEnv.VITRINA_FAILPOINT': 'part.committed@1=kill' } })
  const runId = await requestRun(main, mart.pipeline.id)
  expect(await runEnded(main, runId, TIMEOUT_MS)).toMatchObject({
    ...{ status: 'SUCCESS', parts_done: 4, rows_inserted: ROWS },
  })
  expect(await writesOf(mart)).toBe(ROWS)
  await expectSame(mart)
  // The second claim of each part found it committed.
  expect((await partsOf(main, runId)).every(({ attempts }) => attempts === 2)).toBe(true)
  await stop(runner)
})

it('chooses the number of parts, and follows changes by itself', { timeout: TIMEOUT_MS }, async () => {
  const mart = await aHeavyMart(main, main, { parallelism: 1, mode: 'incremental', capture: 'xmin' })
  const runner = aRunner()
  expect(await run(mart.pipeline.id)).toMatchObject({
    status: 'SUCCESS',
    parts_total: 2,
    rows_inserted: ROWS,
  })
  await main.query("UPDATE content.view SET title = 'Another' WHERE id = 7")
  // Only the pass over all rows needs a cluster.
  expect(await run(mart.pipeline.id)).toMatchObject({ status: 'SUCCESS', parts_total: 0, rows_updated: 1 })
  await expectSame(mart)
  await stop(runner)
})

describe('a part that the runner executes itself', () => {
  it('has a row that the mart rejects', { timeout: TIMEOUT_MS }, async () => {
    const mart = await aHeavyMart(main, main, {
      parallelism: 4,
      tasks: [
        slow[0],
        { taskType: 'PYTHON', body: 'title_of_one' },
        { taskType: 'PYTHON', body: 'py_copies' },
      ],
    })
    await main.query(`ALTER TABLE ${mart.table} ALTER title SET NOT NULL`)
    const runner = aRunner()
    const runId = await requestRun(main, mart.pipeline.id)
    expect(await runEnded(main, runId, TIMEOUT_MS)).toMatchObject({
      ...{ status: 'SUCCESS', parts_done: 4, rows_inserted: ROWS - 1, rows_quarantined: 1 },
    })
    const owners = (await partsOf(main, runId)).map(({ owner }) => owner?.startsWith('spark:'))
    expect(owners.filter((isSpark) => !isSpark)).toHaveLength(1)
    await stop(runner)
  })

  it('has a function that fails', { timeout: TIMEOUT_MS }, async () => {
    const mart = await aHeavyMart(main, main, {
      parallelism: 4,
      tasks: [slow[0], { taskType: 'PYTHON', body: 'fails_at_one' }],
    })
    const runner = aRunner()
    const failed = await run(mart.pipeline.id)
    expect(failed).toMatchObject({ status: 'FAILED', error_code: 'VTR-3002' })
    expect(failed.error).toContain('ZeroDivisionError')
    await stop(runner)
  })
})

describe('the driver ends', () => {
  it('with a pause, and the next run continues with the parts that are left', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const mart = await aHeavyMart(main, main, { parallelism: 16, tasks: slow })
    const runner = aRunner()
    const runId = await requestRun(main, mart.pipeline.id)
    const done = await whenDone(main, runId, 3)
    await main.query("UPDATE etl.etl_pipelines SET status = 'PAUSE_REQUESTED' WHERE id = $1", [
      mart.pipeline.id,
    ])
    expect(await runEnded(main, runId, TIMEOUT_MS)).toMatchObject({ status: 'PAUSED' })
    expect(driverOf(runner)).toEqual([])
    const kept = await doneParts(main, runId)
    expect(kept.length).toBeGreaterThanOrEqual(done.length)
    const rest = await run(mart.pipeline.id)
    expect(rest).toMatchObject({ status: 'SUCCESS', parts_total: 16, parts_done: 16 })
    expect(await writesOf(mart)).toBe(ROWS)
    await expectSame(mart)
    await stop(runner)
  })

  it('with a cancellation', { timeout: TIMEOUT_MS }, async () => {
    const mart = await aHeavyMart(main, main, { parallelism: 16, tasks: slow })
    const runner = aRunner()
    const runId = await requestRun(main, mart.pipeline.id)
    await whenDone(main, runId, 1)
    await main.query('UPDATE etl.etl_runs SET cancel_requested = true WHERE id = $1', [runId])
    expect(await runEnded(main, runId, TIMEOUT_MS)).toMatchObject({ status: 'CANCELLED' })
    expect(driverOf(runner)).toEqual([])
    await stop(runner)
  })

  it('with its runner, which hands the run back', { timeout: TIMEOUT_MS }, async () => {
    const mart = await aHeavyMart(main, main, { parallelism: 16, tasks: slow })
    const first = aRunner()
    const runId = await requestRun(main, mart.pipeline.id)
    await whenDone(main, runId, 2)
    const driver = await driverStarted(first)
    await stop(first)
    expect(livingProcesses().filter(({ pid }) => driver.some((one) => one.pid === pid))).toEqual([])
    const second = aRunner()
    expect(await runEnded(main, runId, TIMEOUT_MS)).toMatchObject({ status: 'SUCCESS', parts_done: 16 })
    expect(await writesOf(mart)).toBe(ROWS)
    await stop(second)
  })
})

it('shows no secret in arguments, in the log, or in the pages of Spark', {
  timeout: TIMEOUT_MS,
}, async () => {
  const [port] = await freePorts(1)
  const cluster = await SparkCluster.start()
  await cluster.addWorker()
  const mart = await aHeavyMart(main, main, { parallelism: 16, tasks: slow })
  const conf = { 'spark.authenticate.secret': 'hush-hush-conf', 'spark.ui.port': String(port) }
  const runner = aRunner({ cluster, conf, env: { LOG_LEVEL: 'debug' } })
  const runId = await requestRun(main, mart.pipeline.id)
  await whenDone(main, runId, 1)
  const passwords = ['writer', 'reader'].map((login) => new URL(main.loginUrl(login as 'writer')).password)
  const secrets = [...passwords, new URL(main.url).password, 'hush-hush-conf'].filter(
    (secret) => secret !== '',
  )
  expect(secrets.length).toBeGreaterThan(2)
  const commands = livingProcesses()
    .filter(({ command }) => /spark|vitrina/i.test(command))
    .map(({ command }) => command)
  expect(commands.length).toBeGreaterThan(4)
  const ui = await pagesOf(port!)
  expect(ui.join('')).toContain('spark.app.name')
  await runEnded(main, runId, TIMEOUT_MS)
  const plans = await main.query('SELECT parts_plan::text FROM etl.etl_runs WHERE id = $1', [runId])
  const seen = [...commands, ...ui, runner.stdout, runner.stderr, cluster.log, JSON.stringify(plans)].join(
    '\n',
  )
  for (const secret of secrets) expect(seen.includes(secret)).toBe(false)
  await stop(runner)
})

/** The environment page of the driver, and what its API answers about it. */
async function pagesOf(port: number): Promise<string[]> {
  const base = `http://127.0.0.1:${port}`
  const [app] = (await (await fetch(`${base}/api/v1/applications`)).json()) as { id: string }[]
  const paths = ['/environment/', `/api/v1/applications/${app!.id}/environment`, '/executors/', '/jobs/']
  return Promise.all(paths.map(async (path) => (await fetch(base + path)).text()))
}

describe('without the line of a part in the transaction of its rows', () => {
  /** One process ends after the first commit; the task is started again by Spark. */
  const KILLED_ONCE = [
    'failpoint("part.committed")',
    'os.path.exists(ONCE) or (open(ONCE, "w").close(), os.kill(os.getpid(), 9))',
  ] as const
  const NO_LEDGER = [
    ['            self._record(self.target, counts, times)\n', '            pass\n'],
    [
      '        if not job.is_main:\n            self._report(counts, times)',
      '        self._report(counts, times)',
    ],
  ] as const

  /** A trigger changes every row of the mart on its way in, so that a row that is written again counts again. */
  async function writesWhenKilled(changes: readonly (readonly [string, string])[]): Promise<number> {
    const mart = await aHeavyMart(main, main, { parallelism: 4 })
    await main.query(`
      CREATE OR REPLACE FUNCTION public.stamp() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN NEW.watched := clock_timestamp(); RETURN NEW; END $$;
      CREATE TRIGGER stamp BEFORE INSERT OR UPDATE ON ${mart.table} FOR EACH ROW EXECUTE FUNCTION public.stamp()`)
    const runner = aRunner({ patches: [patchedPython([KILLED_ONCE, ...changes])] })
    expect(await run(mart.pipeline.id)).toMatchObject({ status: 'SUCCESS', parts_done: 4 })
    await stop(runner)
    return writesOf(mart)
  }

  it('rows are written twice', { timeout: TIMEOUT_MS }, async () => {
    expect(await writesWhenKilled(NO_LEDGER)).toBeGreaterThan(ROWS)
  })

  it('and with it, once', { timeout: TIMEOUT_MS }, async () => {
    expect(await writesWhenKilled([])).toBe(ROWS)
  })
})

/** A copy of the executor's code with other lines, and a runner that submits it. */
function patchedPython(changes: readonly (readonly [string, string])[]): Patch {
  const folder = aSparkFolder()
  cpSync(join(ROOT, 'python'), folder, { recursive: true })
  const file = join(folder, 'vitrina/_parts.py')
  let text = readFileSync(file, 'utf8').replace(
    '_LOOK_EVERY_S =',
    `ONCE = ${JSON.stringify(join(folder, 'killed'))}\n_LOOK_EVERY_S =`,
  )
  for (const [from, to] of changes) {
    if (text.split(from).length !== 2) throw new Error(`not exactly once in _parts.py: ${from}`)
    text = text.replace(from, () => to)
  }
  writeFileSync(file, text)
  const program = pathToFileURL(join(folder, 'vitrina_spark.py')).href
  return { file: 'spark/spark-engine.js', from: "'../../python/vitrina_spark.py'", to: `'${program}'` }
}
