import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { vtr } from '../../src/model/errors.js'
import { anApi, type TestApi } from '../support/api.js'
import { aPipeline } from '../support/builders.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { aRunner, type TestRunner } from '../support/runner.js'
import { run } from '../support/runs.js'
import { taskSettings } from '../support/tasks.js'

const QUERY = 'SELECT id AS film_id, title FROM content.film_work'
const SHOUT = `
from vitrina import task

@task("shout")
def shout(rows):
    return [{**row, "title": row["title"].upper()} for row in rows]
`

interface Row {
  readonly order?: number
  readonly type: string
  readonly body: string
  readonly target?: string
}

const reader: Row = { type: 'SQL', body: QUERY }
const shout: Row = { type: 'PYTHON', body: 'shout' }

async function insertTasks(database: TestDatabase, id: string, rows: readonly Row[]): Promise<void> {
  await database.query(
    `INSERT INTO etl.etl_pipeline_tasks (pipeline_id, order_index, task_type, body, target_table)
     SELECT $1, task.* FROM jsonb_to_recordset($2) AS task ("order" integer, type text, body text, target text)`,
    [id, JSON.stringify(rows.map((row, n) => ({ order: n + 1, ...row })))],
  )
}

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'vitrina test '))
  await mkdir(join(folder, 'python'))
  await writeFile(join(folder, 'python/shout.py'), SHOUT)
})
afterAll(() => rm(folder, { recursive: true }))

describe('a task plan written with SQL', () => {
  let database: TestDatabase
  let id: string
  beforeAll(async () => {
    database = await aDatabase({ cinema: true })
  })
  beforeEach(async () => {
    id = (await aPipeline(database, { sourceQuery: QUERY })).id
  })

  it.each<[string, readonly Row[], RegExp]>([
    ['a type in lower case', [reader, { ...shout, type: 'python' }], /task_type/],
    ['a type with a blank', [reader, { ...shout, type: 'PYTHON ' }], /task_type/],
    ['an unknown type', [reader, { ...shout, type: 'SPARK' }], /task_type/],
    ['an empty type', [reader, { ...shout, type: '' }], /task_type/],
    ['an empty body', [{ ...reader, body: ' \n\t' }], /body/],
    ['a function name with a blank before it', [reader, { ...shout, body: ' shout' }], /function_name/],
    ['a function name that is a path', [reader, { ...shout, body: '../shout.py' }], /function_name/],
    ['a function name that begins with a digit', [reader, { ...shout, body: '1st' }], /function_name/],
    ['a function name of 201 characters', [reader, { ...shout, body: 'x'.repeat(201) }], /function_name/],
    ['a negative position', [{ ...reader, order: -1 }], /order_index/],
    ['two steps in one position', [reader, { ...shout, order: 1 }], /order_index/],
    ['a second SQL step', [reader, reader], /order_index 2 .* SQL/],
    ['a second SQL step after a function', [reader, shout, reader], /order_index 3 .* SQL/],
    ['a function before the SQL step', [shout, { ...reader, order: 5 }], /order_index 1 .* SQL/],
    ['functions only', [shout], /order_index 1 .* SQL/],
    [
      'a target in a step that is not the last',
      [{ ...reader, target: 'analytics.x' }, shout],
      /order_index 1 .*target_table/,
    ],
  ])('is rejected by the database: %s', async (_what, rows, message) => {
    await expect(insertTasks(database, id, rows)).rejects.toThrow(message)
    expect(await database.query('SELECT 1 FROM etl.etl_pipeline_tasks WHERE pipeline_id = $1', [id])).toEqual(
      [],
    )
  })

  it('may have gaps in its order, and names of functions in any script', async () => {
    const rows = [
      { ...reader, order: 0 },
      { ...shout, order: 70 },
      { ...shout, body: 'Чистка_2-x', order: 900 },
    ]
    await insertTasks(database, id, rows)
    const [count] = await database.query(
      'SELECT count(*)::int AS n FROM etl.etl_pipeline_tasks WHERE pipeline_id = $1',
      [id],
    )
    expect(count).toEqual({ n: 3 })
  })

  it('is checked when the transaction ends: steps may change places in it', async () => {
    await insertTasks(database, id, [reader, shout])
    const client = await database.client()
    await client.query('BEGIN')
    await client.query("DELETE FROM etl.etl_pipeline_tasks WHERE pipeline_id = $1 AND task_type = 'SQL'", [
      id,
    ])
    await client.query(
      "INSERT INTO etl.etl_pipeline_tasks (pipeline_id, order_index, task_type, body) VALUES ($1, 0, 'SQL', $2)",
      [id, QUERY],
    )
    await client.query('COMMIT')
    await expect(
      database.query("DELETE FROM etl.etl_pipeline_tasks WHERE pipeline_id = $1 AND task_type = 'SQL'", [id]),
    ).rejects.toMatchObject({ code: 'VT004', hint: expect.stringContaining('one transaction') })
    await database.query('DELETE FROM etl.etl_pipeline_tasks WHERE pipeline_id = $1', [id])
    await database.query('DELETE FROM etl.etl_pipelines WHERE id = $1', [id])
  })

  it('is checked together with concurrent writes of another session', async () => {
    const [one, two] = [await database.client(), await database.client()]
    const insert =
      "INSERT INTO etl.etl_pipeline_tasks (pipeline_id, order_index, task_type, body) VALUES ($1, $2, 'SQL', $3)"
    await one.query('BEGIN')
    await one.query(insert, [id, 1, QUERY])
    const second = two.query(insert, [id, 2, QUERY]).then(
      () => 'saved',
      (error: { code: string }) => error.code,
    )
    await one.query('COMMIT')
    expect(await second).toBe('VT004')
  })

  it('sets the type of the pipeline, which cannot contradict it', async () => {
    const typeOf = async () =>
      (await database.query<{ type: string }>('SELECT type FROM etl.etl_pipelines WHERE id = $1', [id]))[0]
        ?.type
    await insertTasks(database, id, [reader, shout])
    expect(await typeOf()).toBe('PYTHON')
    await expect(
      database.query("UPDATE etl.etl_pipelines SET type = 'SQL' WHERE id = $1", [id]),
    ).rejects.toMatchObject({ code: 'VT004', message: expect.stringContaining('order_index 2') })
    await database.query('DELETE FROM etl.etl_pipeline_tasks WHERE pipeline_id = $1 AND order_index = 2', [
      id,
    ])
    expect(await typeOf()).toBe('SQL')
  })
})

