import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { anApi, type TestApi } from '../../../tests/support/api.js'
import { aPipeline, type BuiltPipeline } from '../../../tests/support/builders.js'
import { aDatabase, type TestDatabase } from '../../../tests/support/database.js'
import { taskSettings } from '../../../tests/support/tasks.js'
import { HOSTILE } from '../../guard/corpus/hostile.js'
import { sinkKinds } from '../../sinks/index.js'

const TASKS = `
from vitrina import task

@task("shout", adds={"size": "integer"}, drops=["rating"])
def shout(rows):
    return rows
`

let database: TestDatabase
let api: TestApi
let folder: string
let films: BuiltPipeline
let top: BuiltPipeline
let index: BuiltPipeline
let shouted: BuiltPipeline

beforeAll(async () => {
  database = await aDatabase({ cinema: true })
  await database.query(`
    CREATE VIEW content.rated AS
      SELECT f.id AS film_id, f.title, avg(r.rating) AS mean FROM content.film_work f
        LEFT JOIN ugc.ratings r ON r.film_id = f.id GROUP BY f.id;
    CREATE VIEW content.rated_well AS SELECT film_id AS id, upper(title) AS title, mean FROM content.rated WHERE mean > 5;
    CREATE TABLE analytics.films (film_id uuid PRIMARY KEY, title text, mean numeric);
    GRANT SELECT ON ALL TABLES IN SCHEMA content TO vitrina_reader`)
  films = await aPipeline(database, {
    name: 'films',
    sourceQuery: 'SELECT id AS film_id, w.title, round(mean, 1) AS mean FROM content.rated_well w',
    targetTable: 'analytics.films',
  })
  top = await aPipeline(database, {
    name: 'top',
    sourceQuery: 'SELECT film_id, mean FROM analytics.films ORDER BY mean DESC LIMIT 10',
    targetTable: 'analytics.top',
  })
  index = await aPipeline(database, {
    name: 'index',
    sourceQuery: 'SELECT * FROM analytics.films',
    targetTable: 'es:films',
  })
  shouted = await aPipeline(database, {
    name: 'shouted',
    type: 'PYTHON',
    targetTable: 'analytics.shouted',
    keyColumns: ['id'],
    tasks: [
      { taskType: 'SQL', body: 'SELECT id, title, rating FROM content.film_work' },
      { taskType: 'PYTHON', body: 'shout' },
    ],
  })
  folder = await mkdtemp(join(tmpdir(), 'vitrina lineage '))
  await mkdir(join(folder, 'python'))
  await writeFile(join(folder, 'python/tasks.py'), TASKS)
  api = anApi(database.loginUrl('meta'), {
    readerUrl: database.loginUrl('reader'),
    sourceSchemas: ['content', 'ugc', 'analytics'],
    kinds: sinkKinds({ ELASTICSEARCH_URL: 'http://elastic:secret@es.example:9200' }),
    urls: new Map([
      ['dead', 'postgres://reader:secret@127.0.0.1:1/none'],
      ['again', database.loginUrl('reader')],
    ]),
    env: taskSettings(folder),
  })
})
afterAll(() => rm(folder, { recursive: true }))

interface WireNode {
  id: string
  kind: string
  hidden_up: number
  hidden_down: number
  exists: boolean | null
  error: { code: string; message: string } | null
  open: string | null
  columns: { name: string; kind: string | null; sources: { node: string; column: string }[] }[] | null
}

async function graph(query: string): Promise<{ nodes: WireNode[]; edges: { from: string; to: string }[] }> {
  const answer = await api.get(`/api/v1/lineage${query}`)
  expect(answer.statusCode, answer.body).toBe(200)
  return answer.json()
}
const ids = ({ nodes }: { nodes: WireNode[] }) => nodes.map(({ id }) => id).sort()
const node = ({ nodes }: { nodes: WireNode[] }, id: string) => nodes.find((one) => one.id === id)!
const pipe = ({ id }: BuiltPipeline) => `pipeline:${id}`

