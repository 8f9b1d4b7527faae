import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { anApi, type TestApi } from '../../../tests/support/api.js'
import { aDatabase } from '../../../tests/support/database.js'
import { taskSettings } from '../../../tests/support/tasks.js'

const TASKS = `
from vitrina import task
import time

@task("shout", adds={"size": "integer", "loud": "boolean"}, drops=["rating"])
def shout(rows):
    """Writes titles large."""
    return [{"id": r["id"], "title": r["title"].upper(), "size": len(r["title"]), "loud": True} for r in rows]

@task("fails")
def fails(rows):
    return [row["titel"] for row in rows]

@task("sleeps")
def sleeps(rows):
    time.sleep(600)
`

let api: TestApi
/** Waits only 2 s for functions. */
let impatient: TestApi
let folder: string
beforeAll(async () => {
  const database = await aDatabase({ cinema: true })
  folder = await mkdtemp(join(tmpdir(), 'vitrina test '))
  await mkdir(join(folder, 'python'))
  await writeFile(join(folder, 'python/tasks.py'), TASKS)
  await writeFile(join(folder, 'python/broken.py'), 'import nothing_like_this')
  const options = { readerUrl: database.loginUrl('reader'), env: taskSettings(folder) }
  api = anApi(database.loginUrl('meta'), options)
  const timeouts = { query: 5_000, transforms: 2_000 }
  impatient = anApi(database.loginUrl('meta'), { ...options, timeouts })
})
afterAll(() => rm(folder, { recursive: true }))

const draft = (...transforms: string[]) => ({
  name: 'with transforms',
  target_table: 'analytics.shouted',
  key_columns: ['id'],
  tasks: [
    { task_type: 'SQL', body: 'SELECT id, title, rating FROM content.film_work ORDER BY title' },
    ...transforms.map((body) => ({ task_type: 'PYTHON', body })),
  ],
})

describe('GET /tasks', () => {
  it('lists the registered functions, and the mistakes in their files (R4.9)', async () => {
    for (const prefix of ['', '/api/v1']) {
      const answer = await api.get(`${prefix}/tasks`)
      expect(answer.statusCode).toBe(200)
      expect(answer.json()).toMatchObject({
        items: [
          { name: 'fails', language: 'python' },
          {
            name: 'shout',
            signature: 'shout(rows)',
            doc: 'Writes titles large.',
            file: 'tasks.py:5',
            adds: { size: 'integer', loud: 'boolean' },
            drops: ['rating'],
          },
          { name: 'sleeps' },
        ],
        problems: [{ file: 'broken.py', message: expect.stringContaining('nothing_like_this') }],
      })
    }
  })
})

describe('validate', () => {
  it('rejects every name that is not registered, at its task, with the most similar one', async () => {
    const answer = await api.post('/validate', draft('shut', 'shout', 'other'))
    expect(answer.json()).toMatchObject({
      valid: false,
      errors: [
        {
          code: 'TRANSFORM_UNKNOWN',
          field: 'tasks.1.body',
          message: 'No transform is registered as "shut". Did you mean "shout"?',
        },
        { code: 'TRANSFORM_UNKNOWN', field: 'tasks.3.body' },
      ],
    })
  })

  it('returns the columns that the transforms produce from those of the query', async () => {
    expect((await api.post('/validate', draft('shout'))).json()).toMatchObject({
      valid: true,
      strategy: 'tasks_full',
      way: 'rows',
      columns: [
        { name: 'id', type: 'uuid' },
        { name: 'title', type: 'text' },
        { name: 'size', type: 'integer' },
        { name: 'loud', type: 'boolean' },
      ],
    })
  })

  it('may be saved before it is registered: the function may come with the next deployment', async () => {
    const made = await api.post('/pipelines', draft('not_yet'))
    expect(made.statusCode).toBe(201)
    const checked = await api.post(`/pipelines/${made.json().id}/validate`)
    expect(checked.json().errors).toMatchObject([{ code: 'TRANSFORM_UNKNOWN', field: 'tasks.1.body' }])
  })
})

describe('preview', () => {
  it('shows the rows as the transforms would write them', async () => {
    const [plain, shouted] = [
      (await api.post('/preview?limit=3', draft())).json(),
      (await api.post('/preview?limit=3', draft('shout'))).json(),
    ]
    expect(shouted.columns.map(({ name }: { name: string }) => name)).toEqual(['id', 'title', 'size', 'loud'])
    expect(shouted.rows).toEqual(
      plain.rows.map(({ id, title }: { id: string; title: string }) => ({
        id,
        title: title.toUpperCase(),
        size: String(title.length),
        loud: 'true',
      })),
    )
    expect(shouted.rows).toHaveLength(3)
  })

  it('reports how a transform fails, and does not wait for one that hangs', async () => {
    const [failed, slow] = await Promise.all([
      api.post('/preview', draft('fails')),
      impatient.post('/preview', draft('sleeps')),
    ])
    expect([failed.statusCode, failed.json()]).toMatchObject([
      422,
      { code: 'TRANSFORM_FAILED', detail: expect.stringContaining("KeyError: 'titel'") },
    ])
    expect([slow.statusCode, slow.json()]).toMatchObject([
      422,
      {
        code: 'TRANSFORM_KILLED',
        detail: expect.stringContaining('did not return the first rows within 2 s'),
      },
    ])
  })
})
