import { describe, expect, it } from 'vitest'
import {
  aCountedMart,
  type CountedMart,
  holdRow,
  type LockedRow,
  runSessions,
  signatures,
  writesOf,
} from '../support/counted-mart.js'
import { spawnVitrina } from '../support/processes.js'
import { aRunner, type TestRunner } from '../support/runner.js'
import { requestRun, run, runById, runEnded } from '../support/runs.js'
import { waitFor } from '../support/wait.js'

/** Batches of 60 rows; the third contains row 150. */
const ROWS = 300
const AFTER_THIRD = 180

async function statusOf({ main, pipeline }: CountedMart): Promise<string> {
  const [row] = await main.query<{ status: string }>('SELECT status FROM etl.etl_pipelines WHERE id = $1', [
    pipeline.id,
  ])
  return row!.status
}

async function setStatus({ main, pipeline }: CountedMart, status: string): Promise<void> {
  await main.query('UPDATE etl.etl_pipelines SET status = $2 WHERE id = $1', [pipeline.id, status])
}

/** As stored in the target, and as shown in the main database. */
async function checkpointsOf({ main, target, pipeline }: CountedMart): Promise<(string | null)[]> {
  const text = 'SELECT last_processed_key AS key FROM etl.etl_state WHERE pipeline_id = $1'
  const rows = [
    ...(await target.query<{ key: string }>(text, [pipeline.id])),
    ...(await main.query<{ key: string }>(text, [pipeline.id])),
  ]
  return rows.map((row) => row.key)
}

interface MidRun {
  readonly mart: CountedMart
  readonly runner: TestRunner
  readonly runId: string
  readonly held: LockedRow
}

/** A run whose third batch is in progress and cannot end yet. */
async function midRun(warehouse: boolean): Promise<MidRun> {
  const mart = await aCountedMart({ rows: ROWS, warehouse, paged: true, stale: 150 })
  const held = await holdRow(mart, 150)
  const runner = await aRunner(mart.main, { env: mart.env })
  const runId = await requestRun(mart.main, mart.pipeline.id)
  await held.waitForBatch()
  return { mart, runner, runId, held }
}

async function expectComplete(mart: CountedMart): Promise<void> {
  const { source, mart: filled } = await signatures(mart)
  expect(filled).toBe(source)
  expect(await writesOf(mart)).toEqual({ writes: ROWS, keys: ROWS })
}

describe('a pipeline', () => {
  it('R3.1 runs when it is requested with plain SQL, and is IDLE again', async () => {
    const mart = await aCountedMart({ rows: ROWS })
    await aRunner(mart.main)
    const ended = await run(mart.main, mart.pipeline.id)
    expect(ended).toMatchObject({ status: 'SUCCESS', attempt: 1, rows_read: ROWS, rows_inserted: ROWS })
    expect(await statusOf(mart)).toBe('IDLE')
    await expectComplete(mart)
  })

  it('R3.4 does not run while it is disabled, and does when it is enabled', async () => {
    const mart = await aCountedMart({ rows: 10, pipeline: { enabled: false } })
    const runId = await requestRun(mart.main, mart.pipeline.id)
    const runner = await aRunner(mart.main)
    const ticks = 'SELECT heartbeat_at::text FROM etl.etl_runners WHERE id = $1'
    await waitFor(async () => (await mart.main.query(ticks, [runner.id])).length > 0, {
      what: 'a first tick',
    })
    const copy = await mart.main.query<{ id: string }>(
      `INSERT INTO etl.etl_pipelines (name, source_query, target_table, key_columns)
       VALUES ('other', 'SELECT id, name FROM content.item', 'analytics.other', '{id}') RETURNING id`,
    )
    expect(await run(mart.main, copy[0]!.id)).toMatchObject({ status: 'SUCCESS' })
    expect(await runById(mart.main, runId)).toMatchObject({ status: 'REQUESTED' })
    await mart.main.query('UPDATE etl.etl_pipelines SET enabled = true')
    expect(await runEnded(mart.main, runId)).toMatchObject({ status: 'SUCCESS' })
  })
})