describe('GET /lineage', () => {
  it('connects sources, views, pipelines, marts and what reads the marts', async () => {
    const all = await graph('')
    expect(all.edges).toEqual(
      expect.arrayContaining([
        { from: 'content.film_work', to: 'content.rated' },
        { from: 'ugc.ratings', to: 'content.rated' },
        { from: 'content.rated', to: 'content.rated_well' },
        { from: 'content.rated_well', to: pipe(films) },
        { from: pipe(films), to: 'analytics.films' },
        { from: 'analytics.films', to: pipe(top) },
        { from: pipe(top), to: 'analytics.top' },
        { from: 'analytics.films', to: pipe(index) },
        { from: pipe(index), to: 'es:films' },
      ]),
    )
    expect(node(all, 'es:films')).toMatchObject({ kind: 'sink', exists: null })
    expect(node(all, 'content.rated')).toMatchObject({ kind: 'view', exists: true, columns: null })
    expect(node(all, 'analytics.top')).toMatchObject({ kind: 'table', exists: false })
  })

  it('follows one hop by default and reports what it left out', async () => {
    const around = await graph('?node=analytics.films')
    expect(ids(around)).toEqual(
      [
        'analytics.films',
        'analytics.top',
        'content.rated_well',
        'es:films',
        pipe(films),
        pipe(index),
        pipe(top),
      ].sort(),
    )
    expect(node(around, 'content.rated_well')).toMatchObject({ hidden_up: 1, hidden_down: 0 })
    expect(ids(await graph('?node=analytics.films&up=3&down=0'))).toEqual(
      [
        'analytics.films',
        'content.film_work',
        'content.rated',
        'content.rated_well',
        'ugc.ratings',
        pipe(films),
      ].sort(),
    )
  })

  it('finds a pipeline by its name too, and shows what it reads and writes', async () => {
    const found = await graph('?node=pipeline%3Atop')
    expect(ids(found)).toEqual(['analytics.films', 'analytics.top', pipe(top)].sort())
    expect((await api.get('/lineage?node=content.nothing')).json()).toMatchObject({
      status: 404,
      code: 'LINEAGE_NOT_FOUND',
    })
    expect((await api.get('/lineage?up=many')).statusCode).toBe(422)
  })

  it('traces every column through views, marts and aliases', async () => {
    const all = await graph('?node=es%3Afilms&up=9&level=column')
    const from = (id: string, name: string) => node(all, id).columns!.find((column) => column.name === name)!
    expect(from('es:films', 'mean').sources).toEqual([{ node: pipe(index), column: 'mean' }])
    expect(from(pipe(index), 'mean')).toMatchObject({
      kind: 'direct',
      sources: [{ node: 'analytics.films', column: 'mean' }],
    })
    expect(from('analytics.films', 'mean').sources).toEqual([{ node: pipe(films), column: 'mean' }])
    expect(from(pipe(films), 'mean')).toMatchObject({
      kind: 'expression',
      expression: 'round(content.rated_well.mean, 1)',
      sources: [{ node: 'content.rated_well', column: 'mean' }],
    })
    expect(from('content.rated', 'mean')).toMatchObject({
      kind: 'aggregate',
      sources: [{ node: 'ugc.ratings', column: 'rating' }],
    })
    expect(from('ugc.ratings', 'rating')).toMatchObject({ kind: null, sources: [] })
  })
})

describe('GET /pipelines/{id}/lineage', () => {
  it('names the views of the query and the tables beneath them', async () => {
    const { json } = { json: (await api.get(`/pipelines/${films.id}/lineage`)).json() }
    expect(json).toMatchObject({
      name: 'films',
      target: 'analytics.films',
      reads: [
        { node: 'content.rated_well', kind: 'view', via: null },
        { node: 'content.rated', kind: 'view', via: 'content.rated_well' },
        { node: 'content.film_work', kind: 'table', via: 'content.rated' },
        { node: 'ugc.ratings', kind: 'table', via: 'content.rated' },
      ],
      columns: [
        {
          name: 'film_id',
          kind: 'direct',
          sources: [{ node: 'content.rated_well', column: 'id' }],
          base: [{ node: 'content.film_work', column: 'id' }],
        },
        { name: 'title', base: [{ node: 'content.film_work', column: 'title' }] },
        { name: 'mean', base: [{ node: 'ugc.ratings', column: 'rating' }] },
      ],
      error: null,
      open: null,
    })
  })

  it('follows columns through functions by their names only', async () => {
    const { columns } = (await api.get(`/pipelines/${shouted.id}/lineage`)).json()
    expect(columns).toMatchObject([
      {
        name: 'id',
        kind: 'transform',
        through: ['shout'],
        base: [{ node: 'content.film_work', column: 'id' }],
      },
      { name: 'title', kind: 'transform', through: ['shout'] },
      { name: 'size', kind: 'opaque', sources: [], through: ['shout'] },
    ])
  })
})

