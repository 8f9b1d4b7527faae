import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { anApi, type TestApi } from '../../../tests/support/api.js'
import { aDatabase, type TestDatabase } from '../../../tests/support/database.js'
import { editedWire } from '../schemas/pipeline.js'

let database: TestDatabase
let api: TestApi
beforeAll(async () => {
  database = await aDatabase()
  api = anApi(database.loginUrl('meta'))
})

const aName = () => `p_${randomUUID().slice(0, 8)}`
const spec = (name = aName()) => ({
  name,
  source_query: 'SELECT id AS film_id, modified AS updated_at FROM content.film_work',
  target_table: `analytics.${name}`,
  key_columns: ['film_id'],
  mode: 'incremental',
  incremental_key: 'updated_at',
})

async function created(): Promise<string> {
  return (await api.post('/pipelines', spec())).json().id
}

/** Everything that an edit could leave behind. */
async function traces(): Promise<unknown> {
  const [row] = await database.query(
    `SELECT (SELECT string_agg(p::text, ' ' ORDER BY id) FROM etl.etl_pipelines p) AS pipelines,
            (SELECT count(*)::int FROM etl.etl_pipeline_versions) AS versions,
            (SELECT count(*)::int FROM etl.etl_audit) AS audit,
            (SELECT string_agg(s::text, ' ' ORDER BY pipeline_id) FROM etl.etl_state s) AS states`,
  )
  return row
}

describe('dry_run=true', () => {
  it('shows a pipeline as it would be created, and creates nothing', async () => {
    const before = await traces()
    const name = aName()
    const answer = await api.post('/pipelines?dry_run=true', spec(name))
    expect(answer.statusCode).toBe(200)
    expect(answer.headers.location).toBeUndefined()
    const shown = editedWire.strict().parse(answer.json())
    expect(shown).toMatchObject({ name, batch_size: 'auto', dry_run: { checkpoint: 'none' } })
    expect(shown.dry_run?.changes.name).toEqual({ old: null, new: name })
    expect(await traces()).toEqual(before)
  })

  it.each(['PATCH', 'POST'] as const)(
    'shows the effect of a change by %s, and changes nothing',
    async (method) => {
      const id = await created()
      const before = await traces()
      const url = `/pipelines/${id}${method === 'POST' ? '/update-config' : ''}?dry_run=true`
      const answer = await api.call({ method, url, payload: { batch_size: 7, mode: 'incremental' } })
      expect(answer.statusCode, answer.body).toBe(200)
      expect(editedWire.strict().parse(answer.json())).toMatchObject({
        id,
        batch_size: 7,
        config_version: 2,
        dry_run: { changes: { batch_size: { old: 'auto', new: 7 } }, checkpoint: 'none' },
      })
      expect(Object.keys(answer.json().dry_run.changes)).toEqual(['batch_size'])
      expect(await traces()).toEqual(before)
    },
  )

  it('reports the effect on the checkpoint', async () => {
    const id = await created()
    await database.query(
      "UPDATE etl.etl_state SET last_processed_key = '2024-01-01' WHERE pipeline_id = $1",
      [id],
    )
    const before = await traces()
    const fate = async (body: object) =>
      (await api.patch(`/pipelines/${id}?dry_run=true`, body)).json().dry_run.checkpoint
    const other = { source_query: 'SELECT id AS film_id, created AS updated_at FROM content.film_work' }
    expect(await fate({ batch_size: 7 })).toBe('kept')
    expect(await fate(other)).toBe('undecided')
    expect(await fate({ ...other, reset_checkpoint: true })).toBe('reset')
    expect(await fate({ ...other, reset_checkpoint: false })).toBe('kept')
    expect(await traces()).toEqual(before)
    expect((await api.patch(`/pipelines/${id}`, other)).json().code).toBe('CHECKPOINT_INVALID')
  })

  it('rejects what the change itself would be rejected for', async () => {
    const [id, other] = [await created(), await created()]
    const { name } = (await api.get(`/pipelines/${other}`)).json()
    const dry = async (body: object, headers = {}) =>
      (await api.patch(`/pipelines/${id}?dry_run=true`, body, headers)).json().code
    expect(await dry({ name })).toBe('PIPELINE_NAME_TAKEN')
    expect(await dry({ mode: 'sideways' })).toBe('REQUEST_INVALID')
    expect(await dry({ source_query: 'DELETE FROM content.film_work' })).toBe('REQUEST_INVALID')
    expect(await dry({ batch_size: 7 }, { 'if-match': '"9"' })).toBe('VERSION_STALE')
    expect((await api.post('/pipelines?dry_run=true', spec(name))).json().code).toBe('PIPELINE_NAME_TAKEN')
    for (const status of ['RUN_REQUESTED', 'RUNNING'])
      await database.query('UPDATE etl.etl_pipelines SET status = $2 WHERE id = $1', [id, status])
    expect(await dry({ mode: 'full' })).toBe('PIPELINE_BUSY')
    expect((await api.patch(`/pipelines/${randomUUID()}?dry_run=true`, {})).statusCode).toBe(404)
  })
})

describe('a pipeline managed by a file', () => {
  it('can be changed by files, or with take_over', async () => {
    const made = await api.post('/pipelines?managed_by=file', spec())
    const { id, managed_by } = made.json()
    expect(managed_by).toBe('file')
    const url = `/pipelines/${id}`
    const refused = await api.patch(url, { batch_size: 7 })
    expect([refused.statusCode, refused.json()]).toMatchObject([
      409,
      { code: 'PIPELINE_MANAGED', hint: expect.stringContaining('take_over=true') },
    ])
    expect((await api.patch(`${url}?dry_run=true`, { batch_size: 7 })).statusCode).toBe(409)
    expect((await api.call({ method: 'DELETE', url })).statusCode).toBe(409)
    expect((await api.post(`${url}/versions/1/restore`)).statusCode).toBe(409)
    expect((await api.post(`${url}/disable`)).json().managed_by).toBe('file')
    expect((await api.patch(`${url}?managed_by=file`, { batch_size: 8 })).json().managed_by).toBe('file')
    expect((await api.patch(`${url}?take_over=true`, { batch_size: 9 })).json().managed_by).toBe('api')
    expect((await api.patch(url, { batch_size: 10 })).statusCode).toBe(200)
    expect((await api.call({ method: 'DELETE', url })).statusCode).toBe(204)
  })
})
