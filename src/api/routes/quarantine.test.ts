import { randomUUID } from 'node:crypto'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { anApi, type TestApi } from '../../../tests/support/api.js'
import { aPipeline } from '../../../tests/support/builders.js'
import { aDatabase, type TestDatabase } from '../../../tests/support/database.js'
import { fleetQuarantinePage, settledWire } from '../schemas/quarantine.js'

let database: TestDatabase
let api: TestApi
beforeAll(async () => {
  database = await aDatabase()
  api = anApi(database.loginUrl('meta'))
})
beforeEach(() => database.query('DELETE FROM etl.etl_quarantine'))

/** A pipeline with rows that its target rejected; their ids, oldest first. */
async function aPipelineWithRows(rows: number, overrides: { enabled?: boolean } = {}) {
  const { id, spec } = await aPipeline(database, overrides)
  const held = await database.query<{ id: string }>(
    `INSERT INTO etl.etl_quarantine (pipeline_id, run_id, row_key, columns, row_text, reason, sqlstate)
     SELECT $1, $2, 'key ' || n, '{id,rating}', ARRAY['key ' || n, '10.55'], 'numeric field overflow', '22003'
       FROM generate_series(1, $3) n RETURNING id::text`,
    [id, randomUUID(), rows],
  )
  return { id, name: spec.name, rows: held.map((row) => String(row.id)) }
}

async function list(query = '') {
  const answer = await api.get(`/quarantine${query}`)
  expect(answer.statusCode).toBe(200)
  return fleetQuarantinePage.strict().parse(answer.json())
}

async function settle(action: 'replay' | 'discard', body: object) {
  const answer = await api.post(`/quarantine/${action}`, body)
  expect(answer.statusCode).toBe(action === 'replay' ? 202 : 200)
  return settledWire.strict().parse(answer.json())
}

const held = async (id: string) => (await list(`?pipeline_id=${id}&status=HELD`)).total

describe('the quarantine of all pipelines', () => {
  it('lists rows of all pipelines, newest first, and of one', async () => {
    const a = await aPipelineWithRows(2)
    const b = await aPipelineWithRows(1)
    const all = await list()
    expect(all.total).toBe(3)
    expect(all.items.map((row) => row.id)).toEqual([...b.rows, ...a.rows.reverse()])
    expect(all.items[0]).toMatchObject({ pipeline_id: b.id, pipeline_name: b.name, key: 'key 1' })
    const one = await list(`?pipeline_id=${a.id}&limit=1`)
    expect([one.total, one.items.length]).toEqual([2, 1])
    const next = await list(`?pipeline_id=${a.id}&limit=1&cursor=${one.next_cursor}`)
    expect(next.items[0]?.id).toBe(a.rows[1])
    expect((await list('?status=DISCARDED')).total).toBe(0)
  })

  it('discards some rows and reports each that it could not discard', async () => {
    const { id, rows } = await aPipelineWithRows(3)
    await api.post(`/pipelines/${id}/quarantine/${rows[0]}/replay`)
    await database.query("UPDATE etl.etl_quarantine SET status = 'REPLAYED' WHERE id = $1", [rows[0]])
    const done = await settle('discard', { row_ids: [rows[0], rows[1], rows[1], '999999999'] })
    expect(done).toMatchObject({
      rows: 1,
      refused: 2,
      refusals: [
        { id: rows[0], key: 'key 1', code: 'QUARANTINE_SETTLED' },
        { id: '999999999', key: null, code: 'QUARANTINE_NOT_FOUND' },
      ],
      pipelines: [{ pipeline_id: id, rows: 1, run_id: null }],
    })
    expect(await held(id)).toBe(1)
    // A second request finds it in the requested status.
    expect(await settle('discard', { row_ids: [rows[1]] })).toMatchObject({
      rows: 1,
      refused: 0,
      pipelines: [],
    })
    const { items } = (await api.get(`/audit?target_id=${id}&action=quarantine.discard`)).json()
    expect(items).toMatchObject([{ diff: { rows: 1 } }])
  })

  it('replays all rows of a pipeline with one run, except those added after the list was read', async () => {
    const { id, rows } = await aPipelineWithRows(3)
    const other = await aPipelineWithRows(1)
    const done = await settle('replay', { up_to: rows[1], pipeline_id: id })
    expect(done).toMatchObject({ rows: 2, refused: 0, pipelines: [{ pipeline_id: id, rows: 2 }] })
    expect([await held(id), await held(other.id)]).toEqual([1, 1])
    const status = (await api.get(`/pipelines/${id}/status`)).json()
    expect(status.current_run.id).toBe(done.pipelines[0]?.run_id)
  })

  it('replays rows of many pipelines, and keeps those of a disabled one held', async () => {
    const able = await aPipelineWithRows(2)
    const disabled = await aPipelineWithRows(2, { enabled: false })
    const done = await settle('replay', { up_to: disabled.rows[1] })
    expect(done).toMatchObject({ rows: 2, refused: 2, pipelines: [{ pipeline_id: able.id }] })
    expect(done.refusals.map(({ code, pipeline_name }) => [code, pipeline_name])).toEqual([
      ['PIPELINE_DISABLED', disabled.name],
      ['PIPELINE_DISABLED', disabled.name],
    ])
    expect(await held(disabled.id)).toBe(2)
    expect(await settle('discard', { up_to: disabled.rows[1] })).toMatchObject({ rows: 2, refused: 0 })
  })

  it('sends one event for each pipeline', async () => {
    const { id, rows } = await aPipelineWithRows(3)
    await settle('discard', { row_ids: rows })
    const events = await database.query(
      "SELECT data FROM etl.etl_events WHERE kind = 'quarantine.settled' AND pipeline_id = $1",
      [id],
    )
    expect(events).toEqual([{ data: { rows: 3, released: 3 } }])
  })

  it.each([
    [{}],
    [{ row_ids: [] }],
    [{ row_ids: ['x'] }],
    [{ row_ids: ['1'], up_to: '1' }],
    [{ row_ids: ['1'], pipeline_id: randomUUID() }],
    [{ row_ids: Array.from({ length: 1001 }, (_, n) => String(n + 1)) }],
  ])('rejects an invalid selection: %j', async (body) => {
    expect((await api.post('/quarantine/discard', body)).statusCode).toBe(422)
  })
})
