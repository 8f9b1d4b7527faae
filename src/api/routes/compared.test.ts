import { beforeAll, describe, expect, it } from 'vitest'
import { anApi, type TestApi } from '../../../tests/support/api.js'
import { aPipeline } from '../../../tests/support/builders.js'
import { aDatabase, type TestDatabase } from '../../../tests/support/database.js'
import { aRunner } from '../../../tests/support/runner.js'
import { run } from '../../../tests/support/runs.js'
import { overviewWire } from '../schemas/overview.js'

let database: TestDatabase
let api: TestApi
beforeAll(async () => {
  database = await aDatabase({ cinema: true })
  api = anApi(database.loginUrl('meta'), { readerUrl: database.loginUrl('reader') })
  await aRunner(database)
})
async function lineOf(name: string) {
  return overviewWire.parse((await api.get(`/pipelines/overview?q=${name}`)).json()).items[0]!
}

describe('the last comparison of a mart', () => {
  it('is in the overview, counts and rows separately', async () => {
    const { id, spec } = await aPipeline(database)
    expect((await lineOf(spec.name)).compared).toEqual({ counts: null, rows: null })
    await run(database, id)
    await api.get(`/pipelines/${id}/reconcile`)
    const { compared } = await lineOf(spec.name)
    expect(compared).toMatchObject({ counts: { matches: true, missing: 0, config_version: 1 }, rows: null })
    expect(compared.counts!.source_rows).toBe(compared.counts!.target_rows)
    expect(compared.counts!.source_rows).toBeGreaterThan(0)
  })

  it('is replaced by the next one, and sent to all event streams', async () => {
    const { id, spec } = await aPipeline(database)
    await run(database, id)
    await api.get(`/pipelines/${id}/reconcile?deep=true`)
    const before = (await lineOf(spec.name)).compared.rows!
    expect(before).toMatchObject({ matches: true, missing: 0, extra: 0, different: 0 })
    await database.query(
      `DELETE FROM ${spec.targetTable} WHERE film_id = (SELECT film_id FROM ${spec.targetTable} LIMIT 1)`,
    )
    await api.get(`/pipelines/${id}/reconcile?deep=true`)
    const { counts, rows } = (await lineOf(spec.name)).compared
    expect(counts).toBeNull()
    expect(rows).toMatchObject({ matches: false, missing: 1, target_rows: before.target_rows - 1 })
    expect(rows!.at > before.at).toBe(true)
    const events = await database.query<{ data: { missing: number; deep: boolean } }>(
      "SELECT data FROM etl.etl_events WHERE kind = 'pipeline.compared' AND pipeline_id = $1 ORDER BY n",
      [id],
    )
    expect(events.map(({ data }) => [data.deep, data.missing])).toEqual([
      [true, 0],
      [true, 1],
    ])
  })

  it('is deleted with its pipeline', async () => {
    const { id } = await aPipeline(database)
    await run(database, id)
    await api.get(`/pipelines/${id}/reconcile`)
    expect((await api.call({ method: 'DELETE', url: `/pipelines/${id}` })).statusCode).toBe(204)
    expect(await database.query('SELECT FROM etl.etl_comparisons WHERE pipeline_id = $1', [id])).toEqual([])
  })
})
