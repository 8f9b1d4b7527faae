import { describe, expect, it } from 'vitest'
import { aCountedMart, type CountedMart, holdRow } from '../support/counted-mart.js'
import { freePorts } from '../support/ports.js'
import { type SpawnedVitrina, spawnVitrina } from '../support/processes.js'
import { requestRun, runEnded } from '../support/runs.js'
import { waitFor } from '../support/wait.js'

/** Batches of 60 rows. */
const ROWS = 300

/** The mart refuses every write from the third batch on, with an error that is retried. */
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

  it('is logged with the totals of every runner that had it', async () => {
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
  it('R3.7 says so in its history from that moment on, and is not counted as taken over from a silent runner', async () => {
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
    expect(lineOf(second, 'Run continued.')).toMatchObject({ previous_end: 'given_back' })
    expect(second.stderr).not.toMatch(/went silent/)
  })

  it('says what was lost when it was the connection to a database', async () => {
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
  it('is taken over from a runner that went silent', async () => {
    const mart = await aCountedMart({ rows: ROWS, paged: true, stale: 150 })
    const env = { DATABASE_URL: mart.main.url, ...mart.env, RUNNER_LEASE_SECONDS: '1' }
    const first = spawnVitrina(['runner'], { ...env, VITRINA_FAILPOINT: 'batch.committed@3=kill' })
    const runId = await requestRun(mart.main, mart.pipeline.id)
    expect(await first.exited).toBe(128 + 9)
    const second = spawnVitrina(['runner'], env)
    await runEnded(mart.main, runId)
    expect(await attemptsOf(mart, runId)).toMatchObject([{ attempt: 1, end: 'runner_died' }])
    await second.waitForOutput(/Took over 1 run from a runner that went silent\./)
    expect(lineOf(second, 'Run continued.')).toMatchObject({ previous_end: 'runner_died' })
  })
})