describe('what cannot be analyzed', () => {
  it('is a node with its error, and affects nothing else', async () => {
    const texts = [
      'SELECT FROM WHERE',
      'SELECT id FROM auth.users',
      'DROP TABLE content.film_work',
      `SELECT ${'abs('.repeat(3000)}1${')'.repeat(3000)} AS deep`,
      ...HOSTILE.filter(({ sql }) => !sql.includes('\0'))
        .slice(0, 25)
        .map(({ sql }) => sql),
    ]
    const broken: BuiltPipeline[] = []
    for (const sourceQuery of texts) broken.push(await aPipeline(database, { sourceQuery }))
    const all = await graph('?level=column')
    expect(node(all, pipe(broken[0]!))).toMatchObject({
      kind: 'pipeline',
      error: { code: 'SOURCE_QUERY_FAILED', message: expect.stringContaining('line 1') },
      columns: [],
    })
    for (const one of broken.slice(1))
      expect(node(all, pipe(one)).error).toMatchObject({ code: expect.stringMatching(/^SOURCE_/) })
    expect(all.edges.filter(({ to }) => broken.some((one) => pipe(one) === to))).toEqual([])
    expect(node(all, pipe(films)).error).toBeNull()
    await database.query('DELETE FROM etl.etl_pipelines WHERE id = ANY ($1)', [broken.map(({ id }) => id)])
  })

  it('is limited to the columns of a source that does not respond', async () => {
    const lost = await aPipeline(database, {
      name: 'lost',
      sourceConnection: 'dead',
      sourceQuery: 'SELECT f.id AS film_id, f.title, g.* FROM content.film_work f, content.genre g',
    })
    const answer = (await api.get(`/lineage?node=pipeline%3Alost&level=column`)).json()
    expect(answer.problems).toMatchObject([{ connection: 'dead', code: 'DATABASE_UNAVAILABLE' }])
    expect(JSON.stringify(answer)).not.toContain('secret')
    expect(node(answer, 'content.film_work@dead')).toMatchObject({ exists: null, open: expect.any(String) })
    expect(node(answer, pipe(lost))).toMatchObject({
      open: 'the columns of content.genre are not known',
      columns: [
        { name: 'film_id', kind: 'direct', sources: [{ node: 'content.film_work@dead', column: 'id' }] },
        { name: 'title', kind: 'direct' },
      ],
    })
    await database.query('DELETE FROM etl.etl_pipelines WHERE id = $1', [lost.id])
  })

  it('is not a second name of the same database', async () => {
    const again = await aPipeline(database, {
      name: 'again',
      sourceConnection: 'again',
      targetConnection: 'AGAIN',
    })
    const { edges } = await graph('?node=pipeline%3Aagain')
    expect(edges).toEqual([
      { from: 'content.film_work', to: pipe(again) },
      { from: pipe(again), to: again.spec.targetTable },
    ])
    await database.query('DELETE FROM etl.etl_pipelines WHERE id = $1', [again.id])
  })
})

describe('GET /lineage/openlineage', () => {
  it('returns one JobEvent for each pipeline, with schema, SQL and column lineage', async () => {
    const events = (await api.get('/lineage/openlineage')).json()
    expect(events.map(({ job }: { job: { name: string } }) => job.name)).toEqual([
      'films',
      'index',
      'shouted',
      'top',
    ])
    const { hostname, port, pathname } = new URL(database.url)
    const [event] = (await api.get(`/lineage/openlineage?pipeline=${index.id}`)).json()
    const namespace = `postgres://${hostname}:${port}`
    const films = `${pathname.slice(1)}.analytics.films`
    expect(event).toMatchObject({
      eventTime: expect.stringMatching(/Z$/),
      schemaURL: 'https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/JobEvent',
      job: {
        namespace: 'vitrina',
        name: 'index',
        facets: { sql: { query: 'SELECT * FROM analytics.films' } },
      },
      inputs: [
        {
          namespace,
          name: films,
          facets: {
            schema: { fields: [{ name: 'film_id', type: 'uuid' }, { name: 'title' }, { name: 'mean' }] },
          },
        },
      ],
      outputs: [
        {
          namespace: 'elasticsearch://es.example:9200',
          name: 'films',
          facets: {
            columnLineage: {
              fields: {
                title: {
                  inputFields: [
                    {
                      namespace,
                      name: films,
                      field: 'title',
                      transformations: [{ type: 'DIRECT', subtype: 'IDENTITY' }],
                    },
                  ],
                },
              },
            },
          },
        },
      ],
    })
    expect(event.run).toBeUndefined()
    expect(JSON.stringify(events)).not.toMatch(/secret|password/)
  })
})
