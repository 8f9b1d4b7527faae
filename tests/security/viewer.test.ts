import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { anApi, type TestApi } from '../support/api.js'
import { aPipeline } from '../support/builders.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { taskSettings } from '../support/tasks.js'

/** Its error quotes rows of the source: invalid input syntax for type integer: "<title>, <title>, …". */
const QUOTING =
  "SELECT ((SELECT string_agg(title, ', ') FROM content.film_work) || id::text)::int AS film_id FROM content.film_work"

const TASKS = `
from vitrina import task

@task("raises")
def raises(rows):
    raise ValueError("cannot use " + rows[0]["title"])

@task("mistypes", adds={"year": "integer"})
def mistypes(rows):
    return [{**row, "year": row["title"]} for row in rows]

@task("exits")
def exits(rows):
    raise SystemExit(rows[0]["title"])
`

let database: TestDatabase
let api: TestApi
let title: string
let folder: string
const tokens: Record<string, string> = {}

beforeAll(async () => {
  database = await aDatabase({ cinema: true })
  folder = await mkdtemp(join(tmpdir(), 'vitrina viewer '))
  await mkdir(join(folder, 'python'))
  await writeFile(join(folder, 'python/tasks.py'), TASKS)
  api = anApi(database.loginUrl('meta'), {
    readerUrl: database.loginUrl('reader'),
    env: taskSettings(folder),
  })
  for (const role of ['viewer', 'operator'])
    tokens[role] = (await api.post('/tokens', { name: role, role })).json().token
  const [first] = await database.query<{ title: string }>('SELECT title FROM content.film_work LIMIT 1')
  title = first!.title
})
afterAll(() => rm(folder, { recursive: true }))

async function ask(role: string, method: 'GET' | 'POST', url: string, payload?: object) {
  const headers = { authorization: `Bearer ${tokens[role]}` }
  return api.app.inject({ method, url, headers, ...(payload === undefined ? {} : { payload }) })
}

async function aQuotingPipeline(): Promise<string> {
  const { id } = await aPipeline(database, {
    sourceQuery: QUOTING,
    mode: 'incremental',
    incrementalKey: 'film_id',
    sharedTarget: true,
  })
  await database.query(
    'CREATE TABLE IF NOT EXISTS analytics.quoting (film_id int PRIMARY KEY); GRANT SELECT ON analytics.quoting TO vitrina_meta',
  )
  await database.query("UPDATE etl.etl_pipelines SET target_table = 'analytics.quoting' WHERE id = $1", [id])
  return id
}

