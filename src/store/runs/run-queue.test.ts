import { beforeEach, describe, expect, it } from 'vitest'
import { aPipeline } from '../../../tests/support/builders.js'
import { aBatch, aQueue, LEASE, progress, type Queue } from '../../../tests/support/queue.js'

let on: Queue
beforeEach(async () => {
  on = await aQueue()
})

describe('claiming', () => {
  it('R3.2 gives each pipeline to one of eight runners that claim at once', async () => {
    const requested = [await on.aRequest(), await on.aRequest(), await on.aRequest()]
    const claims = await Promise.all(
      Array.from({ length: 8 }, (_, n) => on.queue.claim(`runner-${n}`, LEASE)),
    )
    const taken = claims.flatMap((claim) => (claim === null ? [] : [claim.pipeline.id]))
    expect(taken.sort()).toEqual(requested.sort())
  })

  it('R3.2 gives a single pipeline to exactly one of eight, again and again', async () => {
    const id = await on.aRequest()
    for (let round = 1; round <= 10; round++) {
      const claims = await Promise.all(
        Array.from({ length: 8 }, (_, n) => on.queue.claim(`runner-${n}`, LEASE)),
      )
      const winners = claims.filter((claim) => claim !== null)
      expect(winners).toHaveLength(1)
      expect(winners[0]).toMatchObject({
        pipeline: { id, status: 'RUNNING' },
        fence: round,
        attempt: 1,
        recovered: false,
        deaths: 0,
      })
      await on.queue.finish(winners[0]!, { status: 'SUCCESS' })
      await on.setStatus(id, 'RUN_REQUESTED')
    }
  })

  it('claims the oldest request first', async () => {
    const ids = [await on.aRequest(), await on.aRequest(), await on.aRequest()]
    const claimed = [
      await on.queue.claim('a', LEASE),
      await on.queue.claim('a', LEASE),
      await on.queue.claim('a', LEASE),
    ]
    expect(claimed.map((claim) => claim?.pipeline.id)).toEqual(ids)
  })

  it('R3.4 does not claim a disabled pipeline', async () => {
    await on.aRequest({ enabled: false })
    expect(await on.queue.claim('first', LEASE)).toBeNull()
  })

  it('starts the run and holds the pipeline', async () => {
    const claim = await on.aClaim()
    expect(await on.pipelineOf(claim)).toMatchObject({ status: 'RUNNING', lease_owner: 'first', fence: 1 })
    expect(await on.runOf(claim)).toMatchObject({
      status: 'RUNNING',
      runner_id: 'first',
      attempt: 1,
      trigger: 'sql',
    })
    expect(await on.queue.claim('second', LEASE)).toBeNull()
  })
})

describe('a pipeline to which another session is just adding a reference', () => {
  /** What the check of a query does while it notes the tables that the query reads. */
  async function refer(id: string): Promise<void> {
    const client = await on.database.client()
    await client.query('BEGIN')
    await client.query(
      "INSERT INTO etl.etl_pipeline_reads (pipeline_id, identity) VALUES ($1, '|content.film')",
      [id],
    )
  }

  it('is claimed, and taken over from a holder that is silent', async () => {
    const id = await on.aRequest()
    await refer(id)
    const claim = await on.queue.claim('first', LEASE)
    expect(claim?.pipeline.id).toBe(id)
    await on.expireLease(claim!)
    expect(await on.queue.claim('second', LEASE)).toMatchObject({ runId: claim!.runId, recovered: true })
  })

  it('starts by its schedule, by its freshness and after its upstream', async () => {
    const scheduled = await aPipeline(on.database, { scheduleInterval: '1 minute' })
    await refer(scheduled.id)
    const [due] = (await on.dueRuns.dueSchedules()).pipelines
    expect(await on.dueRuns.reschedule(due!, '2030-01-01T00:00:00Z', true)).toBe(true)

    const fresh = await aPipeline(on.database, { name: 'fresh', freshness: '60s' })
    await on.database.query(
      "UPDATE etl.etl_freshness SET due_at = clock_timestamp() - interval '1 s' WHERE pipeline_id = $1",
      [fresh.id],
    )
    await refer(fresh.id)
    expect(await on.dueRuns.requestByFreshness([])).toEqual({
      requested: [],
      unknown: [fresh.id],
      againMs: null,
    })
    expect(await on.dueRuns.requestByFreshness([fresh.id])).toMatchObject({
      requested: ['fresh'],
      unknown: [],
    })

    const follower = await aPipeline(on.database, { after: ['fresh'] })
    await on.database.query('SELECT etl.mark_followers($1, now())', [fresh.id])
    await on.database.query("UPDATE etl.etl_pipelines SET status = 'RUNNING' WHERE id = $1", [fresh.id])
    await on.database.query("UPDATE etl.etl_pipelines SET status = 'IDLE' WHERE id = $1", [fresh.id])
    await refer(follower.id)
    expect(await on.dueRuns.requestDue()).toHaveLength(1)
  })
})

