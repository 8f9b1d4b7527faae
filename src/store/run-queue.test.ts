import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { aPipeline } from '../../tests/support/builders.js'
import { aDatabase, type TestDatabase } from '../../tests/support/database.js'
import type { BatchRecord, Claim } from '../model/claim.js'
import { NO_ROWS } from '../model/run.js'
import { Database } from './database.js'
import { RunQueueRepository } from './run-queue.repository.js'

const LEASE = 30

let database: TestDatabase
let queue: RunQueueRepository

beforeEach(async () => {
  database = await aDatabase()
  const pool = new Database(database.loginUrl('writer'), { name: 'vitrina-runner', size: 10 })
  onTestFinished(() => pool.close())
  queue = new RunQueueRepository(pool)
})

async function aRequest(overrides = {}): Promise<string> {
  const { id } = await aPipeline(database, overrides)
  await setStatus(id, 'RUN_REQUESTED')
  return id
}

async function setStatus(id: string, status: string): Promise<void> {
  await database.query('UPDATE etl.etl_pipelines SET status = $2 WHERE id = $1', [id, status])
}

async function aClaim(overrides = {}): Promise<Claim> {
  await aRequest(overrides)
  const claim = await queue.claim('first', LEASE)
  if (claim === null) throw new Error('nothing to claim')
  return claim
}

/** The lease runs out without anybody waiting for it. */
async function expireLease(claim: Claim): Promise<void> {
  await database.query(
    "UPDATE etl.etl_pipelines SET lease_until = clock_timestamp() - interval '1 ms' WHERE id = $1",
    [claim.pipeline.id],
  )
}

async function pipelineOf(claim: Claim) {
  const [row] = await database.query(
    'SELECT status, lease_owner, lease_until, fence::int FROM etl.etl_pipelines WHERE id = $1',
    [claim.pipeline.id],
  )
  return row
}

async function runOf(claim: Claim) {
  const [row] = await database.query(
    'SELECT *, finished_at IS NOT NULL AS finished FROM etl.etl_runs WHERE id = $1',
    [claim.runId],
  )
  return row
}

const aBatch: BatchRecord = {
  batch: 1,
  step: 'write',
  rows: { ...NO_ROWS, read: 5, inserted: 3, updated: 2 },
  firstKey: 'a',
  lastKey: 'e',
  durationMs: 12.5,
  copiedCheckpoint: null,
}
const progress = { rows: aBatch.rows, batches: 1 }

describe('claiming', () => {
  it('R3.2 gives each pipeline to one of eight runners that ask at once', async () => {
    const requested = [await aRequest(), await aRequest(), await aRequest()]
    const claims = await Promise.all(Array.from({ length: 8 }, (_, n) => queue.claim(`runner-${n}`, LEASE)))
    const taken = claims.flatMap((claim) => (claim === null ? [] : [claim.pipeline.id]))
    expect(taken.sort()).toEqual(requested.sort())
  })

  it('R3.2 gives a single pipeline to exactly one of eight, again and again', async () => {
    const id = await aRequest()
    for (let round = 1; round <= 10; round++) {
      const claims = await Promise.all(Array.from({ length: 8 }, (_, n) => queue.claim(`runner-${n}`, LEASE)))
      const winners = claims.filter((claim) => claim !== null)
      expect(winners).toHaveLength(1)
      expect(winners[0]).toMatchObject({
        pipeline: { id, status: 'RUNNING' },
        fence: round,
        attempt: 1,
        recovered: false,
        deaths: 0,
      })
      await queue.finish(winners[0]!, { status: 'SUCCESS' })
      await setStatus(id, 'RUN_REQUESTED')
    }
  })

  it('takes the oldest request first', async () => {
    const ids = [await aRequest(), await aRequest(), await aRequest()]
    const claimed = [
      await queue.claim('a', LEASE),
      await queue.claim('a', LEASE),
      await queue.claim('a', LEASE),
    ]
    expect(claimed.map((claim) => claim?.pipeline.id)).toEqual(ids)
  })

  it('R3.4 leaves a disabled pipeline alone', async () => {
    await aRequest({ enabled: false })
    expect(await queue.claim('first', LEASE)).toBeNull()
  })

  it('starts the run and holds the pipeline', async () => {
    const claim = await aClaim()
    expect(await pipelineOf(claim)).toMatchObject({ status: 'RUNNING', lease_owner: 'first', fence: 1 })
    expect(await runOf(claim)).toMatchObject({
      status: 'RUNNING',
      runner_id: 'first',
      attempt: 1,
      trigger: 'sql',
    })
    expect(await queue.claim('second', LEASE)).toBeNull()
  })
})

