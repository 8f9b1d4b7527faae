import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { anApi, type TestApi } from '../../../tests/support/api.js'
import { aPipeline } from '../../../tests/support/builders.js'
import { aDatabase, type TestDatabase } from '../../../tests/support/database.js'
import { aRunQueue } from '../../../tests/support/queue.js'
import type { RunQueueRepository } from '../../store/runs/run-queue.repository.js'
import { quarantinedWire, quarantinePage, replayWire } from '../schemas/quarantine.js'

let database: TestDatabase
let api: TestApi
let queue: RunQueueRepository
beforeAll(async () => {
  database = await aDatabase()
  api = anApi(database.loginUrl('meta'))
  queue = aRunQueue(database)
})

describe('the quarantine of a pipeline', () => {
  async function aHeldRow() {
    await aPipeline(database).then(({ id }) => api.post(`/pipelines/${id}/run`))
    const claim = (await queue.claim('runner-1', 30))!
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