describe('an expired lease', () => {
  it('R3.7 allows another runner to continue, and reports the previous holder to it', async () => {
    const first = await on.aClaim()
    await on.expireLease(first)
    const second = await on.queue.claim('second', LEASE)
    expect(second).toMatchObject({
      runId: first.runId,
      fence: 2,
      attempt: 2,
      recovered: true,
      deaths: 1,
      previousOwner: 'first',
      previousEnd: 'runner_died',
    })
    expect(await on.queue.claim('third', LEASE)).toBeNull()
  })

  it('keeps a pause that was requested meanwhile', async () => {
    const first = await on.aClaim()
    await on.setStatus(first.pipeline.id, 'PAUSE_REQUESTED')
    await on.expireLease(first)
    const second = await on.queue.claim('second', LEASE)
    expect(second?.control.pause).toBe(true)
    await on.queue.finish(second!, { status: 'PAUSED' })
    expect(await on.pipelineOf(first)).toMatchObject({ status: 'PAUSED', lease_owner: null })
  })

  it('R3.2 fences the old holder off from everything it could change', async () => {
    const old = await on.aClaim()
    await on.expireLease(old)
    await on.queue.claim('second', LEASE)
    const before = { pipeline: await on.pipelineOf(old), run: await on.runOf(old) }
    const late = {
      renew: () => on.queue.renew(old, LEASE),
      record: () =>
        on.queue.record(
          old,
          { ...aBatch, copiedCheckpoint: { key: 'x', id: 'y' } },
          { progress, leaseSeconds: LEASE, session: null },
        ),
      finish: () => on.queue.finish(old, { status: 'SUCCESS' }),
    }
    for (const [name, call] of Object.entries(late))
      await expect(call(), name).rejects.toMatchObject({ code: 'LEASE_LOST', class: 'stale' })
    await on.queue.release([old], { end: 'given_back' })
    expect({ pipeline: await on.pipelineOf(old), run: await on.runOf(old) }).toEqual(before)
    expect(await on.database.query('SELECT FROM etl.etl_run_batches')).toEqual([])
    expect(await on.database.query('SELECT last_processed_key FROM etl.etl_state')).toEqual([
      { last_processed_key: null },
    ])
  })

  it('counts the deaths of its holders until a batch is committed', async () => {
    const first = await on.aClaim()
    await on.expireLease(first)
    const second = await on.queue.claim('second', LEASE)
    await on.expireLease(first)
    const third = await on.queue.claim('third', LEASE)
    expect([second?.deaths, third?.deaths]).toEqual([1, 2])
    await on.queue.record(third!, aBatch, { progress, leaseSeconds: LEASE, session: null })
    await on.expireLease(first)
    expect(await on.queue.claim('fourth', LEASE)).toMatchObject({ deaths: 1, attempt: 4 })
  })
})

describe('a run that is handed back', () => {
  it('is claimed at once, without counting a death', async () => {
    const first = await on.aClaim()
    await on.queue.release([first], { end: 'given_back' })
    const second = await on.queue.claim('second', LEASE)
    expect(second).toMatchObject({
      runId: first.runId,
      recovered: true,
      deaths: 0,
      previousOwner: null,
      previousEnd: 'given_back',
      fence: 2,
    })
  })
})
