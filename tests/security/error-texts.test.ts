import { beforeAll, expect, it } from 'vitest'
import { anApi, type TestApi, TOKEN } from '../support/api.js'
import { aPipeline } from '../support/builders.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { aRunner } from '../support/runner.js'
import { run } from '../support/runs.js'

let database: TestDatabase
let api: TestApi

beforeAll(async () => {
  database = await aDatabase({ cinema: true })
  api = anApi(database.loginUrl('meta'), { readerUrl: database.loginUrl('reader') })
})

/** 20 MB in the message of PostgreSQL; neither the text shows the size nor the guard computes it. */
const QUOTING = "SELECT repeat('y', ascii('z') * 164000)::int AS film_id"

it.each([{}, { authorization: `Bearer ${TOKEN}` }])(
  'no response and no log line repeats a header (%o)',
  async (headers) => {
    const type = `x/${'x://y:'.repeat(2_300)}`
    const answer = await api.app.inject({
      method: 'POST',
      url: '/validate',
      headers: { ...headers, 'content-type': type },
      payload: 'x',
    })
    expect(answer.statusCode).toBe('authorization' in headers ? 415 : 401)
    expect(answer.body).not.toContain('x://y:')
    expect(JSON.stringify(api.lines)).not.toContain('x://y:')
  },
)

it.each([
  ['/validate', 200],
  ['/validate?quick=true', 200],
  ['/preview', 422],
])('a response of %s quotes at most 4 kB of an error of 20 MB', async (path, status) => {
  const draft = { source_query: QUOTING, target_table: 'analytics.quoted', key_columns: ['film_id'] }
  const answer = await api.post(path, draft)
  expect(answer.statusCode).toBe(status)
  expect(answer.body).toContain('invalid input syntax')
  expect(answer.body).toContain('22P02')
  expect(answer.body.length).toBeLessThan(10_000)
  for (const line of api.lines) expect(JSON.stringify(line).length).toBeLessThan(20_000)
})

it('an answer of /validate quotes no condition of the plan that the planner has made large', async () => {
  const large = "title <> repeat('y', 9900000)"
  const answer = await api.post('/validate', {
    source_query: `SELECT id AS film_id, title FROM content.film_work WHERE ${large}`,
    target_table: 'analytics.filtered',
    key_columns: ['film_id'],
  })
  expect(answer.json()).toMatchObject({ valid: true, plan: { scans: [{ table: 'content.film_work' }] } })
  expect(answer.body.length).toBeLessThan(20_000)
})

it('neither does a run, in its history and in its log', async () => {
  const { id } = await aPipeline(database, { sourceQuery: QUOTING })
  await aRunner(database)
  const ended = await run(database, id)
  expect(ended).toMatchObject({ status: 'FAILED', error: expect.stringContaining('invalid input syntax') })
  expect(ended.error!.length).toBeLessThanOrEqual(4_000)
  const lines = await database.query<{ length: number }>(
    'SELECT max(octet_length(to_jsonb(l)::text)) AS length FROM etl.etl_run_log l WHERE run_id = $1',
    [ended.id],
  )
  expect(lines[0]!.length).toBeLessThan(20_000)
})
