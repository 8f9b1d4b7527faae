import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { anApi, type TestApi } from '../../../tests/support/api.js'
import { aPipeline } from '../../../tests/support/builders.js'
import { aDatabase, type TestDatabase } from '../../../tests/support/database.js'
import type { auditPage } from '../schemas/history.js'

let database: TestDatabase
let api: TestApi
beforeAll(async () => {
  database = await aDatabase()
  api = anApi(database.loginUrl('meta'))
})

const audit = async (query: Record<string, string> = {}) => {
  const answer = await api.get(`/audit?${new URLSearchParams(query)}`)
  return answer.json() as (typeof auditPage)['_output']
}
const actions = async (query: Record<string, string>) =>
  (await audit(query)).items.map(({ action }) => action)

describe('the audit', () => {
  it.each([
    '2000-01-01T00:00:00+16:00',
    '0000-06-01T00:00:00Z',
    '0000-01-01T00:00:00+23:00',
    '9999-12-31T23:00:00-20:00',
  ])('rejects a time that PostgreSQL would reject: %s', async (time) => {
    for (const path of ['/audit', '/audit.csv', '/runs'])
      for (const side of ['since', 'until'])
        expect((await api.get(`${path}?${new URLSearchParams({ [side]: time })}`)).statusCode).toBe(200)
  })

  it('finds the actions of one request by the id in its response', async () => {
    const { id } = await aPipeline(database)
    const answer = await api.post(`/pipelines/${id}/run`)
    const { items } = await audit({ request_id: String(answer.headers['x-request-id']) })
    expect(items).toMatchObject([
      { action: 'pipeline.run', target_id: id, diff: { run_id: answer.json().run_id } },
    ])
    expect((await audit({ id: items[0]!.id })).items).toEqual(items)
    expect((await audit({ request_id: randomUUID() })).items).toEqual([])
  })

  it('finds the actions on a pipeline, its runs and its quarantined rows', async () => {
    const { id } = await aPipeline(database)
    const { run_id } = (await api.post(`/pipelines/${id}/run`)).json()
    await api.post(`/runs/${run_id}/cancel`)
    await database.query(
      `INSERT INTO etl.etl_quarantine (pipeline_id, run_id, row_key, columns, row_text, reason)
       VALUES ($1, $2, '7', '{id}', '{7}', 'no')`,
      [id, run_id],
    )
    const [row] = (await api.get(`/pipelines/${id}/quarantine`)).json().items
    await api.post(`/pipelines/${id}/quarantine/${row.id}/discard`)
    expect(await actions({ pipeline_id: id })).toEqual([
      'quarantine.discard',
      'run.cancel',
      'pipeline.run',
      'pipeline.create',
    ])
    expect(await actions({ pipeline_id: id, action: 'pipeline.' })).toEqual([
      'pipeline.run',
      'pipeline.create',
    ])
    expect(await actions({ pipeline_id: id, action: 'run.cancel' })).toEqual(['run.cancel'])
    expect(await actions({ pipeline_id: randomUUID() })).toEqual([])
  })

  it('finds the actions of a user by part of the name', async () => {
    const { id, token } = (await api.post('/tokens', { name: 'Night Shift', role: 'operator' })).json()
    const pipeline = await aPipeline(database)
    await api.app.inject({
      method: 'POST',
      url: `/pipelines/${pipeline.id}/run`,
      headers: { authorization: `Bearer ${token}` },
    })
    const { items } = await audit({ actor: 'night shift' })
    expect(items).toMatchObject([{ actor: `Night Shift#${id.slice(0, 8)}`, action: 'pipeline.run' }])
    expect((await audit({ actor: '%' })).items).toEqual([])
  })

  it('finds the actions between two times', async () => {
    const { id } = await aPipeline(database)
    await api.post(`/pipelines/${id}/disable`)
    await api.post(`/pipelines/${id}/enable`)
    const [enable, disable, create] = (await audit({ target_id: id })).items
    expect(enable!.action).toBe('pipeline.enable')
    expect(await actions({ target_id: id, since: disable!.at })).toEqual([
      'pipeline.enable',
      'pipeline.disable',
    ])
    expect(await actions({ target_id: id, since: create!.at, until: enable!.at })).toEqual([
      'pipeline.disable',
      'pipeline.create',
    ])
    expect((await api.get('/audit?since=yesterday')).statusCode).toBe(422)
  })

  it('continues after a page with the same filter', async () => {
    const { id } = await aPipeline(database)
    for (let n = 0; n < 2; n++) {
      await api.post(`/pipelines/${id}/disable`)
      await api.post(`/pipelines/${id}/enable`)
    }
    const seen: string[] = []
    let cursor: string | null = null
    do {
      const page = await audit({ pipeline_id: id, limit: '2', ...(cursor === null ? {} : { cursor }) })
      seen.push(...page.items.map((item) => item.id))
      cursor = page.next_cursor
    } while (cursor !== null)
    expect(seen).toEqual((await audit({ pipeline_id: id })).items.map((item) => item.id))
    expect(seen).toHaveLength(5)
  })
})

describe('a pipeline with a chosen id', () => {
  it('can be requested everywhere: its id need not be a random UUID', async () => {
    const id = '11111111-1111-1111-1111-111111111111'
    for (const path of ['/audit', '/runs'])
      expect((await api.get(`${path}?pipeline_id=${id}`)).statusCode).toBe(200)
    expect((await api.get('/runs?pipeline_id=nonsense')).statusCode).toBe(422)
  })
})

describe('the audit as CSV', () => {
  it('contains everything that matches the filter, more than a page', async () => {
    await database.query(
      `INSERT INTO etl.etl_audit (actor, action, target_kind, target_id)
       SELECT 'importer', 'pipeline.run', 'pipeline', n FROM generate_series(1, 1201) n`,
    )
    const answer = await api.get('/audit.csv?actor=importer')
    expect(answer.headers['content-type']).toBe('text/csv; charset=utf-8')
    expect(answer.headers['content-disposition']).toBe('attachment; filename="vitrina-audit.csv"')
    const lines = answer.body.split('\r\n')
    expect(lines[0]).toBe('id,at,actor,action,target_kind,target_id,target_name,diff,request_id')
    expect([lines.length, lines.at(-1)]).toEqual([1203, ''])
    expect(new Set(lines.slice(1, -1).map((line) => line.split(',')[5])).size).toBe(1201)
  })

  it('quotes values where needed, and contains no formulas', async () => {
    const target = randomUUID()
    await database.query(
      `INSERT INTO etl.etl_audit (actor, action, target_kind, target_id, target_name, diff)
       VALUES ('=HYPERLINK("http://x")', 'pipeline.run', 'pipeline', $1, 'two${'\n'}lines', '{"a": "b,c"}')`,
      [target],
    )
    const { body } = await api.get(`/audit.csv?target_id=${target}`)
    expect(body).toContain('"\'=HYPERLINK(""http://x"")"')
    expect(body).toContain('"two\nlines"')
    expect(body).toContain('"{""a"":""b,c""}"')
  })
})
