import { beforeAll, describe, expect, it } from 'vitest'
import { anApi, type TestApi } from '../../../tests/support/api.js'
import { aPipeline } from '../../../tests/support/builders.js'
import { aDatabase, type TestDatabase } from '../../../tests/support/database.js'
import { aRunnerPool, aRunQueue } from '../../../tests/support/queue.js'
import type { Claim } from '../../model/claim.js'
import { NO_ROWS } from '../../model/run.js'
import type { RunQueueRepository } from '../../store/runs/run-queue.repository.js'
import { RunnerRegistryRepository } from '../../store/runs/runner-registry.repository.js'
import { runnersWire } from '../schemas/history.js'
import { batchPage, runDetailWire, runPage } from '../schemas/run.js'

let database: TestDatabase
let api: TestApi
let queue: RunQueueRepository
beforeAll(async () => {
  database = await aDatabase()
  api = anApi(database.loginUrl('meta'))
  queue = aRunQueue(database)
})

async function aClaim(): Promise<Claim> {
  const { id } = await aPipeline(database)
  await api.post(`/pipelines/${id}/run`)
  return (await queue.claim('runner-1', 30))!
}

async function aBatch(claim: Claim, batch: number): Promise<void> {
  const rows = { ...NO_ROWS, read: 10, inserted: 10 }
  const record = {
    batch,
    step: 'full',
    rows,
    firstKey: `${batch}0`,
    lastKey: `${batch}9`,
    durationMs: 1.5,
    phases: { readMs: 0.5, transformMs: null, writeMs: 0.75, checkpointMs: 0.25 },
    copiedCheckpoint: null,
  }
  await queue.record(claim, record, { progress: { rows, batches: batch }, leaseSeconds: 30, session: null })
}

describe('runs', () => {
  it('can be filtered by status', async () => {
    const claim = await aClaim()
    await queue.finish(claim, { status: 'FAILED', error: 'x', code: 'INTERNAL', hint: 'y' })
    const ids = async (query: string) =>
      runPage.parse((await api.get(`/runs?${query}`)).json()).items.map((run) => run.id)
    expect(await ids('status=FAILED')).toContain(claim.runId)
    expect(await ids('status=SUCCESS')).not.toContain(claim.runId)
    expect(await ids(`status=FAILED&pipeline_id=${claim.pipeline.id}`)).toEqual([claim.runId])
    expect((await api.get(`/pipelines/${claim.pipeline.id}/runs?status=FAILED`)).json().items).toHaveLength(1)
  })

  it('return their batches, newest first, page by page', async () => {
    const claim = await aClaim()
    for (let batch = 1; batch <= 5; batch++) await aBatch(claim, batch)
    const run = runDetailWire.strict().parse((await api.get(`/runs/${claim.runId}`)).json())
    expect(run.batches).toBe(5)
    expect(run.batch_history.map((batch) => batch.batch)).toEqual([5, 4, 3, 2, 1])
    expect(run.batch_history[0]).toMatchObject({
      step: 'full',
      rows_read: 10,
      first_key: '50',
      last_key: '59',
      duration_ms: 1.5,
    })
    const first = batchPage.parse((await api.get(`/runs/${claim.runId}/batches?limit=3`)).json())
    const second = batchPage.parse(
      (await api.get(`/runs/${claim.runId}/batches?limit=3&cursor=${first.next_cursor}`)).json(),
    )
    expect([...first.items, ...second.items].map((batch) => batch.batch)).toEqual([5, 4, 3, 2, 1])
    expect(second.next_cursor).toBeNull()
    await queue.finish(claim, { status: 'SUCCESS' })
  })
})

describe('GET /runners', () => {
  it('lists runners and the pipelines they hold', async () => {
    const slots = { concurrency: 4, tags: { heavy: 1, '*': 3 }, connectionLimits: { main: 20 } }
    const registry = new RunnerRegistryRepository(aRunnerPool(database))
    await registry.heartbeat({ id: 'runner-1', host: 'a', pid: 1, version: '1', ...slots })
    await registry.heartbeat({ id: 'runner-2', host: 'b', pid: 2, version: '1', ...slots })
    await registry.gone('runner-2')
    const claim = await aClaim()
    const { items } = runnersWire.strict().parse((await api.get('/runners')).json())
    expect(items.map((runner) => [runner.id, runner.stopped_at === null])).toEqual([
      ['runner-1', true],
      ['runner-2', false],
    ])
    expect(items[0]).toMatchObject({ tags: { heavy: 1, '*': 3 }, connection_limits: { main: 20 } })
    expect(items[0]?.holds).toMatchObject([
      { pipeline_id: claim.pipeline.id, run_id: claim.runId, status: 'RUNNING' },
    ])
    expect(items[0]?.heartbeat_age_ms).toBeLessThan(60_000)
    await queue.finish(claim, { status: 'SUCCESS' })
  })
})