/** Rows that were written before the database had the rules, or past them. */
describe('an invalid task plan in the table', () => {
  let database: TestDatabase
  let api: TestApi
  let runner: TestRunner
  beforeAll(async () => {
    database = await aDatabase({ cinema: true })
    await database.query(`
      ALTER TABLE etl.etl_pipeline_tasks DROP CONSTRAINT IF EXISTS etl_pipeline_tasks_task_type,
        DROP CONSTRAINT IF EXISTS etl_pipeline_tasks_body, DROP CONSTRAINT IF EXISTS etl_pipeline_tasks_function_name;
      DROP TRIGGER IF EXISTS require_plan ON etl.etl_pipeline_tasks;
      DROP TRIGGER IF EXISTS require_type ON etl.etl_pipelines;
      DROP TRIGGER IF EXISTS type_follows_tasks ON etl.etl_pipeline_tasks`)
    const env = taskSettings(folder)
    api = anApi(database.loginUrl('meta'), { readerUrl: database.loginUrl('reader'), env })
    runner = await aRunner(database, { env })
  })
  afterAll(async () => {
    await runner?.stop()
    await api?.close()
  })

  const CASES: readonly [string, readonly Row[], { type?: 'SQL' | 'PYTHON' }, string, string][] = [
    ['lower case', [reader, { ...shout, type: 'python' }], {}, 'tasks.1.task_type', 'PLAN_TYPE_UNKNOWN'],
    ['a blank', [reader, { ...shout, type: ' PYTHON' }], {}, 'tasks.1.task_type', 'PLAN_TYPE_UNKNOWN'],
    ['an unknown type', [reader, { ...shout, type: 'SPARK' }], {}, 'tasks.1.task_type', 'PLAN_TYPE_UNKNOWN'],
    ['a second SQL step', [reader, reader], {}, 'tasks.1.task_type', 'PLAN_LATER_NOT_PYTHON'],
    ['functions only', [shout], { type: 'PYTHON' }, 'tasks.0.task_type', 'PLAN_FIRST_NOT_SQL'],
    ['an empty body', [{ ...reader, body: ' ' }], {}, 'tasks.0.body', 'PLAN_BODY_EMPTY'],
    [
      'a path as a function',
      [reader, { ...shout, body: 'shout.py' }],
      { type: 'PYTHON' },
      'tasks.1.body',
      'PLAN_TRANSFORM_NAME',
    ],
    [
      'a target in the wrong step',
      [{ ...reader, target: 'analytics.elsewhere' }, shout],
      { type: 'PYTHON' },
      'tasks.0.target_table',
      'PLAN_TARGET_NOT_LAST',
    ],
    ['type SQL with a function', [reader, shout], { type: 'SQL' }, 'type', 'TYPE_MISMATCH'],
    ['type PYTHON without a function', [reader], { type: 'PYTHON' }, 'type', 'TYPE_MISMATCH'],
    ['type PYTHON without a plan', [], { type: 'PYTHON' }, 'type', 'TYPE_MISMATCH'],
  ]

  it.each(CASES)('fails the run before anything is read, and validate names the row: %s', async (...one) => {
    const [, rows, changes, field, code] = one
    const { id, spec } = await aPipeline(database, { sourceQuery: QUERY, ...changes })
    await insertTasks(database, id, rows)
    const tasks = await database.query<{ id: string; order_index: number }>(
      'SELECT id, order_index FROM etl.etl_pipeline_tasks WHERE pipeline_id = $1 ORDER BY order_index',
      [id],
    )
    const row = /^tasks\.(\d)/.exec(field)?.[1]
    const task = row === undefined ? null : tasks[Number(row)]!
    const named = task === null ? /type/ : new RegExp(`order_index ${task.order_index} .*${task.id}`)

    const validation = (await api.post(`/pipelines/${id}/validate`)).json()
    expect(validation).toMatchObject({ valid: false, errors: [{ field, code }] })
    expect(validation.errors[0].message).toMatch(named)

    const ended = await run(database, id)
    expect(ended).toMatchObject({
      status: 'FAILED',
      error_code: vtr('TASK_PLAN_INVALID'),
      attempt: 1,
      rows_read: 0,
    })
    expect(ended.error).toMatch(named)
    const [mart] = await database.query<{ name: string | null }>('SELECT to_regclass($1)::text AS name', [
      spec.targetTable,
    ])
    expect(mart).toEqual({ name: null })

    for (const look of ['preview', 'reconcile/repair'])
      expect((await api.post(`/pipelines/${id}/${look}`)).json()).toMatchObject({
        code: 'TASK_PLAN_INVALID',
        errors: [{ field, code }],
      })
    expect((await api.get(`/pipelines/${id}`)).statusCode).toBe(200)
    expect((await api.get('/pipelines')).statusCode).toBe(200)
  })

  it('fails the run for a function that is not registered', async () => {
    const { id } = await aPipeline(database, { type: 'PYTHON', sourceQuery: QUERY })
    await insertTasks(database, id, [reader, { ...shout, body: 'shuot' }])
    expect((await api.post(`/pipelines/${id}/validate`)).json()).toMatchObject({
      valid: false,
      errors: [{ field: 'tasks.1.body', code: 'TRANSFORM_UNKNOWN' }],
    })
    expect(await run(database, id)).toMatchObject({
      status: 'FAILED',
      error_code: vtr('TRANSFORM_UNKNOWN'),
      rows_read: 0,
    })
  })
})

it('a valid plan written with SQL, step by step, transforms the rows', async () => {
  const database = await aDatabase({ cinema: true })
  await aRunner(database, { env: taskSettings(folder) })
  const { id, spec } = await aPipeline(database, { sourceQuery: '' })
  await insertTasks(database, id, [reader])
  await insertTasks(database, id, [{ ...shout, order: 2 }])
  expect(await run(database, id)).toMatchObject({ status: 'SUCCESS' })
  const [rows] = await database.query(
    `SELECT count(*)::int > 0 AS filled, bool_and(m.title = upper(f.title)) AS shouted
       FROM ${spec.targetTable} m JOIN content.film_work f ON f.id = m.film_id`,
  )
  expect(rows).toEqual({ filled: true, shouted: true })
})