describe.each([
  ['in one database', false],
  ['into another database', true],
])('a run %s', (_, warehouse) => {
  it('R3.3 pauses between batches and resumes at the exact row, also after a restart of the runner', async () => {
    const { mart, runner, runId, held } = await midRun(warehouse)
    await setStatus(mart, 'PAUSE_REQUESTED')
    await held.release()
    expect(await runEnded(mart.main, runId)).toMatchObject({ status: 'PAUSED', batches: 3 })
    expect(await statusOf(mart)).toBe('PAUSED')
    expect(await writesOf(mart)).toEqual({ writes: AFTER_THIRD, keys: AFTER_THIRD })
    expect(new Set(await checkpointsOf(mart))).toEqual(new Set([String(AFTER_THIRD)]))
    await runner.stop()
    await aRunner(mart.main, { env: mart.env })
    const resumed = await run(mart.main, mart.pipeline.id)
    expect(resumed).toMatchObject({ status: 'SUCCESS', rows_read: ROWS - AFTER_THIRD, batches: 2 })
    await expectComplete(mart)
  })

  it('R3.3 becomes PAUSED if the pause was requested while no runner held it', async () => {
    const { mart, runner, runId, held } = await midRun(warehouse)
    const stopped = runner.stop()
    await held.release()
    await stopped
    const before = await writesOf(mart)
    await setStatus(mart, 'PAUSE_REQUESTED')
    await aRunner(mart.main, { env: mart.env })
    expect(await runEnded(mart.main, runId)).toMatchObject({ status: 'PAUSED' })
    expect(await statusOf(mart)).toBe('PAUSED')
    expect(await writesOf(mart)).toEqual(before)
  })

  it('R3.1 is cancelled between batches and keeps its checkpoint', async () => {
    const { mart, runId, held } = await midRun(warehouse)
    await mart.main.query('UPDATE etl.etl_runs SET cancel_requested = true WHERE id = $1', [runId])
    await held.release()
    expect(await runEnded(mart.main, runId)).toMatchObject({ status: 'CANCELLED', batches: 3 })
    expect(await statusOf(mart)).toBe('IDLE')
    expect(new Set(await checkpointsOf(mart))).toEqual(new Set([String(AFTER_THIRD)]))
    expect(await run(mart.main, mart.pipeline.id)).toMatchObject({ rows_read: ROWS - AFTER_THIRD })
    await expectComplete(mart)
  })

  it('R3.2 can no longer commit when a user sets it to IDLE', async () => {
    const { mart, runId, held } = await midRun(warehouse)
    await setStatus(mart, 'IDLE')
    expect(await runById(mart.main, runId)).toMatchObject({
      status: 'CANCELLED',
      error: expect.stringContaining('by hand'),
    })
    await held.release()
    await waitFor(async () => (await runSessions(mart)) === 0, { what: 'the runner to release it' })
    expect(await writesOf(mart)).toEqual({ writes: 120, keys: 120 })
    expect(new Set(await checkpointsOf(mart))).toEqual(new Set(['120']))
    expect(await runById(mart.main, runId)).toMatchObject({ status: 'CANCELLED', batches: 2 })
    expect(await run(mart.main, mart.pipeline.id)).toMatchObject({ status: 'SUCCESS' })
    await expectComplete(mart)
  })

  it('R3.7 is handed back when its runner is stopped, and continues at once', async () => {
    const mart = await aCountedMart({ rows: ROWS, warehouse, paged: true, stale: 150 })
    const held = await holdRow(mart, 150)
    // So long that only a run that was handed back can be resumed within this test.
    const env = { DATABASE_URL: mart.main.url, ...mart.env, RUNNER_LEASE_SECONDS: '600' }
    const child = spawnVitrina(['runner'], env)
    const runId = await requestRun(mart.main, mart.pipeline.id)
    await held.waitForBatch()
    child.kill('SIGTERM')
    await held.release()
    expect(await child.exited).toBe(0)
    expect(child.stderr).toContain('Run handed back unfinished.')
    expect((await writesOf(mart)).writes).toBe(AFTER_THIRD)
    await aRunner(mart.main, { env: { ...mart.env, RUNNER_LEASE_SECONDS: '600' } })
    expect(await runEnded(mart.main, runId)).toMatchObject({ status: 'SUCCESS', attempt: 2, batches: 5 })
    await expectComplete(mart)
  })
})
