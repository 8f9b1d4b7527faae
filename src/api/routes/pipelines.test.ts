import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { anApi, type TestApi } from '../../../tests/support/api.js'
import { aPipeline } from '../../../tests/support/builders.js'
import { aDatabase, type TestDatabase } from '../../../tests/support/database.js'
import { pipelinePage, pipelineWire, stateWire } from '../schemas/pipeline.js'

let database: TestDatabase
let api: TestApi
beforeAll(async () => {
  database = await aDatabase()
  api = anApi(database.loginUrl('meta'))
})

const MOMENT = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)

describe('GET /pipelines/{id}', () => {
  it('returns the pipeline with its tasks, with the names of the contract', async () => {
    const tasks = [
      { taskType: 'SQL', body: 'SELECT 1', sourceTable: 'content.genre' },
      { taskType: 'PYTHON', body: 'demo_genre', targetTable: 'analytics.genre_dim' },
    ] as const
    const { id, spec } = await aPipeline(database, { type: 'PYTHON', tasks })
    const answer = await api.get(`/api/v1/pipelines/${id}`)
    expect(answer.statusCode).toBe(200)
    expect(answer.headers.etag).toBe('"1"')
    pipelineWire.strict().parse(answer.json())
    expect(answer.json()).toMatchObject({
      ...{
        id,
        name: spec.name,
        type: 'PYTHON',
        source_type: 'postgres',
        target_table: spec.targetTable,
        mode: 'full',
      },
      ...{ key_columns: ['film_id'], batch_size: 'auto', enabled: true, status: 'IDLE', config_version: 1 },
      ...{
        source_connection: null,
        schedule_interval: null,
        schedule_timezone: 'UTC',
        created_at: MOMENT,
        updated_at: MOMENT,
      },
      tasks: [
        {
          order_index: 1,
          task_type: 'SQL',
          body: 'SELECT 1',
          source_table: 'content.genre',
          target_table: null,
        },
        {
          order_index: 2,
          task_type: 'PYTHON',
          body: 'demo_genre',
          source_table: null,
          target_table: 'analytics.genre_dim',
        },
      ],
    })
  })

  it('returns a chosen batch size as a number', async () => {
    const { id } = await aPipeline(database, { batchSize: 500 })
    expect((await api.get(`/pipelines/${id}`)).json().batch_size).toBe(500)
  })

  it('changes the ETag with each change of the configuration', async () => {
    const { id } = await aPipeline(database)
    await database.query("UPDATE etl.etl_pipelines SET description = 'new' WHERE id = $1", [id])
    expect((await api.get(`/pipelines/${id}`)).headers.etag).toBe('"2"')
  })

  it.each(['', '/status', '/state', '/runs'])(
    'returns 404 for an id that does not exist or is invalid: %s',
    async (suffix) => {
      for (const id of [randomUUID(), 'film_dim', '%00', "1' OR '1'='1"]) {
        const answer = await api.get(`/pipelines/${encodeURIComponent(id)}${suffix}`)
        expect([answer.statusCode, answer.json().code]).toEqual([404, 'PIPELINE_NOT_FOUND'])
      }
    },
  )
})

