import { randomUUID } from 'node:crypto'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { beforeAll, describe, expect, it } from 'vitest'
import { anApi, type TestApi, TOKEN } from '../../../tests/support/api.js'
import { aPipeline } from '../../../tests/support/builders.js'
import { aDatabase, type TestDatabase } from '../../../tests/support/database.js'
import { aRunner } from '../../../tests/support/runner.js'
import { waitFor } from '../../../tests/support/wait.js'

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

let database: TestDatabase
let api: TestApi
beforeAll(async () => {
  database = await aDatabase({ cinema: true })
  api = anApi(database.loginUrl('meta'))
})

describe('POST /pipelines/{id}/run?wait', () => {
  it('returns the run when it has ended, successfully or not', async () => {
    const good = await aPipeline(database)
    const bad = await aPipeline(database, {
      sourceQuery: 'SELECT id AS film_id, 1 / 0 AS x FROM content.film_work',
    })
    await aRunner(database)
    const done = await api.post(`/pipelines/${good.id}/run?wait=60s`)
    expect([done.statusCode, done.json()]).toMatchObject([
      200,
      { status: 'IDLE', run: { status: 'SUCCESS' } },
    ])
    expect(done.json().run.id).toBe(done.json().run_id)
    const failed = await api.post(`/pipelines/${bad.id}/run?wait=60s`)
    expect([failed.statusCode, failed.json()]).toMatchObject([
      200,
      { status: 'FAILED', run: { status: 'FAILED' } },
    ])
  })

  it('returns the current run when the time is up, and the run continues', async () => {
    const { id } = await aPipeline(database)
    const answer = await api.post(`/pipelines/${id}/run?wait=1s`)
    expect([answer.statusCode, answer.json()]).toMatchObject([
      202,
      { status: 'RUN_REQUESTED', run: { status: 'REQUESTED', cancel_requested: false } },
    ])
  })

  it('rejects an invalid time', async () => {
    const { id } = await aPipeline(database)
    for (const wait of ['0s', '61s', '30', '1m', '-1s', ''])
      expect((await api.post(`/pipelines/${id}/run?wait=${wait}`)).statusCode, wait).toBe(422)
    expect((await api.get(`/pipelines/${id}/runs`)).json().items).toEqual([])
  })

  it('does not prevent the server from closing', async () => {
    const own = anApi(database.loginUrl('meta'))
    const { id } = await aPipeline(database)
    // Over a socket: only then does closing wait for the response.
    const address = await own.app.listen({ host: '127.0.0.1', port: 0 })
    const answer = fetch(`${address}/pipelines/${id}/run?wait=60s`, {
      method: 'POST',
      headers: { authorization: `Bearer ${TOKEN}` },
    })
    await waitFor(async () => (await own.get(`/pipelines/${id}/runs`)).json().items.length === 1, {
      what: 'the run',
    })
    await own.close()
    expect((await answer).status).toBe(202)
  })
})

describe('GET /runs/{id}?wait', () => {
  it('R7.4 responds when the run has ended, so that an orchestrator need not poll', async () => {
    const { id } = await aPipeline(database)
    const { url } = (await api.post(`/pipelines/${id}/run`)).json()
    const answer = api.get(`${url}?wait=60s`)
    await aRunner(database)
    expect([(await answer).statusCode, (await answer).json()]).toMatchObject([200, { status: 'SUCCESS' }])
  })

  it('returns the current run when the time is up', async () => {
    const { id } = await aPipeline(database)
    const { url } = (await api.post(`/pipelines/${id}/run`)).json()
    const answer = await api.get(`${url}?wait=1s`)
    expect([answer.statusCode, answer.json()]).toMatchObject([200, { status: 'REQUESTED' }])
  })

  it('respects its time during garbage collection', async () => {
    const { id } = await aPipeline(database)
    const { url } = (await api.post(`/pipelines/${id}/run`)).json()
    let garbage: NodeJS.Timeout = setTimeout(function collect() {
      const since = performance.now()
      collectGarbage()
      // As long as it took: a full collection of a large heap would leave no time for anything else.
      garbage = setTimeout(collect, 50 + performance.now() - since)
    })
    const answers = await Promise.all([
      api.get(`${url}?wait=2s`),
      api.post(`/pipelines/${id}/run?wait=2s`),
    ]).finally(() => clearTimeout(garbage))
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 202])
  })

  it('rejects an invalid time, and a run that does not exist', async () => {
    const { id } = await aPipeline(database)
    const { url } = (await api.post(`/pipelines/${id}/run`)).json()
    expect((await api.get(`${url}?wait=61s`)).statusCode).toBe(422)
    const missing = await api.get(`/runs/${randomUUID()}?wait=1s`)
    expect([missing.statusCode, missing.json().code]).toEqual([404, 'RUN_NOT_FOUND'])
  })
})
