import { mkdtemp, rm } from 'node:fs/promises'

import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aCable } from '../support/cable.js'
import { aCountedMart, type CountedMart, holdRow } from '../support/counted-mart.js'
import { aDatabase } from '../support/database.js'
import { aFolder } from '../support/folders.js'
import { freePorts } from '../support/ports.js'
import { type SpawnedVitrina, spawnVitrina } from '../support/processes.js'
import { requestRun, runById, runEnded } from '../support/runs.js'
import { waitFor } from '../support/wait.js'

async function startRunner(
  databaseUrl: string,
  cwd: string,
): Promise<{ runner: SpawnedVitrina; url: string }> {
  const env = { DATABASE_URL: databaseUrl, RUNNER_METRICS_PORT: '0', RUNNER_POLL_INTERVAL_MS: '100' }
  const runner = spawnVitrina(['runner'], env, { cwd })
  const [, port = ''] = await runner.waitForOutput(/"port":(\d+),"msg":"Serving metrics and health/)
  return { runner, url: `http://127.0.0.1:${port}` }
}

async function statusOf(url: string): Promise<number> {
  return (await fetch(url)).status
}

let folder: string
let cutOff: { runner: SpawnedVitrina; url: string }

/** First of all, for the last test: a runner becomes unready after 15 s without its meta store. */
beforeAll(async () => {
  const cable = await aCable((await aDatabase()).url)
  folder = await mkdtemp(join(tmpdir(), 'vitrina-cut-off-'))
  cutOff = await startRunner(cable.url, folder)
  expect(await statusOf(`${cutOff.url}/health/ready`)).toBe(200)
  await cable.cut()
})
afterAll(() => rm(folder, { recursive: true, force: true }))

describe('a monitored runner', () => {
  it('is alive and ready, and serves nothing else', async () => {
    const database = await aDatabase()
    const { url } = await startRunner(database.url, await aFolder())
    for (const path of ['/health', '/health/ready', '/metrics', '/health/ready?from=kubernetes'])
      expect([path, await statusOf(`${url}${path}`)]).toEqual([path, 200])
    expect(await (await fetch(`${url}/health`)).json()).toMatchObject({ status: 'ok' })
    expect(await statusOf(`${url}/pipelines`)).toBe(404)
  })

  it('is not ready while it finishes its last batch, and can still be monitored', async () => {
    const mart = await aCountedMart({ stale: 1 })
    const { main, pipeline } = mart
    const held = await holdRow(mart, 1)
    const { runner, url } = await startRunner(main.url, await aFolder())
    const runId = await requestRun(main, pipeline.id)
    await held.waitForBatch()
    runner.kill('SIGTERM')
    await waitFor(async () => (await statusOf(`${url}/health/ready`)) === 503, {
      what: 'the runner to drain',
    })
    expect(await statusOf(`${url}/metrics`)).toBe(200)
    await held.release()
    expect(await runner.exited).toBe(0)
    expect(await runById(main, runId)).toMatchObject({ status: 'RUNNING', batches: 1, rows_written: 60 })
  })
})

/** Batches of 60 rows. */
const ROWS = 300

/** The mart rejects every write from the third batch on, with an error that is retried. */
async function failFromThirdBatch({ target }: CountedMart): Promise<void> {
  await target.query(`
    CREATE SEQUENCE public.tries;
    CREATE FUNCTION public.fail() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
    BEGIN
      IF nextval('public.tries') > 2 THEN RAISE EXCEPTION 'disk full' USING ERRCODE = '53100'; END IF;
      RETURN NULL;
    END $$;
    CREATE TRIGGER fail BEFORE INSERT OR UPDATE ON analytics.mart FOR EACH STATEMENT EXECUTE FUNCTION public.fail()`)
}

function lineOf(runner: SpawnedVitrina, message: string): Record<string, unknown> {
  const lines = runner.stderr.split('\n').filter((line) => line.startsWith('{'))
  return lines.map((line) => JSON.parse(line)).find(({ msg }) => msg === message)
}

async function runSeconds({ main }: CountedMart, runId: string): Promise<number> {
  const [row] = await main.query<{ seconds: number }>(
    'SELECT extract(epoch FROM finished_at - started_at)::float8 AS seconds FROM etl.etl_runs WHERE id = $1',
    [runId],
  )
  return row!.seconds
}

async function sumOfDurations(port: number): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  return Number(/^vitrina_run_duration_seconds_sum\{.*\} (\S+)$/m.exec(text)?.[1] ?? 0)
}

