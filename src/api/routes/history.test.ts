import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { anApi, type TestApi } from '../../../tests/support/api.js'
import { aPipeline } from '../../../tests/support/builders.js'
import { aDatabase, type TestDatabase } from '../../../tests/support/database.js'
import type { Claim } from '../../model/claim.js'
import { NO_ROWS } from '../../model/run.js'
import { Database } from '../../store/database.js'
import { RunQueueRepository } from '../../store/runs/run-queue.repository.js'
import { quarantinedWire, quarantinePage, replayWire, runnersWire } from '../schemas/history.js'
import { batchPage, runDetailWire, runPage } from '../schemas/run.js'

let database: TestDatabase
let api: TestApi
let runnerSide: Database
let queue: RunQueueRepository
beforeAll(async () => {
  database = await aDatabase()
  api = anApi(database.loginUrl('meta'))
  runnerSide = new Database(database.loginUrl('writer'), { name: 'vitrina-runner', size: 2 })
  queue = new RunQueueRepository(runnerSide)
})
afterAll(async () => {
  await api.close()
  await runnerSide.close()
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

describe('the quarantine', () => {
  async function aHeldRow() {
    const claim = await aClaim()
    await queue.quarantine(
      claim,
      [{ key: '7', columns: ['id', 'title'], texts: ['7', null], reason: 'null title', sqlstate: '23502' }],
      null,
    )
    await queue.finish(claim, { status: 'SUCCESS' })
    const url = `/pipelines/${claim.pipeline.id}/quarantine`
    const { items } = quarantinePage.parse((await api.get(url)).json())
    return { id: claim.pipeline.id, url, row: items[0]! }
  }

  it('lists rows with their values and the reason of the rejection', async () => {
    const { url, row } = await aHeldRow()
    expect(row).toMatchObject({
      status: 'HELD',
      key: '7',
      row: { id: '7', title: null },
      reason: 'null title',
      sqlstate: '23502',
    })
    expect((await api.get(`${url}?status=DISCARDED`)).json().items).toEqual([])
  })

  it('requests a run that retries a row', async () => {
    const { id, url, row } = await aHeldRow()
    const answer = await api.post(`${url}/${row.id}/replay`)
    expect(answer.statusCode).toBe(202)
    const replay = replayWire.strict().parse(answer.json())
    expect(replay.status).toBe('REPLAY_REQUESTED')
    expect((await api.post(`${url}/${row.id}/replay`)).json()).toEqual(replay)
    const claim = (await queue.claim('runner-1', 30))!
    expect([claim.runId, claim.pipeline.id]).toEqual([replay.replay_run_id, id])
    await queue.finish(claim, { status: 'SUCCESS' })
  })

  it('discards a row permanently', async () => {
    const { url, row } = await aHeldRow()
    const answer = await api.post(`${url}/${row.id}/discard`)
    expect([answer.statusCode, quarantinedWire.strict().parse(answer.json()).status]).toEqual([
      200,
      'DISCARDED',
    ])
    expect((await api.post(`${url}/${row.id}/discard`)).statusCode).toBe(200)
    const late = await api.post(`${url}/${row.id}/replay`)
    expect([late.statusCode, late.json().code]).toEqual([409, 'QUARANTINE_SETTLED'])
  })

  it('rejects a replay for a disabled pipeline, and keeps the row held', async () => {
    const { id, url, row } = await aHeldRow()
    await api.post(`/pipelines/${id}/disable`)
    expect((await api.post(`${url}/${row.id}/replay`)).json().code).toBe('PIPELINE_DISABLED')
    expect((await api.get(url)).json().items[0].status).toBe('HELD')
  })

  it('returns 404 for rows of other pipelines and invalid ids', async () => {
    const { row } = await aHeldRow()
    const { id } = await aPipeline(database)
    for (const rowId of [row.id, '0', 'x', '9'.repeat(30)])
      expect((await api.post(`/pipelines/${id}/quarantine/${rowId}/discard`)).json().code).toBe(
        'QUARANTINE_NOT_FOUND',
      )
    expect((await api.get(`/pipelines/${randomUUID()}/quarantine`)).statusCode).toBe(404)
  })
})

describe('GET /runners', () => {
  it('lists runners and the pipelines they hold', async () => {
    const slots = { concurrency: 4, tags: { heavy: 1, '*': 3 }, connectionLimits: { main: 20 } }
    await queue.heartbeat({ id: 'runner-1', host: 'a', pid: 1, version: '1', ...slots })
    await queue.heartbeat({ id: 'runner-2', host: 'b', pid: 2, version: '1', ...slots })
    await queue.gone('runner-2')
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
