import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { anApi, type TestApi } from '../../../tests/support/api.js'
import { aPipeline } from '../../../tests/support/builders.js'
import { aDatabase, type TestDatabase } from '../../../tests/support/database.js'
import { overviewWire } from '../schemas/overview.js'

let database: TestDatabase
let api: TestApi
beforeAll(async () => {
  database = await aDatabase()
  api = anApi(database.loginUrl('meta'))
})

async function overview(query = '') {
  const answer = await api.get(`/pipelines/overview${query}`)
  expect(answer.statusCode).toBe(200)
  return overviewWire.parse(answer.json())
}

/** A run that ended `minutes` ago. */
async function aRun(
  pipelineId: string,
  minutes: number,
  run: { status: string; rows?: number; error?: string },
) {
  await database.query(
    `INSERT INTO etl.etl_runs (pipeline_id, status, requested_at, started_at, finished_at, rows_read, rows_written, error, error_code)
     SELECT $1, $2, at - interval '3 s', at - interval '2 s', at, $4, $4, $5, $5
       FROM (SELECT now() - make_interval(mins => $3) AS at) moment`,
    [pipelineId, run.status, minutes, run.rows ?? 0, run.error ?? null],
  )
}

describe('the overview of pipelines', () => {
  it('shows the status, the runs and the age of the data of a pipeline', async () => {
    const { id, spec } = await aPipeline(database, { scheduleInterval: '15m' })
    for (let n = 30; n > 1; n--) await aRun(id, n, { status: 'SUCCESS', rows: n })
    await aRun(id, 1, { status: 'FAILED', error: 'KEY_NULL' })
    await database.query("UPDATE etl.etl_pipelines SET status = 'RUN_REQUESTED' WHERE id = $1", [id])
    const { items } = await overview(`?q=${spec.name.toUpperCase()}`)
    const [line] = items
    expect(line).toMatchObject({
      id,
      name: spec.name,
      target_table: spec.targetTable,
      status: 'RUN_REQUESTED',
      schedule_period_ms: 900_000,
      quarantined: 0,
      current_run: { status: 'REQUESTED', started_at: null, rows_read: 0 },
      last_run: { status: 'FAILED', duration_ms: 2000, error_code: 'KEY_NULL' },
    })
    expect(line!.recent.map(({ rows_read }) => rows_read)).toEqual([
      0,
      ...Array.from({ length: 19 }, (_, n) => n + 2),
    ])
    expect(Date.now() - Date.parse(line!.last_success_at!)).toBeGreaterThanOrEqual(120_000)
  })

  it('shows a pipeline that never ran', async () => {
    const { id, spec } = await aPipeline(database, { scheduleInterval: '0 6 * * *', scheduleTimezone: 'UTC' })
    const { items } = await overview(`?q=${spec.name}`)
    expect(items).toMatchObject([
      {
        id,
        current_run: null,
        last_run: null,
        last_success_at: null,
        recent: [],
        schedule_period_ms: 86_400_000,
      },
    ])
  })

  it('finds by target, by status and page by page', async () => {
    const table = `analytics.wanted_${randomUUID().slice(0, 8)}`
    const wanted = [
      await aPipeline(database, { targetTable: table, sharedTarget: true }),
      await aPipeline(database, { targetTable: table, sharedTarget: true }),
    ]
    const found = await overview(`?q=${table}`)
    expect(found.items.map(({ id }) => id).sort()).toEqual(wanted.map(({ id }) => id).sort())
    const first = await overview(`?q=${table}&limit=1`)
    const second = await overview(`?q=${table}&limit=1&cursor=${first.next_cursor}`)
    expect([...first.items, ...second.items]).toEqual(found.items)
    expect(second.next_cursor).toBeNull()
    expect((await overview(`?q=${table}&status=PAUSED`)).items).toEqual([])
    expect((await overview(`?q=${table}&enabled=false`)).items).toEqual([])
    expect((await api.get('/pipelines/overview?limit=1001')).statusCode).toBe(422)
  })

  it('filters by the prefix of the target', async () => {
    const { spec } = await aPipeline(database, { targetTable: 'es:films_of_a_kind' })
    const names = async (target: string) =>
      (await overview(`?target=${target}`)).items.map(({ name }: { name: string }) => name)
    expect(await names('es:')).toEqual([spec.name])
    expect(await names('s:')).toEqual([])
  })

  it('counts all pipelines, whatever the filter', async () => {
    const before = (await overview('?q=nothing_is_called_so')).summary
    const { id } = await aPipeline(database, { enabled: false })
    await database.query(
      `INSERT INTO etl.etl_runners (id, host, pid, version, concurrency, heartbeat_at, stopped_at) VALUES
         ('alive', 'h', 1, '1', 4, now(), NULL), ('silent', 'h', 2, '1', 4, now() - interval '16 s', NULL),
         ('stopped', 'h', 3, '1', 4, now(), now())`,
    )
    const { summary } = await overview('?q=nothing_is_called_so')
    expect(summary).toMatchObject({
      pipelines: before.pipelines + 1,
      disabled: before.disabled + 1,
      queued: before.queued,
      runners_alive: 1,
      runners_known: 2,
    })
    await database.query("UPDATE etl.etl_pipelines SET status = 'RUN_REQUESTED' WHERE id = $1", [id])
    expect((await overview()).summary.queued).toBe(before.queued + 1)
  })

  it('counts quarantined rows that are still held', async () => {
    const { id, spec } = await aPipeline(database)
    const row = (key: string, status: string) =>
      database.query(
        `INSERT INTO etl.etl_quarantine (pipeline_id, run_id, status, row_key, columns, row_text, reason)
         VALUES ($1, $2, $3, $4, '{}', '{}', 'no')`,
        [id, randomUUID(), status, key],
      )
    await row('a', 'HELD')
    await row('b', 'DISCARDED')
    expect((await overview(`?q=${spec.name}`)).items[0]!.quarantined).toBe(1)
  })
})