describe('the end of a run', () => {
  it('is logged and measured with the totals of all attempts when the run fails', async () => {
    const [mart, [port]] = [await aCountedMart({ rows: ROWS, paged: true }), await freePorts(1)]
    await failFromThirdBatch(mart)
    const env = { DATABASE_URL: mart.main.url, ...mart.env, RUNNER_METRICS_PORT: String(port) }
    const runner = spawnVitrina(['runner'], env)
    const ended = await runEnded(mart.main, await requestRun(mart.main, mart.pipeline.id))
    expect(ended).toMatchObject({ status: 'FAILED', attempt: 3, batches: 2, rows_read: 120 })
    await runner.waitForOutput(/Run failed\./)
    const seconds = await runSeconds(mart, ended.id)
    expect(lineOf(runner, 'Run failed.')).toMatchObject({
      ...{ status: 'FAILED', attempt: 3, batches: 2, rows: 120, rows_written: 120 },
      duration_ms: Math.round(seconds * 1000),
    })
    expect(await sumOfDurations(port!)).toBeCloseTo(seconds, 2)
  })

  it('is logged with the totals of every runner that held it', async () => {
    const mart = await aCountedMart({ rows: ROWS, paged: true, stale: 150 })
    const held = await holdRow(mart, 150)
    const env = { DATABASE_URL: mart.main.url, ...mart.env }
    const first = spawnVitrina(['runner'], env)
    const runId = await requestRun(mart.main, mart.pipeline.id)
    await held.waitForBatch()
    first.kill('SIGTERM')
    await held.release()
    expect(await first.exited).toBe(0)
    // Cancelled before the second runner has opened anything.
    await mart.main.query('UPDATE etl.etl_runs SET cancel_requested = true WHERE id = $1', [runId])
    const second = spawnVitrina(['runner'], env)
    expect(await runEnded(mart.main, runId)).toMatchObject({ status: 'CANCELLED', batches: 3, attempt: 2 })
    await second.waitForOutput(/Run cancelled\./)
    expect(lineOf(second, 'Run cancelled.')).toMatchObject({
      ...{ batches: 3, rows: 180, duration_ms: Math.round((await runSeconds(mart, runId)) * 1000) },
    })
  })
})

interface PastAttempt {
  readonly attempt: number
  readonly end: string
  readonly endedAt: string
  readonly error: string | null
}

async function attemptsOf({ main }: CountedMart, runId: string): Promise<PastAttempt[]> {
  const [row] = await main.query<{ attempts: PastAttempt[] }>(
    'SELECT attempts FROM etl.etl_runs WHERE id = $1',
    [runId],
  )
  return row!.attempts
}

describe('a run that a stopping runner hands back', () => {
  it('R3.7 records it in its history from that moment on, and is not counted as taken over from a silent runner', async () => {
    const mart = await aCountedMart({ rows: ROWS, paged: true, stale: 150 })
    const held = await holdRow(mart, 150)
    const env = { DATABASE_URL: mart.main.url, ...mart.env, RUNNER_LEASE_SECONDS: '600' }
    const first = spawnVitrina(['runner'], env)
    const runId = await requestRun(mart.main, mart.pipeline.id)
    await held.waitForBatch()
    first.kill('SIGTERM')
    await held.release()
    expect(await first.exited).toBe(0)
    const handedBack = await attemptsOf(mart, runId)
    expect(handedBack).toMatchObject([{ attempt: 1, end: 'given_back', error: null }])
    const second = spawnVitrina(['runner'], env)
    expect(await runEnded(mart.main, runId)).toMatchObject({ status: 'SUCCESS', attempt: 2 })
    expect(await attemptsOf(mart, runId)).toEqual(handedBack)
    await second.waitForOutput(/Run succeeded\./)
    expect(lineOf(second, 'Run resumed.')).toMatchObject({ previous_end: 'given_back' })
    expect(second.stderr).not.toMatch(/silent runner/)
  })

  it('names the lost connection', async () => {
    const mart = await aCountedMart({ rows: ROWS, paged: true, stale: 150 })
    const held = await holdRow(mart, 150)
    spawnVitrina(['runner'], { DATABASE_URL: mart.main.url, ...mart.env, RUNNER_LEASE_SECONDS: '600' })
    const runId = await requestRun(mart.main, mart.pipeline.id)
    await held.waitForBatch()
    await mart.main.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND starts_with(application_name, 'vitrina-run ')",
    )
    await held.release()
    const [past] = await waitFor(
      async () => {
        const past = await attemptsOf(mart, runId)
        return past.length > 0 && past
      },
      { what: 'the first attempt to end' },
    )
    expect(past).toMatchObject({ attempt: 1, end: 'connection_lost', errorCode: 'VTR-9001' })
    expect(await runEnded(mart.main, runId)).toMatchObject({ status: 'SUCCESS', attempt: 2 })
  })
})

describe('a run whose runner was killed', () => {
  it('is taken over from a silent runner', async () => {
    const mart = await aCountedMart({ rows: ROWS, paged: true, stale: 150 })
    const env = { DATABASE_URL: mart.main.url, ...mart.env, RUNNER_LEASE_SECONDS: '1' }
    const first = spawnVitrina(['runner'], { ...env, VITRINA_FAILPOINT: 'batch.committed@3=kill' })
    const runId = await requestRun(mart.main, mart.pipeline.id)
    expect(await first.exited).toBe(128 + 9)
    const second = spawnVitrina(['runner'], env)
    await runEnded(mart.main, runId)
    expect(await attemptsOf(mart, runId)).toMatchObject([{ attempt: 1, end: 'runner_died' }])
    await second.waitForOutput(/Took over 1 run from a silent runner\./)
    expect(lineOf(second, 'Run resumed.')).toMatchObject({ previous_end: 'runner_died' })
  })
})

describe('a runner without its meta store', () => {
  it('remains alive, reports not ready, and stops on request', async () => {
    const { runner, url } = cutOff
    await waitFor(async () => (await statusOf(`${url}/health/ready`)) === 503, {
      what: 'the runner to be unready',
    })
    expect(await statusOf(`${url}/health`)).toBe(200)
    expect(runner.stderr).toContain('Connection to the meta store lost.')
    runner.kill('SIGTERM')
    expect(await runner.exited).toBe(0)
  })
})