describe('GET /pipelines', () => {
  it('filters by status, by enabled and by part of the name', async () => {
    const tag = randomUUID().slice(0, 8)
    const film = await aPipeline(database, { name: `${tag}_Film` })
    const off = await aPipeline(database, { name: `${tag}_off`, enabled: false })
    await database.query("UPDATE etl.etl_pipelines SET status = 'RUN_REQUESTED' WHERE id = $1", [film.id])
    const ids = async (query: string) =>
      (await api.get(`/pipelines?q=${tag}${query}`)).json().items.map((item: { id: string }) => item.id)
    expect(await ids('')).toEqual([film.id, off.id])
    expect(await ids('_FILM')).toEqual([film.id])
    expect(await ids('&enabled=false')).toEqual([off.id])
    expect(await ids('&status=RUN_REQUESTED')).toEqual([film.id])
    expect(await ids('&status=FAILED')).toEqual([])
    expect(await ids('%25')).toEqual([])
  })

  it('filters by tags', async () => {
    const own = `t${randomUUID().slice(0, 8)}`
    const both = await aPipeline(database, { name: `${own}_a`, tags: [own, 'heavy'] })
    const one = await aPipeline(database, { name: `${own}_b`, tags: [own] })
    for (const path of ['/pipelines', '/pipelines/overview']) {
      const found = async (query: string) =>
        (await api.get(`${path}?${query}`)).json().items.map((item: { id: string }) => item.id)
      expect(await found(`tag=${own}`)).toEqual([both.id, one.id])
      expect(await found(`tag=${own}&tag=heavy`)).toEqual([both.id])
      expect(await found(`tag=heavy,${own}`)).toEqual([both.id])
      expect((await api.get(`${path}?tag=Heavy`)).statusCode).toBe(422)
    }
  })

  it('a requested run explains why no runner claims it', async () => {
    const { id } = await aPipeline(database, { tags: ['heavy'] })
    await database.query("UPDATE etl.etl_pipelines SET status = 'RUN_REQUESTED' WHERE id = $1", [id])
    await database.query(
      "INSERT INTO etl.etl_runners (id, host, pid, version, concurrency, tags) VALUES ('light', 'here', 1, '1', 4, '{\"reports\": 1}')",
    )
    const { current_run } = (await api.get(`/pipelines/${id}/status`)).json()
    expect(current_run.waiting).toEqual({
      code: 'NO_RUNNER_FOR_TAGS',
      detail: 'No runner accepts the tag heavy.',
      hint: expect.stringContaining('RUNNER_TAGS'),
    })
    expect((await api.get(`/runs/${current_run.id}`)).json().waiting).toEqual(current_run.waiting)
    await database.query("DELETE FROM etl.etl_runners WHERE id = 'light'")
    await database.query("UPDATE etl.etl_pipelines SET status = 'RUNNING' WHERE id = $1", [id])
    expect((await api.get(`/runs/${current_run.id}`)).json().waiting?.code).toBe(undefined)
  })

  it('returns all pages without losing or repeating an item', async () => {
    const tag = randomUUID().slice(0, 8)
    const made: { id: string }[] = []
    for (let n = 0; n < 5; n++) made.push(await aPipeline(database, { name: `${tag} "${n}" ü` }))
    const seen: string[] = []
    let url: string | undefined = `/api/v1/pipelines?q=${tag}&limit=2`
    let pages = 0
    while (url !== undefined) {
      const answer = await api.get(url)
      const page = pipelinePage.parse(answer.json())
      seen.push(...page.items.map((item) => item.id))
      pages += 1
      url = /^<(.*)>; rel="next"$/.exec(String(answer.headers.link ?? ''))?.[1]
      expect(url === undefined).toBe(page.next_cursor === null)
    }
    expect(pages).toBe(3)
    expect(seen).toEqual(made.map((pipeline) => pipeline.id))
  })
})

describe('GET /pipelines/{id}/state', () => {
  it('returns the checkpoint as text', async () => {
    const { id } = await aPipeline(database)
    expect((await api.get(`/pipelines/${id}/state`)).json()).toEqual({
      ...{ pipeline_id: id, last_processed_key: null, last_processed_id: null, updated_at: MOMENT },
    })
    await database.query(
      "UPDATE etl.etl_state SET last_processed_key = '2024-01-01 00:00:00.000001+00', last_processed_id = '7' WHERE pipeline_id = $1",
      [id],
    )
    const state = stateWire.strict().parse((await api.get(`/pipelines/${id}/state`)).json())
    expect(state).toMatchObject({
      last_processed_key: '2024-01-01 00:00:00.000001+00',
      last_processed_id: '7',
    })
  })
})
