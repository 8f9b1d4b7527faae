import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { anApi, type TestApi } from '../../../tests/support/api.js'
import { aPipeline } from '../../../tests/support/builders.js'
import { aDatabase, type TestDatabase } from '../../../tests/support/database.js'

let database: TestDatabase
let api: TestApi
beforeAll(async () => {
  database = await aDatabase({ cinema: true })
  api = anApi(database.loginUrl('meta'), {
    readerUrl: database.loginUrl('reader'),
    connections: ['down'],
    urls: new Map([['down', 'postgres://reader@127.0.0.1:1/nowhere']]),
  })
})

const QUERY = 'SELECT id AS film_id, title, modified FROM content.film_work'
const spec = (changes: object = {}) => ({
  name: `p_${randomUUID().slice(0, 8)}`,
  source_query: QUERY,
  target_table: `analytics.keys_${randomUUID().slice(0, 8)}`,
  mode: 'incremental',
  incremental_key: 'modified',
  incremental_id_key: 'film_id',
  key_columns: ['film_id'],
  ...changes,
})
const errorsOf = (answer: { json(): { errors?: { field: string; code: string }[] } }) =>
  (answer.json().errors ?? []).map(({ field, code }) => [field, code])

const MISSING: readonly [string, object, string][] = [
  ['incremental_key', { incremental_key: 'modifed' }, 'modifed'],
  ['incremental_key', { incremental_key: 'MODIFIED' }, 'MODIFIED'],
  ['incremental_key', { incremental_key: 'rating', mode: 'full' }, 'rating'],
  ['incremental_id_key', { incremental_id_key: 'id' }, 'id'],
  ['key_columns', { key_columns: ['film_id', 'id'] }, 'id'],
]

describe('a key that the query does not return', () => {
  it.each(MISSING)(
    'is rejected with its field when a pipeline is created: %s %o',
    async (field, change, column) => {
      for (const url of ['/pipelines', '/pipelines?dry_run=true', '/pipelines?managed_by=file']) {
        const answer = await api.post(url, spec(change))
        expect([answer.statusCode, errorsOf(answer)]).toEqual([422, [[field, 'KEY_MISSING']]])
        expect(answer.json().errors[0].message).toBe(
          `The query returns no column "${column}"; it returns film_id, title, modified.`,
        )
      }
    },
  )

  it.each(MISSING)('is rejected with its field when a pipeline is changed: %s %o', async (field, change) => {
    const { id } = (await api.post('/pipelines', spec())).json()
    const answers = [
      await api.patch(`/pipelines/${id}`, change),
      await api.patch(`/pipelines/${id}?dry_run=true`, change),
      await api.post(`/pipelines/${id}/update-config`, change),
    ]
    for (const answer of answers)
      expect([answer.statusCode, errorsOf(answer)]).toEqual([422, [[field, 'KEY_MISSING']]])
    expect((await api.get(`/pipelines/${id}`)).json()).toMatchObject({ config_version: 1 })
  })

  it('is rejected when the query changes instead of the key, also that of a task plan', async () => {
    const { id } = (await api.post('/pipelines', spec())).json()
    const body = 'SELECT id AS film_id, title FROM content.film_work'
    for (const change of [{ source_query: body }, { tasks: [{ task_type: 'SQL', body }] }])
      expect(errorsOf(await api.patch(`/pipelines/${id}`, change))).toEqual([
        ['incremental_key', 'KEY_MISSING'],
      ])
  })

  it('is reported together with all others', async () => {
    const keys = { incremental_key: 'a', incremental_id_key: 'b', key_columns: ['film_id', 'c'] }
    expect(errorsOf(await api.post('/pipelines', spec(keys)))).toEqual([
      ['incremental_key', 'KEY_MISSING'],
      ['incremental_id_key', 'KEY_MISSING'],
      ['key_columns', 'KEY_MISSING'],
    ])
  })

  it.each(MISSING.filter(([, change]) => !('mode' in change)))(
    'is an error of validate in its field: %s %o',
    async (field, change) => {
      expect((await api.post('/validate', spec(change))).json()).toMatchObject({
        valid: false,
        errors: [{ code: 'KEY_MISSING', field }],
      })
    },
  )

  it('is a warning of validate if no run needs it', async () => {
    const { id } = await aPipeline(database, { incrementalKey: 'nowhere', mode: 'full' })
    expect((await api.post(`/pipelines/${id}/validate`)).json()).toMatchObject({
      valid: true,
      warnings: [{ code: 'KEY_MISSING', field: 'incremental_key' }],
    })
  })

  it('is not checked while the pipeline is running: the change is rejected anyway', async () => {
    const { id } = (await api.post('/pipelines', spec())).json()
    for (const status of ['RUN_REQUESTED', 'RUNNING'])
      await database.query('UPDATE etl.etl_pipelines SET status = $2 WHERE id = $1', [id, status])
    const answer = await api.patch(`/pipelines/${id}`, { incremental_key: 'modifed' })
    expect([answer.statusCode, answer.json().code]).toEqual([409, 'PIPELINE_BUSY'])
  })

  it('does not prevent changes of other fields', async () => {
    const { id } = await aPipeline(database, { incrementalKey: 'nowhere', mode: 'incremental' })
    expect((await api.patch(`/pipelines/${id}`, { description: 'later' })).statusCode).toBe(200)
    expect((await api.post(`/pipelines/${id}/disable`)).statusCode).toBe(200)
  })
})

describe('is saved, because the columns are not known yet:', () => {
  it.each<[string, object]>([
    ['a table that does not exist', { source_query: 'SELECT id AS film_id FROM content.later' }],
    ['a column that does not exist', { source_query: 'SELECT id AS film_id, later FROM content.film_work' }],
    ['a database that does not respond', { source_connection: 'down' }],
  ])('the key of %s', async (_what, change) => {
    const answer = await api.post('/pipelines', spec({ incremental_key: 'later', ...change }))
    expect([answer.statusCode, errorsOf(answer)]).toEqual([201, []])
  })
})
