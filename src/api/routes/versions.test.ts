import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { anApi, type TestApi } from '../../../tests/support/api.js'
import { aPipeline } from '../../../tests/support/builders.js'
import { aDatabase, type TestDatabase } from '../../../tests/support/database.js'
import { auditPage, versionPage, versionWire } from '../schemas/history.js'

let database: TestDatabase
let api: TestApi
beforeAll(async () => {
  database = await aDatabase()
  api = anApi(database.loginUrl('meta'))
})

async function created(changes: object = {}): Promise<string> {
  const name = randomUUID()
  const body = { name, source_query: 'SELECT 1 AS id', target_table: `analytics."${name}"`, ...changes }
  return (await api.post('/pipelines', body)).json().id
}

const versionsOf = async (id: string) =>
  versionPage.parse((await api.get(`/pipelines/${id}/versions`)).json()).items
const auditOf = async (id: string) => auditPage.parse((await api.get(`/audit?target_id=${id}`)).json()).items

describe('versions', () => {
  it('record each change with its author, the whole configuration and the difference', async () => {
    const id = await created({ description: 'one' })
    const tasks = [{ task_type: 'SQL', body: 'SELECT 2 AS id' }]
    await api.patch(`/pipelines/${id}`, { description: 'two', tasks })
    const [second, first] = await versionsOf(id)
    expect(first).toMatchObject({
      version: 1,
      author: 'administrator',
      spec: { description: 'one', batch_size: 'auto', tasks: [] },
    })
    expect(second).toMatchObject({
      version: 2,
      spec: { description: 'two', tasks: [{ body: 'SELECT 2 AS id' }] },
    })
    expect(Object.keys(second!.diff).sort()).toEqual(['description', 'tasks'])
    expect(second!.diff.description).toEqual({ old: 'one', new: 'two' })
    expect(versionWire.strict().parse((await api.get(`/pipelines/${id}/versions/1`)).json())).toEqual(first)
    for (const version of ['3', '0', '-1', 'x', '99999999999999'])
      expect((await api.get(`/pipelines/${id}/versions/${version}`)).json().code).toBe('VERSION_NOT_FOUND')
  })

  it('are also created by plain SQL, one for each transaction', async () => {
    const { id } = await aPipeline(database)
    const client = await database.client()
    await client.query('BEGIN')
    await client.query("UPDATE etl.etl_pipelines SET description = 'a' WHERE id = $1", [id])
    await client.query('UPDATE etl.etl_pipelines SET batch_size = 5 WHERE id = $1', [id])
    await client.query(
      "INSERT INTO etl.etl_pipeline_tasks (pipeline_id, order_index, task_type, body) VALUES ($1, 1, 'SQL', 'SELECT 1')",
      [id],
    )
    await client.query('COMMIT')
    const [second, first, ...rest] = await versionsOf(id)
    expect([second?.version, first?.version, rest]).toEqual([2, 1, []])
    expect(second?.author).toMatch(/^sql:/)
    expect(Object.keys(second!.diff).sort()).toEqual(['batch_size', 'description', 'tasks'])
    expect((await auditOf(id)).map((entry) => entry.action)).toEqual(['pipeline.change', 'pipeline.create'])
  })

  it('are not created by runs', async () => {
    const id = await created()
    await api.post(`/pipelines/${id}/run`)
    expect(await versionsOf(id)).toHaveLength(1)
  })

  it('can be restored, as a new version', async () => {
    const id = await created({ description: 'good', batch_size: 10 })
    await api.patch(`/pipelines/${id}`, {
      description: 'bad',
      batch_size: 'auto',
      tasks: [{ task_type: 'SQL', body: 'SELECT 3 AS id' }],
    })
    const answer = await api.post(`/pipelines/${id}/versions/1/restore`)
    expect([answer.statusCode, answer.json()]).toMatchObject([
      200,
      { description: 'good', batch_size: 10, tasks: [], config_version: 3 },
    ])
    expect((await auditOf(id))[0]).toMatchObject({ action: 'pipeline.restore' })
    expect((await api.post(`/pipelines/${id}/versions/9/restore`)).statusCode).toBe(404)
  })

  it('ask about the checkpoint if the old query differs', async () => {
    const id = await created({ mode: 'incremental', incremental_key: 'id' })
    await api.patch(`/pipelines/${id}`, { source_query: 'SELECT 2 AS id' })
    await database.query("UPDATE etl.etl_state SET last_processed_key = '1' WHERE pipeline_id = $1", [id])
    expect((await api.post(`/pipelines/${id}/versions/1/restore`)).json().code).toBe('CHECKPOINT_INVALID')
    expect(
      (await api.post(`/pipelines/${id}/versions/1/restore`, { reset_checkpoint: true })).statusCode,
    ).toBe(200)
  })
})

describe('the audit', () => {
  it('has an entry for every change, with its request', async () => {
    const id = await created()
    const { headers } = await api.patch(`/pipelines/${id}`, { description: 'x' })
    await api.post(`/pipelines/${id}/disable`)
    await api.post(`/pipelines/${id}/enable`)
    await api.post(`/pipelines/${id}/reset`)
    await api.post(`/pipelines/${id}/reload-config`)
    const runId = (await api.post(`/pipelines/${id}/run`)).json().run_id
    await api.post(`/pipelines/${id}/run`)
    await api.post(`/runs/${runId}/cancel`)
    await api.call({ method: 'DELETE', url: `/pipelines/${id}` })
    const entries = await auditOf(id)
    expect(entries.map((entry) => entry.action)).toEqual(
      ['delete', 'run', 'reload', 'reset', 'enable', 'disable', 'change', 'create'].map(
        (verb) => `pipeline.${verb}`,
      ),
    )
    expect(new Set(entries.map((entry) => entry.actor))).toEqual(new Set(['administrator']))
    expect(entries.at(-2)).toMatchObject({
      request_id: headers['x-request-id'],
      diff: { description: { new: 'x' } },
    })
    expect(await auditOf(runId)).toMatchObject([{ action: 'run.cancel', target_kind: 'run' }])
  })

  it('has no entry for rejected changes', async () => {
    const id = await created()
    await api.patch(`/pipelines/${id}`, { description: 'x' }, { 'if-match': '"7"' })
    expect(await auditOf(id)).toHaveLength(1)
  })

  it('cannot be changed by any login', async () => {
    const id = await created()
    const meta = await database.client(database.loginUrl('meta'))
    for (const sql of [
      "UPDATE etl.etl_audit SET actor = 'x'",
      'DELETE FROM etl.etl_audit',
      'TRUNCATE etl.etl_audit',
    ]) {
      await expect(database.query(sql)).rejects.toMatchObject({ code: 'VT003' })
      await expect(meta.query(sql)).rejects.toThrow()
    }
    expect(await auditOf(id)).toHaveLength(1)
  })

  it('is read page by page', async () => {
    const id = await created()
    for (let n = 0; n < 4; n++) await api.patch(`/pipelines/${id}`, { description: String(n) })
    const seen: string[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const page = auditPage.parse(
        (await api.get(`/audit?target_id=${id}&limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`)).json(),
      )
      seen.push(...page.items.map((entry) => entry.id))
      cursor = page.next_cursor
    }
    expect(seen).toHaveLength(5)
    expect(new Set(seen).size).toBe(5)
  })
})
