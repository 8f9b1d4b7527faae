import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { anApi, type TestApi } from '../../../tests/support/api.js'
import { aPipeline } from '../../../tests/support/builders.js'
import { aDatabase, type TestDatabase } from '../../../tests/support/database.js'
import { aBatch, aRunQueue, progress } from '../../../tests/support/queue.js'
import type { Claim } from '../../model/claim.js'
import type { RunQueueRepository } from '../../store/runs/run-queue.repository.js'
import { statusWire } from '../schemas/control.js'
import { runDetailWire, runPage, runWire } from '../schemas/run.js'

let database: TestDatabase
let api: TestApi
let queue: RunQueueRepository
beforeAll(async () => {
  database = await aDatabase()
  api = anApi(database.loginUrl('meta'))
  queue = aRunQueue(database)
})

/** What a runner does. Tests of this file run one after another, so the oldest request is the test's own. */
async function claimRun(runId: string): Promise<Claim> {
  const claim = await queue.claim('test-runner', 30)
  expect(claim?.runId).toBe(runId)
  return claim!
}

async function aRequestedRun() {
  const { id, spec } = await aPipeline(database)
  const { run_id } = (await api.post(`/pipelines/${id}/run`)).json()
  return { id, name: spec.name, runId: run_id as string, claim: await claimRun(run_id) }
}

describe('POST /pipelines/{id}/run', () => {
  it('returns the run at once, which can be read from then on', async () => {
    const { id } = await aPipeline(database)
    const answer = await api.post(`/pipelines/${id}/run`)
    expect(answer.statusCode).toBe(202)
    const { run_id, url } = answer.json()
    expect(answer.json()).toEqual({ id, status: 'RUN_REQUESTED', run_id, url: `/api/v1/runs/${run_id}` })
    expect(answer.headers.location).toBe(url)
    const run = runDetailWire.strict().parse((await api.get(url)).json())
    expect(run).toMatchObject({
      id: run_id,
      pipeline_id: id,
      status: 'REQUESTED',
      trigger: 'api',
      started_at: null,
      rows_read: 0,
    })
    const line = api.lines.find((each) => each.run_id === run_id)
    expect(line).toMatchObject({
      msg: 'Run requested.',
      pipeline_id: id,
      request_id: answer.headers['x-request-id'],
    })
    await queue.finish(await claimRun(run_id), { status: 'SUCCESS' })
  })

  it('returns the same run while it is requested and while it is running', async () => {
    const { id } = await aPipeline(database)
    const answers = await Promise.all(Array.from({ length: 10 }, () => api.post(`/pipelines/${id}/run`)))
    const runs = new Set(answers.map((answer) => answer.json().run_id))
    expect(runs.size).toBe(1)
    const claim = await claimRun([...runs][0])
    expect((await api.post(`/pipelines/${id}/run`)).json()).toMatchObject({
      status: 'RUNNING',
      run_id: claim.runId,
    })
    await queue.finish(claim, { status: 'SUCCESS' })
    const next = await api.post(`/pipelines/${id}/run`)
    expect(runs).not.toContain(next.json().run_id)
    await queue.finish(await claimRun(next.json().run_id), { status: 'SUCCESS' })
  })

  it('rejects a disabled pipeline and one that does not exist', async () => {
    const { id } = await aPipeline(database, { enabled: false })
    const disabled = await api.post(`/pipelines/${id}/run`)
    expect([disabled.statusCode, disabled.json().code]).toEqual([409, 'PIPELINE_DISABLED'])
    for (const unknown of [randomUUID(), 'film_dim']) {
      const answer = await api.post(`/pipelines/${unknown}/run`)
      expect([answer.statusCode, answer.json().code]).toEqual([404, 'PIPELINE_NOT_FOUND'])
    }
  })
})

describe('POST /pipelines/{id}/pause', () => {
  it('requests a pause of a running pipeline, with the same result until it is paused and after', async () => {
    const { id, claim } = await aRequestedRun()
    const first = await api.post(`/pipelines/${id}/pause`)
    expect([first.statusCode, first.json()]).toEqual([
      202,
      { id, status: 'PAUSE_REQUESTED', url: `/api/v1/pipelines/${id}/status` },
    ])
    expect((await api.post(`/pipelines/${id}/pause`)).json().status).toBe('PAUSE_REQUESTED')
    await queue.finish(claim, { status: 'PAUSED' })
    const after = await api.post(`/pipelines/${id}/pause`)
    expect([after.statusCode, after.json().status]).toEqual([202, 'PAUSED'])
  })

  it('is rejected when nothing runs', async () => {
    const { id, spec } = await aPipeline(database)
    const answer = await api.post(`/pipelines/${id}/pause`)
    expect(answer.statusCode).toBe(409)
    expect(answer.json()).toMatchObject({
      code: 'TRANSITION_REFUSED',
      detail: expect.stringContaining(`"${spec.name}" is IDLE`),
    })
    expect((await api.post(`/pipelines/${randomUUID()}/pause`)).statusCode).toBe(404)
  })
})