describe('a viewer', () => {
  it.each(['/validate', '/validate?quick=true', '/preview'])(
    'sends no query of its own to %s',
    async (path) => {
      const draft = { source_query: QUOTING, target_table: 'analytics.quoting', key_columns: ['film_id'] }
      const answer = await ask('viewer', 'POST', path, draft)
      expect([answer.statusCode, answer.json()]).toMatchObject([403, { needed_role: 'operator' }])
    },
  )

  it("validates a saved pipeline and gets the code and the SQLSTATE, not the server's message", async () => {
    const id = await aQuotingPipeline()
    const error = { code: 'SOURCE_QUERY_FAILED', sqlstate: '22P02' }
    const seen = await ask('operator', 'POST', `/pipelines/${id}/validate`)
    expect(seen.json()).toMatchObject({ valid: false, errors: [error] })
    expect(seen.body).toContain(title)
    const hidden = await ask('viewer', 'POST', `/pipelines/${id}/validate`)
    expect(hidden.json()).toMatchObject({ valid: false, errors: [error] })
    expect(hidden.body).not.toContain(title)
    expect(hidden.body).not.toContain('invalid input syntax')
  })

  it("compares a mart and gets the code and the SQLSTATE, not the server's message", async () => {
    const id = await aQuotingPipeline()
    const seen = await ask('operator', 'GET', `/pipelines/${id}/reconcile`)
    expect(seen.json()).toMatchObject({ code: 'SOURCE_QUERY_FAILED', sqlstate: '22P02' })
    expect(seen.body).toContain(title)
    const hidden = await ask('viewer', 'GET', `/pipelines/${id}/reconcile`)
    expect(hidden.json()).toMatchObject({ code: 'SOURCE_QUERY_FAILED', sqlstate: '22P02' })
    expect(hidden.body).not.toContain(title)
    expect(hidden.body).not.toContain('invalid input syntax')
  })

  it.each([
    ['raises', 'TRANSFORM_FAILED'],
    ['mistypes', 'TRANSFORM_RESULT'],
    ['exits', 'TRANSFORM_KILLED'],
  ])(
    'compares a mart with a function that %s, and gets the code, not the row in its message',
    async (body, code) => {
      const target = `analytics.${body}`
      const { id } = await aPipeline(database, {
        type: 'PYTHON',
        targetTable: target,
        keyColumns: ['title'],
        tasks: [
          { taskType: 'SQL', body: 'SELECT title FROM content.film_work ORDER BY 1 LIMIT 1' },
          { taskType: 'PYTHON', body },
        ],
      })
      await database.query(
        `CREATE TABLE ${target} (title text PRIMARY KEY, year int); GRANT SELECT ON ${target} TO vitrina_meta`,
      )
      const [first] = await database.query<{ title: string }>(
        'SELECT min(title) AS title FROM content.film_work',
      )
      const seen = await ask('operator', 'GET', `/pipelines/${id}/reconcile`)
      expect(seen.json()).toMatchObject({ code })
      expect(seen.body).toContain(first!.title)
      const hidden = await ask('viewer', 'GET', `/pipelines/${id}/reconcile`)
      expect(hidden.json()).toMatchObject({ code, detail: 'A task function failed.' })
      expect(hidden.body).not.toContain(first!.title)
    },
  )

  it('does not compare row by row', async () => {
    const { id } = await aPipeline(database)
    const answer = await ask('viewer', 'GET', `/pipelines/${id}/reconcile?deep=true`)
    expect([answer.statusCode, answer.json()]).toMatchObject([403, { needed_role: 'operator' }])
  })

  it('lists quarantined rows without their values, and without a message that quotes them', async () => {
    const { id } = await aPipeline(database)
    const { run_id: runId } = (await api.post(`/pipelines/${id}/run`)).json()
    await database.query(
      `INSERT INTO etl.etl_quarantine (pipeline_id, run_id, row_key, columns, row_text, reason, sqlstate, check_name)
       VALUES ($1, $2, '1', '{id,title}', '{1,canary}', 'invalid input syntax for type integer: "canary"', '22P02', NULL),
              ($1, $2, '2', '{id,title}', '{2,canary}', 'title is canary, not one of a, b', NULL, 'known_title')`,
      [id, runId],
    )
    for (const path of [`/pipelines/${id}/quarantine`, `/quarantine?pipeline_id=${id}`]) {
      const seen = (await ask('operator', 'GET', path)).json().items
      expect(seen).toMatchObject([
        { key: '2', row: { title: 'canary' }, reason: 'title is canary, not one of a, b' },
        { key: '1', row: { title: 'canary' }, reason: 'invalid input syntax for type integer: "canary"' },
      ])
      const hidden = await ask('viewer', 'GET', path)
      expect(hidden.json().items).toMatchObject([
        { key: '2', row: null, reason: 'Check "known_title" failed.' },
        { key: '1', row: null, reason: 'The target rejected the row (SQLSTATE 22P02).' },
      ])
      expect(hidden.body).not.toContain('canary')
    }
  })

  it.each(['', '/status', '/state', '/runs', '/versions', '/lineage', '/quarantine'])(
    'finds no row at /pipelines/{id}%s',
    async (path) => {
      const answer = await ask('viewer', 'GET', `/pipelines/${await aQuotingPipeline()}${path}`)
      expect(answer.statusCode).toBe(200)
      expect(answer.body).not.toContain(title)
    },
  )
})