describe('a lease that ran out', () => {
  it('R3.7 lets another runner go on, who learns whom it follows', async () => {
    const first = await aClaim()
    await expireLease(first)
    const second = await queue.claim('second', LEASE)
    expect(second).toMatchObject({
      runId: first.runId,
      fence: 2,
      attempt: 2,
      recovered: true,
      deaths: 1,
      previousOwner: 'first',
    })
    expect(await queue.claim('third', LEASE)).toBeNull()
  })

  it('keeps a pause that was requested meanwhile', async () => {
    const first = await aClaim()
    await setStatus(first.pipeline.id, 'PAUSE_REQUESTED')
    await expireLease(first)
    const second = await queue.claim('second', LEASE)
    expect(second?.control.pause).toBe(true)
    await queue.finish(second!, { status: 'PAUSED' })
    expect(await pipelineOf(first)).toMatchObject({ status: 'PAUSED', lease_owner: null })
  })

  it('R3.2 shuts the old holder out of everything it could change', async () => {
    const old = await aClaim()
    await expireLease(old)
    await queue.claim('second', LEASE)
    const before = { pipeline: await pipelineOf(old), run: await runOf(old) }
    const late = {
      renew: () => queue.renew(old, LEASE),
      record: () =>
        queue.record(old, { ...aBatch, copiedCheckpoint: { key: 'x', id: 'y' } }, progress, LEASE, null),
      finish: () => queue.finish(old, { status: 'SUCCESS' }),
    }
    for (const [name, call] of Object.entries(late))
      await expect(call(), name).rejects.toMatchObject({ code: 'LEASE_LOST', class: 'stale' })
    await queue.release(old)
    expect({ pipeline: await pipelineOf(old), run: await runOf(old) }).toEqual(before)
    expect(await database.query('SELECT FROM etl.etl_run_batches')).toEqual([])
    expect(await database.query('SELECT last_processed_key FROM etl.etl_state')).toEqual([
      { last_processed_key: null },
    ])
  })

  it('counts the deaths of its holders until a batch is done', async () => {
    const first = await aClaim()
    await expireLease(first)
    const second = await queue.claim('second', LEASE)
    await expireLease(first)
    const third = await queue.claim('third', LEASE)
    expect([second?.deaths, third?.deaths]).toEqual([1, 2])
    await queue.record(third!, aBatch, progress, LEASE, null)
    await expireLease(first)
    expect(await queue.claim('fourth', LEASE)).toMatchObject({ deaths: 1, attempt: 4 })
  })
})

describe('a run that is given back', () => {
  it('is taken on at once, and nobody died', async () => {
    const first = await aClaim()
    await queue.release(first)
    const second = await queue.claim('second', LEASE)
    expect(second).toMatchObject({
      runId: first.runId,
      recovered: true,
      deaths: 0,
      previousOwner: null,
      fence: 2,
    })
  })
})

