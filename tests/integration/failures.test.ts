import { describe, expect, it } from 'vitest'
import { aCountedMart, type CountedMart, holdRow, signatures, writesOf } from '../support/counted-mart.js'
import { aRunner } from '../support/runner.js'
import { requestRun, run, runById, runEnded } from '../support/runs.js'
import { waitFor } from '../support/wait.js'

const ROWS = 120

/**
 * The mart rejects its first `times` writes with this SQLSTATE. A sequence keeps counting when the batch is rolled
 * back.
 */
async function failFirst({ target }: CountedMart, times: number, sqlstate: string): Promise<void> {
  await target.query(`
    CREATE SEQUENCE public.tries;
    CREATE FUNCTION public.fail() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
    BEGIN
      IF nextval('public.tries') <= ${times} THEN
        RAISE EXCEPTION 'not now' USING ERRCODE = '${sqlstate}', HINT = 'come back later';
      END IF;
      RETURN NULL;
    END $$;
    CREATE TRIGGER fail BEFORE INSERT OR UPDATE ON analytics.mart FOR EACH STATEMENT EXECUTE FUNCTION public.fail()`)
}

async function statusOf({ main, pipeline }: CountedMart): Promise<string> {
  const [row] = await main.query<{ status: string }>('SELECT status FROM etl.etl_pipelines WHERE id = $1', [
    pipeline.id,
  ])
  return row!.status
}

async function secondsOf({ main }: CountedMart, runId: string): Promise<number> {
  const [row] = await main.query<{ seconds: number }>(
    'SELECT extract(epoch FROM finished_at - started_at)::float8 AS seconds FROM etl.etl_runs WHERE id = $1',
    [runId],
  )
  return row!.seconds
}

async function expectComplete(mart: CountedMart): Promise<void> {
  const { source, mart: filled } = await signatures(mart)
  expect(filled).toBe(source)
  const { writes, keys } = await writesOf(mart)
  expect(writes).toBe(keys)
}

describe('R3.6 a temporary error', () => {
  /** In parallel: most of it is waiting. */
  it('is retried after 1 and 2 s: 40001, 40P01, 53100, 55P03', async () => {
    const tried = async (sqlstate: string) => {
      const mart = await aCountedMart({ rows: ROWS })
      await failFirst(mart, 2, sqlstate)
      await aRunner(mart.main)
      const ended = await run(mart.main, mart.pipeline.id)
      const success = { status: 'SUCCESS', attempt: 3, error: null, error_code: null }
      expect({ sqlstate, ...ended }).toMatchObject({ sqlstate, ...success })
      expect(await secondsOf(mart, ended.id), sqlstate).toBeGreaterThan(3)
      await expectComplete(mart)
    }
    await Promise.all(['40001', '40P01', '53100', '55P03'].map(tried))
  })

  it('that persists fails the run after three attempts, with its text, code and hint', async () => {
    const mart = await aCountedMart({ rows: ROWS })
    await failFirst(mart, 1_000_000, '53100')
    await aRunner(mart.main)
    expect(await run(mart.main, mart.pipeline.id)).toMatchObject({
      status: 'FAILED',
      attempt: 3,
      error: expect.stringContaining('not now (SQLSTATE 53100)'),
      error_code: 'VTR-9002',
      error_hint: 'come back later',
    })
    expect(await statusOf(mart)).toBe('FAILED')
    await mart.target.query('DROP TRIGGER fail ON analytics.mart')
    expect(await run(mart.main, mart.pipeline.id), 'run by hand').toMatchObject({
      status: 'SUCCESS',
      attempt: 1,
    })
    expect(await statusOf(mart)).toBe('IDLE')
    await expectComplete(mart)
  })
})

describe('R3.6 a permanent error', () => {
  it('in the query fails the run at once', async () => {
    const mart = await aCountedMart({
      rows: ROWS,
      pipeline: { sourceQuery: 'SELECT id, nope FROM content.item' },
    })
    await aRunner(mart.main)
    expect(await run(mart.main, mart.pipeline.id)).toMatchObject({
      status: 'FAILED',
      attempt: 1,
      error: expect.stringContaining('"nope"'),
      error_code: 'VTR-2002',
    })
  })

  it('in the mart fails the run at once', async () => {
    const mart = await aCountedMart({ rows: ROWS })
    await failFirst(mart, 1_000_000, '42501')
    await aRunner(mart.main)
    expect(await run(mart.main, mart.pipeline.id)).toMatchObject({
      status: 'FAILED',
      attempt: 1,
      error_code: 'VTR-4002',
    })
  })
})

