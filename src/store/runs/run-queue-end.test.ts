import { beforeEach, describe, expect, it } from 'vitest'
import { aPipeline } from '../../../tests/support/builders.js'
import { aBatch, aQueue, LEASE, progress, type Queue } from '../../../tests/support/queue.js'

let on: Queue
beforeEach(async () => {
  on = await aQueue()
})

describe('a batch', () => {
  it('is recorded, renews the lease and returns pending requests', async () => {
    const claim = await on.aClaim()
    await on.expireLease(claim)
    await on.setStatus(claim.pipeline.id, 'PAUSE_REQUESTED')
    await on.database.query('UPDATE etl.etl_runs SET cancel_requested = true WHERE id = $1', [claim.runId])
    const control = await on.queue.record(claim, aBatch, { progress, leaseSeconds: LEASE, session: null })
    expect(control).toMatchObject({ pause: true, cancel: true })
    expect(await on.runOf(claim)).toMatchObject({
      batches: 1,
      rows_read: '5',
      rows_written: '5',
      rows_inserted: '3',
      rows_updated: '2',
    })
    expect(await on.queue.claim('second', LEASE)).toBeNull()
  })

  it('that is recorded twice counts once', async () => {
    const claim = await on.aClaim()
    await on.queue.record(claim, aBatch, { progress, leaseSeconds: LEASE, session: null })
    await on.queue.record(claim, aBatch, { progress, leaseSeconds: LEASE, session: null })
    expect(await on.runOf(claim)).toMatchObject({ batches: 1, rows_read: '5' })
    expect(await on.database.query('SELECT batch, first_key, last_key FROM etl.etl_run_batches')).toEqual([
      { batch: 1, first_key: 'a', last_key: 'e' },
    ])
  })
})

describe('the end of a run', () => {
  const failure = {
    status: 'FAILED',
    error: 'x'.repeat(5000),
    code: 'SOURCE_QUERY_FAILED',
    hint: 'fix it',
  } as const

  it.each([
    ['SUCCESS', 'IDLE'],
    ['CANCELLED', 'IDLE'],
  ] as const)('%s leaves the pipeline %s', async (status, left) => {
    const claim = await on.aClaim()
    await on.queue.finish(claim, { status })
    expect(await on.pipelineOf(claim)).toMatchObject({ status: left, lease_owner: null, lease_until: null })
    expect(await on.runOf(claim)).toMatchObject({ status, finished: true, error: null })
  })

  it('R2.4 R3.6 FAILED leaves the pipeline FAILED with the error, cut to its length', async () => {
    const claim = await on.aClaim()
    await on.queue.finish(claim, failure)
    expect(await on.pipelineOf(claim)).toMatchObject({ status: 'FAILED' })
    expect(await on.runOf(claim)).toMatchObject({
      status: 'FAILED',
      error: `${'x'.repeat(3999)}…`,
      error_code: 'SOURCE_QUERY_FAILED',
      error_hint: 'fix it',
    })
  })

  it.each([{ status: 'SUCCESS' } as const, failure, { status: 'PAUSED' } as const])(
    'R3.3 leaves the pipeline PAUSED when a pause is requested and the run ends $status',
    async (end) => {
      const claim = await on.aClaim()
      await on.setStatus(claim.pipeline.id, 'PAUSE_REQUESTED')
      await on.queue.finish(claim, end)
      expect(await on.pipelineOf(claim)).toMatchObject({ status: 'PAUSED' })
      expect(await on.runOf(claim)).toMatchObject({ status: end.status, finished: true })
    },
  )

  it('repeated after a new request does not affect the new run', async () => {
    const claim = await on.aClaim()
    await on.queue.finish(claim, { status: 'SUCCESS' })
    await on.setStatus(claim.pipeline.id, 'RUN_REQUESTED')
    await expect(on.queue.finish(claim, { status: 'SUCCESS' })).rejects.toMatchObject({ code: 'LEASE_LOST' })
    expect(await on.pipelineOf(claim)).toMatchObject({ status: 'RUN_REQUESTED' })
  })
})

describe('what is recorded with the end of a run', () => {
  const measured = { heldBack: null, cost: { blocksRead: 3, walBytes: 5 } }
  const plan = { strategy: 'sql_full', way: 'relay', guarantee: 'bounded' } as const
  const noted = (runId: string) =>
    on.database.query(
      'SELECT status, strategy, way, guarantee, held_back, cost_blocks_read::int AS blocks FROM etl.etl_runs WHERE id = $1',
      [runId],
    )
  const aRepair = (runId: string) =>
    on.database.query('INSERT INTO etl.etl_repairs (run_id, key) VALUES ($1, $2)', [runId, ['7']])

  it('is its plan, what held it back and what it cost', async () => {
    const claim = await on.aClaim()
    const heldBack = { reason: 'late', pid: 7, since: null }
    await on.queue.finish(claim, { status: 'SUCCESS' }, { plan, measured: { ...measured, heldBack } })
    expect(await noted(claim.runId)).toEqual([{ status: 'SUCCESS', ...plan, held_back: heldBack, blocks: 3 }])
  })

  it('does not replace a plan that was recorded before', async () => {
    const claim = await on.aClaim()
    await on.queue.planned(claim, plan)
    await on.queue.finish(claim, { status: 'SUCCESS' }, { plan: null, measured })
    expect(await noted(claim.runId)).toMatchObject([{ ...plan, held_back: null, blocks: 3 }])
  })

  it('stays when the run continues, because rows are to be repaired that any run has left', async () => {
    const earlier = await on.aClaim()
    await aRepair(earlier.runId)
    await on.queue.finish(earlier, { status: 'PAUSED' })
    await on.setStatus(earlier.pipeline.id, 'RUN_REQUESTED')
    const claim = (await on.queue.claim('first', LEASE))!
    expect(await on.queue.finish(claim, { status: 'SUCCESS' }, { plan, measured })).toBeNull()
    expect(await noted(claim.runId)).toMatchObject([{ status: 'RUNNING', ...plan, blocks: 3 }])
    await on.database.query('UPDATE etl.etl_repairs SET repaired_at = now()')
    await on.queue.finish(claim, { status: 'SUCCESS' }, { plan: null, measured })
    expect(await noted(claim.runId)).toMatchObject([{ status: 'SUCCESS', ...plan, blocks: 6 }])
  })
})

describe('R3.5 a schedule', () => {
  it('starts one run when two runners see the same tick', async () => {
    const { id } = await aPipeline(on.database, { scheduleInterval: '1 minute' })
    const { pipelines } = await on.dueRuns.dueSchedules()
    const [due] = pipelines
    const next = '2030-01-01T00:00:00Z'
    const won = await Promise.all([
      on.dueRuns.reschedule(due!, next, true),
      on.dueRuns.reschedule(due!, next, true),
    ])
    expect(won.sort()).toEqual([false, true])
    const runs = await on.database.query('SELECT trigger FROM etl.etl_runs WHERE pipeline_id = $1', [id])
    expect(runs).toEqual([{ trigger: 'schedule' }])
    expect((await on.dueRuns.dueSchedules()).pipelines).toEqual([])
  })
})