describe('GET /pipelines/{id}/status', () => {
  it('shows the run in progress, the last one that ended, and the age of the last success', async () => {
    const { id, name, runId, claim } = await aRequestedRun()
    const during = statusWire.strict().parse((await api.get(`/pipelines/${id}/status`)).json())
    expect(during).toMatchObject({ id, name, status: 'RUNNING', enabled: true, last_run: null, lag: null })
    expect(during.current_run).toMatchObject({
      id: runId,
      status: 'RUNNING',
      attempt: 1,
      runner_id: 'test-runner',
    })
    await queue.finish(claim, { status: 'SUCCESS' })
    const after = statusWire.parse((await api.get(`/pipelines/${id}/status`)).json())
    expect(after).toMatchObject({
      status: 'IDLE',
      current_run: null,
      last_run: { id: runId, status: 'SUCCESS' },
    })
    expect(after.lag?.seconds_since_success).toBeGreaterThanOrEqual(0)
    expect(after.lag?.seconds_since_success).toBeLessThan(60)
  })
})

describe('runs', () => {
  it('report why one failed', async () => {
    const { id, runId, claim } = await aRequestedRun()
    await queue.finish(claim, {
      status: 'FAILED',
      error: 'film_id is NULL',
      code: 'KEY_NULL',
      hint: 'Fill it.',
    })
    const run = runWire.parse((await api.get(`/runs/${runId}`)).json())
    expect(run).toMatchObject({
      pipeline_id: id,
      status: 'FAILED',
      error: 'film_id is NULL',
      error_code: 'KEY_NULL',
      error_hint: 'Fill it.',
    })
    expect(run.duration_ms).toBeGreaterThanOrEqual(0)
    expect((await api.get(`/pipelines/${id}`)).json().status).toBe('FAILED')
  })

  it('are listed newest first, for one pipeline or for all', async () => {
    const { id, runId, claim } = await aRequestedRun()
    await queue.finish(claim, { status: 'SUCCESS' })
    const second = (await api.post(`/pipelines/${id}/run`)).json().run_id
    await queue.finish(await claimRun(second), { status: 'CANCELLED' })
    const ids = (body: unknown) => runPage.parse(body).items.map((run) => run.id)
    expect(ids((await api.get(`/pipelines/${id}/runs`)).json())).toEqual([second, runId])
    expect(ids((await api.get(`/runs?pipeline_id=${id}`)).json())).toEqual([second, runId])
    const first = await api.get('/api/v1/runs?limit=1')
    expect(ids(first.json())).toEqual([second])
    expect(ids((await api.get(`/runs?limit=1&cursor=${first.json().next_cursor}`)).json())).toEqual([runId])
  })

  it('return 404 for one that does not exist', async () => {
    for (const id of [randomUUID(), 'latest']) {
      const answer = await api.get(`/runs/${id}`)
      expect([answer.statusCode, answer.json().code]).toEqual([404, 'RUN_NOT_FOUND'])
    }
    expect((await api.get('/runs?pipeline_id=film_dim')).json().errors).toMatchObject([
      { field: 'pipeline_id' },
    ])
  })
})

describe('POST /runs/{id}/cancel?force=true', () => {
  it('ends the run while it has a holder, which can commit nothing more (invariant 4)', async () => {
    const { id, runId, claim } = await aRequestedRun()
    await queue.record(claim, aBatch, { progress, leaseSeconds: 30, session: null })
    const answer = await api.post(`/runs/${runId}/cancel?force=true`)
    expect(answer.statusCode).toBe(202)
    expect(answer.json()).toMatchObject({ status: 'CANCELLED', cancel_requested: true, batches: 1 })
    expect(answer.json().finished_at).not.toBeNull()
    expect((await api.get(`/pipelines/${id}/status`)).json().status).toBe('IDLE')
    const next = { ...aBatch, batch: 2 }
    await expect(
      queue.record(claim, next, { progress, leaseSeconds: 30, session: null }),
    ).rejects.toMatchObject({ code: 'LEASE_LOST' })
    await expect(queue.finish(claim, { status: 'SUCCESS' })).rejects.toMatchObject({ code: 'LEASE_LOST' })
    const { items } = (await api.get(`/audit?target_id=${runId}`)).json()
    expect(items[0]).toMatchObject({ action: 'run.cancel', diff: { force: true } })
    // Repeated it changes nothing, and the pipeline runs again.
    expect((await api.post(`/runs/${runId}/cancel?force=true`)).json().status).toBe('CANCELLED')
    const again = (await api.post(`/pipelines/${id}/run`)).json()
    expect((await claimRun(again.run_id)).fence).toBeGreaterThan(claim.fence)
  })

  it('leaves a pipeline PAUSED whose pause was requested', async () => {
    const { id, runId } = await aRequestedRun()
    await api.post(`/pipelines/${id}/pause`)
    expect((await api.post(`/runs/${runId}/cancel?force=true`)).json().status).toBe('CANCELLED')
    expect((await api.get(`/pipelines/${id}/status`)).json().status).toBe('PAUSED')
  })
})
