import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { Scheduler } from '../../src/runner/scheduler.js'
import { Database } from '../../src/store/database.js'
import { DueRunsRepository } from '../../src/store/runs/due-runs.repository.js'
import { Events } from '../../src/telemetry/events.js'
import { createLog } from '../../src/telemetry/log.js'
import { createMeter } from '../../src/telemetry/meter.js'
import { aPipeline } from '../support/builders.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { aRunner } from '../support/runner.js'
import { waitFor } from '../support/wait.js'

let database: TestDatabase
const lines: Record<string, unknown>[] = []

beforeEach(async () => {
  database = await aDatabase({ cinema: true })
  lines.length = 0
})

/** The part of a runner that starts what is due, one tick at a time. */
function aScheduler(): Scheduler {
  const pool = new Database(database.loginUrl('writer'), { name: 'vitrina-runner', size: 2 })
  onTestFinished(() => pool.close())
  const log = createLog({
    service: 'runner',
    version: 'test',
    level: 'debug',
    format: 'json',
    destination: { write: (line) => void lines.push(JSON.parse(line)) },
  })
  return new Scheduler(new DueRunsRepository(pool), new Events(log, createMeter({ version: 'test' })))
}

async function makeDue(ago = '1 second'): Promise<void> {
  await database.query('UPDATE etl.etl_pipelines SET next_run_at = clock_timestamp() - $1::interval', [ago])
}

async function setStatus(id: string, ...statuses: string[]): Promise<void> {
  for (const status of statuses)
    await database.query('UPDATE etl.etl_pipelines SET status = $2 WHERE id = $1', [id, status])
}

async function runsOf(id: string): Promise<{ trigger: string; status: string }[]> {
  return database.query(
    'SELECT trigger, status FROM etl.etl_runs WHERE pipeline_id = $1 ORDER BY requested_at',
    [id],
  )
}

async function secondsToNext(id: string): Promise<number | null> {
  const [row] = await database.query<{ seconds: number | null }>(
    'SELECT extract(epoch FROM next_run_at - clock_timestamp())::float8 AS seconds FROM etl.etl_pipelines WHERE id = $1',
    [id],
  )
  return row!.seconds
}

describe('R3.5 a schedule', () => {
  it.each([
    ['15m', 900],
    ['1h30m', 5400],
    ['PT15M', 900],
  ])('of %s waits first, and then starts runs without a request', async (scheduleInterval, seconds) => {
    const { id } = await aPipeline(database, { scheduleInterval })
    await aRunner(database)
    await waitFor(async () => (await secondsToNext(id)) !== null, { what: 'the first time to be set' })
    expect(await secondsToNext(id)).toBeGreaterThan(seconds - 60)
    expect(await secondsToNext(id)).toBeLessThanOrEqual(seconds)
    expect(await runsOf(id)).toEqual([])
    await makeDue()
    await waitFor(async () => (await runsOf(id))[0]?.status === 'SUCCESS', { what: 'the run to succeed' })
    expect(await runsOf(id)).toEqual([{ trigger: 'schedule', status: 'SUCCESS' }])
    expect(await secondsToNext(id)).toBeGreaterThan(seconds - 60)
  })

  it('with cron in a time zone has its next moment there', async () => {
    const { id } = await aPipeline(database, {
      scheduleInterval: '0 6 * * *',
      scheduleTimezone: 'Asia/Tokyo',
    })
    await aScheduler().tick()
    const [row] = await database.query<{ hour: string }>(
      "SELECT to_char(next_run_at AT TIME ZONE 'Asia/Tokyo', 'HH24:MI') AS hour FROM etl.etl_pipelines WHERE id = $1",
      [id],
    )
    expect(row!.hour).toBe('06:00')
  })

  it('that missed ten days of ticks runs once', async () => {
    const { id } = await aPipeline(database, { scheduleInterval: '1m' })
    const scheduler = aScheduler()
    await makeDue('10 days')
    for (let tick = 0; tick < 3; tick++) await scheduler.tick()
    expect(await runsOf(id)).toEqual([{ trigger: 'schedule', status: 'REQUESTED' }])
    expect(await secondsToNext(id)).toBeGreaterThan(0)
  })

  it('starts one run for each tick, however many runners see it', async () => {
    const ids: string[] = []
    for (let n = 0; n < 20; n++)
      ids.push(
        (await aPipeline(database, { scheduleInterval: '1h', targetTable: `analytics.scheduled_${n}` })).id,
      )
    await Promise.all(
      Array.from({ length: 4 }, () => aRunner(database, { env: { RUNNER_POLL_INTERVAL_MS: '10' } })),
    )
    await makeDue()
    const ended = async () =>
      (await database.query("SELECT FROM etl.etl_runs WHERE status = 'SUCCESS'")).length >= ids.length
    await waitFor(ended, { what: 'all runs to end' })
    for (const id of ids) expect(await runsOf(id)).toEqual([{ trigger: 'schedule', status: 'SUCCESS' }])
  })

  it('that is invalid is reported once, and blocks no other', async () => {
    const broken = await aPipeline(database, { scheduleInterval: 'now and then' })
    const fine = await aPipeline(database, { scheduleInterval: '1h' })
    await makeDue()
    const scheduler = aScheduler()
    for (let tick = 0; tick < 3; tick++) await scheduler.tick()
    expect(await runsOf(fine.id)).toHaveLength(1)
    expect(await runsOf(broken.id)).toEqual([])
    expect(lines.filter((line) => line.level === 'error')).toHaveLength(1)
  })

  it('that never occurs is checked without being written at every tick', async () => {
    const { id } = await aPipeline(database, { scheduleInterval: '0 0 30 2 *' })
    const version = async () =>
      (await database.query('SELECT xmin::text FROM etl.etl_pipelines WHERE id = $1', [id]))[0]
    const before = await version()
    const scheduler = aScheduler()
    for (let tick = 0; tick < 3; tick++) await scheduler.tick()
    expect(await version()).toEqual(before)
  })

  it.each([
    ['FAILED', ['RUN_REQUESTED', 'RUNNING', 'FAILED']],
    ['PAUSED', ['RUN_REQUESTED', 'RUNNING', 'PAUSE_REQUESTED', 'PAUSED']],
    ['RUNNING', ['RUN_REQUESTED', 'RUNNING']],
  ])('starts nothing while the pipeline is %s', async (_, statuses) => {
    const { id } = await aPipeline(database, { scheduleInterval: '1m' })
    await setStatus(id, ...statuses)
    await makeDue('1 hour')
    await aScheduler().tick()
    expect(await runsOf(id)).toHaveLength(1)
  })

  it('starts nothing while the pipeline is disabled, and one run when it is enabled again', async () => {
    const { id } = await aPipeline(database, { scheduleInterval: '1m', enabled: false })
    await makeDue('1 hour')
    const scheduler = aScheduler()
    await scheduler.tick()
    expect(await runsOf(id)).toEqual([])
    await database.query('UPDATE etl.etl_pipelines SET enabled = true WHERE id = $1', [id])
    for (let tick = 0; tick < 3; tick++) await scheduler.tick()
    expect(await runsOf(id)).toHaveLength(1)
  })
})