describe('a row that the mart rejects', () => {
  const poisoned = async (limit: number) => {
    const mart = await aCountedMart({ rows: ROWS, paged: true, pipeline: { quarantineLimit: limit } })
    await mart.target.query('ALTER TABLE analytics.mart ADD CHECK (id NOT IN (17, 18, 100))')
    await aRunner(mart.main)
    return { mart, ended: await run(mart.main, mart.pipeline.id) }
  }

  it('is quarantined, and all others arrive', async () => {
    const { mart, ended } = await poisoned(3)
    expect(ended).toMatchObject({
      status: 'SUCCESS',
      rows_quarantined: 3,
      rows_inserted: ROWS - 3,
      attempt: 1,
    })
    const held = await mart.main.query(
      'SELECT row_key, sqlstate, reason, run_id FROM etl.etl_quarantine ORDER BY row_key::int',
    )
    expect(held).toMatchObject(
      ['17', '18', '100'].map((key) => ({ row_key: key, sqlstate: '23514', run_id: ended.id })),
    )
  })

  it('is quarantined while thousands of later rows are in transit', async () => {
    const mart = await aCountedMart({ rows: 20_000, warehouse: true, pipeline: { batchSize: 20_000 } })
    await mart.target.query('ALTER TABLE analytics.mart ADD CHECK (id <> 17)')
    await aRunner(mart.main, { env: mart.env })
    const ended = await run(mart.main, mart.pipeline.id)
    expect(ended).toMatchObject({ status: 'SUCCESS', rows_quarantined: 1, rows_inserted: 19_999 })
  })

  it('fails the run if there are more than quarantine_limit allows', async () => {
    const { mart, ended } = await poisoned(2)
    expect(ended).toMatchObject({ status: 'FAILED', error_code: 'VTR-4101', attempt: 1 })
    expect(await statusOf(mart)).toBe('FAILED')
  })
})

describe.each([
  ['in one database', false],
  ['into another database', true],
])('R3.6 a lost connection of a run %s', (_, warehouse) => {
  const interrupted = async (names: string) => {
    const mart = await aCountedMart({ rows: ROWS, warehouse, paged: true, stale: 100 })
    const held = await holdRow(mart, 100)
    await aRunner(mart.main, { env: mart.env })
    const runId = await requestRun(mart.main, mart.pipeline.id)
    await held.waitForBatch()
    for (const database of new Set([mart.main, mart.target]))
      await database.query(
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND starts_with(application_name, $1)',
        [names],
      )
    await held.release()
    return { mart, ended: await runEnded(mart.main, runId) }
  }

  it('that ends every session of the run, or of the whole runner, is not a failed attempt: the run continues', async () => {
    const continues = async (names: string) => {
      const { mart, ended } = await interrupted(names)
      expect([names, ended]).toMatchObject([names, { status: 'SUCCESS', attempt: 2, error: null }])
      expect(await writesOf(mart)).toEqual({ writes: ROWS, keys: ROWS })
      await expectComplete(mart)
    }
    await Promise.all(['vitrina-run ', 'vitrina'].map(continues))
  })
})

it('R3.6 an unreachable database is tried once a second, and fails no run', async () => {
  const mart = await aCountedMart({ rows: ROWS, warehouse: true })
  await aRunner(mart.main, { env: { VITRINA_CONNECTION_WAREHOUSE_URL: unreachable(mart.target.url) } })
  const runId = await requestRun(mart.main, mart.pipeline.id)
  await waitFor(async () => (await runById(mart.main, runId)).attempt >= 4, { what: 'a fourth try' })
  const [row] = await mart.main.query<{ seconds: number }>(
    'SELECT extract(epoch FROM clock_timestamp() - started_at)::float8 AS seconds FROM etl.etl_runs WHERE id = $1',
    [runId],
  )
  expect(row!.seconds).toBeGreaterThan(3)
  expect(await runById(mart.main, runId)).toMatchObject({ status: 'RUNNING', error: null })
  expect(await statusOf(mart)).toBe('RUNNING')
})

/** A port where nothing listens. */
function unreachable(url: string): string {
  const changed = new URL(url)
  changed.port = '1'
  return changed.href
}
