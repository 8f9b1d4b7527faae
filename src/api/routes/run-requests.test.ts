import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { anApi, type TestApi, TOKEN } from '../../../tests/support/api.js'
import { aPipeline } from '../../../tests/support/builders.js'
import { aDatabase, type TestDatabase } from '../../../tests/support/database.js'
import { aRunQueue } from '../../../tests/support/queue.js'
import type { RunQueueRepository } from '../../store/runs/run-queue.repository.js'

let database: TestDatabase
let api: TestApi
let queue: RunQueueRepository
beforeAll(async () => {
  database = await aDatabase()
  api = anApi(database.loginUrl('meta'))
  queue = aRunQueue(database)
})

const run = (id: string, key: string, body: object = {}) =>
  api.call({
    method: 'POST',
    url: `/pipelines/${id}/run`,
    payload: body,
    headers: { authorization: `Bearer ${TOKEN}`, 'idempotency-key': key },
  })

async function finishAll(): Promise<void> {
  for (let claim = await queue.claim('test', 30); claim !== null; claim = await queue.claim('test', 30))
    await queue.finish(claim, { status: 'SUCCESS' })
}

describe('Idempotency-Key', () => {
  it('R5.3 returns one run for fifty equal concurrent requests', async () => {
    const { id } = await aPipeline(database)
    const key = randomUUID()
    const answers = await Promise.all(Array.from({ length: 50 }, () => run(id, key)))
    expect(new Set(answers.map((answer) => answer.statusCode))).toEqual(new Set([202]))
    expect(new Set(answers.map((answer) => answer.json().run_id)).size).toBe(1)
    const fresh = answers.filter((answer) => answer.headers['idempotent-replay'] === undefined)
    expect(fresh).toHaveLength(1)
    expect(await database.query('SELECT FROM etl.etl_runs WHERE pipeline_id = $1', [id])).toHaveLength(1)
  })

  it('returns the same run even after it ended', async () => {
    const { id } = await aPipeline(database)
    const first = await run(id, 'after-the-end')
    await finishAll()
    const again = await run(id, 'after-the-end')
    expect([again.json().run_id, again.headers['idempotent-replay']]).toEqual([first.json().run_id, 'true'])
    const other = await run(id, 'another-key')
    expect(other.json().run_id).not.toBe(first.json().run_id)
    await finishAll()
  })

  it('rejects a key that belongs to another request, and deletes it after a day', async () => {
    const [a, b] = [await aPipeline(database), await aPipeline(database)]
    await run(a.id, 'shared')
    for (const answer of [await run(b.id, 'shared'), await run(a.id, 'shared', { external_ref: 'x' })])
      expect([answer.statusCode, answer.json().code]).toEqual([422, 'IDEMPOTENCY_KEY_REUSED'])
    await database.query("UPDATE etl.etl_idempotency SET at = at - interval '25 hours'")
    expect((await run(b.id, 'shared')).statusCode).toBe(202)
    await finishAll()
  })

  it('does not use up the key of a rejected request', async () => {
    const { id } = await aPipeline(database, { enabled: false })
    expect((await run(id, 'too-early')).statusCode).toBe(409)
    await api.post(`/pipelines/${id}/enable`)
    const answer = await run(id, 'too-early')
    expect([answer.statusCode, answer.headers['idempotent-replay']]).toEqual([202, undefined])
    await finishAll()
    expect((await run(id, 'x'.repeat(256))).json().errors).toMatchObject([{ field: 'idempotency-key' }])
  })
})

describe('external_ref', () => {
  it('finds the active run again, and names the conflicting one', async () => {
    const { id } = await aPipeline(database)
    const ask = (external_ref?: string) =>
      api.post(`/pipelines/${id}/run`, external_ref ? { external_ref } : {})
    const first = await ask('dag:1')
    expect((await api.get(first.json().url)).json().external_ref).toBe('dag:1')
    expect((await ask('dag:1')).json().run_id).toBe(first.json().run_id)
    expect((await ask()).json().run_id).toBe(first.json().run_id)
    const other = await ask('dag:2')
    expect([other.statusCode, other.json().code, other.json().run_id]).toEqual([
      409,
      'RUN_ACTIVE',
      first.json().run_id,
    ])
    await finishAll()
    expect((await ask('dag:2')).statusCode).toBe(202)
    await finishAll()
  })
})

describe('POST /runs/{id}/cancel', () => {
  it('cancels a requested run at once, repeatedly', async () => {
    const { id } = await aPipeline(database)
    const runId = (await api.post(`/pipelines/${id}/run`)).json().run_id
    for (let time = 0; time < 2; time++) {
      const answer = await api.post(`/runs/${runId}/cancel`)
      expect([answer.statusCode, answer.json().status]).toEqual([202, 'CANCELLED'])
    }
    expect((await api.get(`/pipelines/${id}`)).json().status).toBe('IDLE')
    expect(await queue.claim('test', 30)).toBeNull()
    expect((await api.post(`/pipelines/${id}/run`)).json().run_id).not.toBe(runId)
    await finishAll()
  })

  it('stops a running one, whose runner notices at the next batch', async () => {
    const { id } = await aPipeline(database)
    const runId = (await api.post(`/pipelines/${id}/run`)).json().run_id
    const claim = (await queue.claim('test', 30))!
    const answer = await api.post(`/runs/${runId}/cancel`)
    expect([answer.statusCode, answer.json()]).toMatchObject([
      202,
      { status: 'RUNNING', cancel_requested: true },
    ])
    expect((await queue.renew(claim, 30)).cancel).toBe(true)
    await queue.finish(claim, { status: 'CANCELLED' })
    const after = await api.post(`/runs/${runId}/cancel`)
    expect([after.statusCode, after.json().status]).toEqual([202, 'CANCELLED'])
    expect((await api.get(`/pipelines/${id}`)).json().status).toBe('IDLE')
  })

  it('leaves a race with a runner in one of two valid states', async () => {
    for (let round = 0; round < 10; round++) {
      const { id } = await aPipeline(database)
      const runId = (await api.post(`/pipelines/${id}/run`)).json().run_id
      const [answer, claim] = await Promise.all([api.post(`/runs/${runId}/cancel`), queue.claim('test', 30)])
      expect(answer.statusCode).toBe(202)
      const { status } = (await api.get(`/pipelines/${id}`)).json()
      expect(status).toBe(claim === null ? 'IDLE' : 'RUNNING')
      if (claim !== null) await queue.finish(claim, { status: 'CANCELLED' })
    }
  })

  it('returns 404 for one that does not exist', async () => {
    expect((await api.post(`/runs/${randomUUID()}/cancel`)).json().code).toBe('RUN_NOT_FOUND')
  })
})