describe('a batch', () => {
  it('is written down, renews the lease and hears what people asked for', async () => {
    const claim = await aClaim()
    await expireLease(claim)
    await setStatus(claim.pipeline.id, 'PAUSE_REQUESTED')
    await database.query('UPDATE etl.etl_runs SET cancel_requested = true WHERE id = $1', [claim.runId])
    const control = await queue.record(claim, aBatch, progress, LEASE, null)
    expect(control).toMatchObject({ pause: true, cancel: true })
    expect(await runOf(claim)).toMatchObject({
      batches: 1,
      rows_read: '5',
      rows_written: '5',
      rows_inserted: '3',
      rows_updated: '2',
    })
    expect(await queue.claim('second', LEASE)).toBeNull()
  })

  it('that is written down twice counts once', async () => {
    const claim = await aClaim()
    await queue.record(claim, aBatch, progress, LEASE, null)
    await queue.record(claim, aBatch, progress, LEASE, null)
    expect(await runOf(claim)).toMatchObject({ batches: 1, rows_read: '5' })
    expect(await database.query('SELECT batch, first_key, last_key FROM etl.etl_run_batches')).toEqual([
      { batch: 1, first_key: 'a', last_key: 'e' },
    ])
  })
})

describe('the end of a run', () => {
  const failure = {
    status: 'FAILED',
    error: 'x'.repeat(5000),
    code: 'SOURCE_QUERY_FAILED',
    hint: 'mend it',
  } as const

  it.each([
    ['SUCCESS', 'IDLE'],
    ['CANCELLED', 'IDLE'],
  ] as const)('%s leaves the pipeline %s', async (status, left) => {
    const claim = await aClaim()
    await queue.finish(claim, { status })
    expect(await pipelineOf(claim)).toMatchObject({ status: left, lease_owner: null, lease_until: null })
    expect(await runOf(claim)).toMatchObject({ status, finished: true, error: null })
  })

  it('R2.4 R3.6 FAILED leaves the pipeline FAILED with the error, cut to its length', async () => {
    const claim = await aClaim()
    await queue.finish(claim, failure)
    expect(await pipelineOf(claim)).toMatchObject({ status: 'FAILED' })
    expect(await runOf(claim)).toMatchObject({
      status: 'FAILED',
      error: 'x'.repeat(4000),
      error_code: 'SOURCE_QUERY_FAILED',
      error_hint: 'mend it',
    })
  })

  it.each([{ status: 'SUCCESS' } as const, failure, { status: 'PAUSED' } as const])(
    'R3.3 leaves the pipeline PAUSED when a pause is requested and the run ends $status',
    async (end) => {
      const claim = await aClaim()
      await setStatus(claim.pipeline.id, 'PAUSE_REQUESTED')
      await queue.finish(claim, end)
      expect(await pipelineOf(claim)).toMatchObject({ status: 'PAUSED' })
      expect(await runOf(claim)).toMatchObject({ status: end.status, finished: true })
    },
  )

  it('told twice, after a new request, does not touch the new run', async () => {
    const claim = await aClaim()
    await queue.finish(claim, { status: 'SUCCESS' })
    await setStatus(claim.pipeline.id, 'RUN_REQUESTED')
    await expect(queue.finish(claim, { status: 'SUCCESS' })).rejects.toMatchObject({ code: 'LEASE_LOST' })
    expect(await pipelineOf(claim)).toMatchObject({ status: 'RUN_REQUESTED' })
  })
})

describe('R3.5 a schedule', () => {
  it('starts one run when two runners see the same tick', async () => {
    const { id } = await aPipeline(database, { scheduleInterval: '1 minute' })
    const { pipelines } = await queue.dueSchedules()
    const [due] = pipelines
    const next = '2030-01-01T00:00:00Z'
    const won = await Promise.all([queue.reschedule(due!, next, true), queue.reschedule(due!, next, true)])
    expect(won.sort()).toEqual([false, true])
    const runs = await database.query('SELECT trigger FROM etl.etl_runs WHERE pipeline_id = $1', [id])
    expect(runs).toEqual([{ trigger: 'schedule' }])
    expect((await queue.dueSchedules()).pipelines).toEqual([])
  })
})
