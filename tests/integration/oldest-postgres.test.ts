import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import { borrowed } from '../../src/guard/corpus/borrowed.js'
import { SqlGuard } from '../../src/guard/index.js'
import { Session } from '../../src/postgres/session.js'
import { anApi } from '../support/api.js'
import { aPipeline } from '../support/builders.js'
import { prepareSource } from '../support/capture.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { aFolder } from '../support/folders.js'
import { makeMemoryFolder } from '../support/memory-folder.js'
import { type PostgresServer, removePostgres, startPostgres } from '../support/postgres-server.js'
import { spawnVitrina } from '../support/processes.js'
import { aRunner, type TestRunner } from '../support/runner.js'
import { run, runEnded, runsOf } from '../support/runs.js'
import { majorOf, makeTemplates, type TestServer } from '../support/server.js'
import { changeCinema, SMOKE_TASK, smokeSet } from '../support/smoke-set.js'
import { rowTexts } from '../support/stand.js'
import { taskSettings } from '../support/tasks.js'
import { waitFor } from '../support/wait.js'

const found = inject('oldestPostgres')
let home: string
let started: PostgresServer
let server: TestServer

// The whole suite runs on every version with `npm run test:postgres`; this is what each change is tested with.
beforeAll(async () => {
  if ('missing' in found) return
  home = makeMemoryFolder('vitrina-oldest').path
  started = await startPostgres({
    home,
    bin: found.path,
    settings: { max_prepared_transactions: '10', wal_level: 'logical' },
  })
  server = { url: started.url, prefix: 'test_', major: await majorOf(started.url), bin: found.path }
  await makeTemplates(server)
})

afterAll(async () => {
  if ('missing' in found) return
  await started?.stop()
  await removePostgres(home)
})

beforeEach(({ skip }) => {
  if ('missing' in found) skip(found.missing)
})

async function aWarehouse(): Promise<TestDatabase> {
  const warehouse = await aDatabase({ migrated: false, server })
  await warehouse.query('CREATE SCHEMA analytics')
  return warehouse
}

async function aRunnerWithTasks(main: TestDatabase, warehouse: TestDatabase): Promise<TestRunner> {
  const folder = await aFolder()
  await mkdir(dirname(join(folder, SMOKE_TASK.file)), { recursive: true })
  await writeFile(join(folder, SMOKE_TASK.file), SMOKE_TASK.text)
  return aRunner(main, {
    env: { ...taskSettings(folder), VITRINA_CONNECTION_WAREHOUSE_URL: warehouse.url },
  })
}

describe('on PostgreSQL 14', () => {
  it('migrate creates the meta store in an empty database, and doctor finds no problems in it', async () => {
    expect(server.major).toBe(14)
    const { url } = await aDatabase({ migrated: false, server })
    const env = { DATABASE_URL: url, VITRINA_PORT: '0', ALLOWED_SOURCE_SCHEMAS: 'public' }
    const migrated = spawnVitrina(['migrate'], env, { cwd: await aFolder() })
    expect([await migrated.exited, migrated.stderr]).toEqual([0, expect.stringContaining('0001_meta_store')])
    const doctor = spawnVitrina(['doctor'], env, { cwd: await aFolder() })
    expect([await doctor.exited, doctor.stdout]).toEqual([
      0,
      expect.stringContaining('✓ version: PostgreSQL 14\n'),
    ])
  })

  it('pipelines of every kind fill their marts, and follow what changed', async () => {
    const [main, warehouse] = [await aDatabase({ cinema: true, server }), await aWarehouse()]
    await aRunnerWithTasks(main, warehouse)
    const pipelines = await smokeSet(main, warehouse)
    for (const round of ['first', 'second']) {
      for (const { name, id, way, verify } of pipelines) {
        const ended = await run(main, id)
        expect([round, name, ended]).toEqual([
          round,
          name,
          expect.objectContaining({ status: 'SUCCESS', error: null, way }),
        ])
        await verify()
      }
      if (round === 'first') await changeCinema(main)
    }
  })

  it('a mart follows the write-ahead log of its source: changed, new, deleted and moved rows', async () => {
    const [main, source] = [await aDatabase({ server }), await aDatabase({ cinema: true, server })]
    await source.query('ALTER TABLE ugc.ratings REPLICA IDENTITY FULL')
    await prepareSource(main, source, { connection: 'src', tables: ['content.film_work', 'ugc.ratings'] })
    await aRunner(main, { env: { VITRINA_CONNECTION_SRC_URL: source.url } })
    const { id, spec } = await aPipeline(main, {
      ...{ sourceConnection: 'src', mode: 'incremental', capture: 'wal' },
      sourceQuery:
        'SELECT f.id AS film_id, f.title, count(r.id)::int AS ratings FROM content.film_work f LEFT JOIN ugc.ratings r ON r.film_id = f.id GROUP BY f.id',
    })
    const all = await rowTexts(source, spec.sourceQuery ?? '')
    expect(await run(main, id)).toMatchObject({ status: 'SUCCESS', error: null, rows_inserted: all.length })
    await source.query(`
      UPDATE content.film_work SET title = title || '!' WHERE id IN (SELECT id FROM content.film_work ORDER BY id LIMIT 2);
      UPDATE ugc.ratings SET film_id = (SELECT max(id::text)::uuid FROM content.film_work) WHERE id = (SELECT min(id::text)::uuid FROM ugc.ratings);
      INSERT INTO content.film_work (id, title, type) VALUES (gen_random_uuid(), 'new', 'movie')`)
    const followed = await run(main, id)
    expect(followed).toMatchObject({ status: 'SUCCESS', error: null, rows_inserted: 1 })
    expect(followed.rows_read).toBeLessThan(10)
    expect(await rowTexts(main, `SELECT * FROM ${spec.targetTable}`)).toEqual(
      await rowTexts(source, spec.sourceQuery ?? ''),
    )
    await changeCinema(source)
    expect(await run(main, id)).toMatchObject({ status: 'SUCCESS', error: null })
    expect(await rowTexts(main, `SELECT * FROM ${spec.targetTable}`)).toEqual(
      await rowTexts(source, spec.sourceQuery ?? ''),
    )
  })

  it('a mart of a mart runs after it, and knows how old its rows are', async () => {
    const main = await aDatabase({ cinema: true, server })
    const films = await aPipeline(main, { name: 'films', targetTable: 'analytics.films' })
    await aRunner(main, { env: { ALLOWED_SOURCE_SCHEMAS: 'content,analytics' } })
    expect(await run(main, films.id)).toMatchObject({ status: 'SUCCESS', error: null })
    const titles = await aPipeline(main, {
      ...{ targetTable: 'analytics.titles', after: ['films'], freshness: '1h' },
      sourceQuery: 'SELECT film_id, title FROM analytics.films WHERE length(title) > 10',
    })
    const follows = () =>
      waitFor(
        async () => {
          const [last] = await runsOf(main, titles.id)
          if (last?.status !== 'SUCCESS') throw new Error(JSON.stringify(last))
          const wanted = await rowTexts(main, titles.spec.sourceQuery ?? '')
          return isDeepStrictEqual(await rowTexts(main, 'SELECT * FROM analytics.titles'), wanted)
        },
        { what: 'the mart of the mart to follow' },
      )
    await follows()
    await main.query("UPDATE content.film_work SET title = title || ' (restored)'")
    expect(await run(main, films.id)).toMatchObject({ status: 'SUCCESS', error: null })
    await follows()
    const api = anApi(main.loginUrl('meta'), { readerUrl: main.loginUrl('reader') })
    expect((await api.get(`/pipelines/${titles.id}/freshness`)).json()).toMatchObject({
      budget_seconds: 3600,
      breached: false,
    })
  })

  it('every GET route responds', async () => {
    const [main, warehouse] = [await aDatabase({ cinema: true, server }), await aWarehouse()]
    await aRunnerWithTasks(main, warehouse)
    const pipelines = await smokeSet(main, warehouse)
    const pipeline = pipelines.find(({ name }) => name.startsWith('replace'))!
    const runId = (await run(main, pipeline.id)).id
    const api = anApi(main.loginUrl('meta'), { readerUrl: main.loginUrl('reader') })
    const { paths } = (await api.get('/openapi.json')).json() as { paths: Record<string, object> }
    const asked = Object.entries(paths)
      .filter(([path, methods]) => 'get' in methods && !path.endsWith('/events'))
      .map(([path]) => path.replace(/^(.*runs)\/\{id\}/, `$1/${runId}`).replace('{id}', pipeline.id))
    const answers: [string, number][] = []
    for (const path of asked) answers.push([path, (await api.get(path)).statusCode])
    expect(answers.length).toBeGreaterThan(40)
    // What the cinema does not have is not found; a statement that this server does not know is an error of 500.
    expect(answers.filter(([, status]) => status >= 500 || status === 401)).toEqual([])
    expect(answers.filter(([, status]) => status === 200).length).toBeGreaterThan(30)
  })

  it('a mart that was changed by hand is compared and repaired', async () => {
    const [main, warehouse] = [await aDatabase({ cinema: true, server }), await aWarehouse()]
    await aRunnerWithTasks(main, warehouse)
    const [{ id, verify } = { id: '', verify: async () => {} }] = await smokeSet(main, warehouse)
    await run(main, id)
    const [pipeline] = await main.query<{ target_table: string }>(
      'SELECT target_table FROM etl.etl_pipelines WHERE id = $1',
      [id],
    )
    await main.query(`UPDATE ${pipeline!.target_table} SET title = 'by hand' WHERE rating > 8`)
    const api = anApi(main.loginUrl('meta'), { readerUrl: main.loginUrl('reader') })
    try {
      const compared = (await api.get(`/api/v1/pipelines/${id}/reconcile?deep=true`)).json()
      expect(compared).toMatchObject({ matches: false, missing: { count: 0 } })
      expect(compared.different.count).toBeGreaterThan(0)
      const repair = (await api.post(`/api/v1/pipelines/${id}/reconcile/repair`)).json()
      expect(await runEnded(main, repair.run_id)).toMatchObject({ status: 'SUCCESS', error: null })
      await verify()
    } finally {
      await api.close()
    }
  })

  it('the guard accepts what the server can run, rejects what it must, and reports what the server does not support', async () => {
    const main = await aDatabase({ cinema: true, server })
    const session = await Session.open(main.loginUrl('reader'), 'vitrina-guard', new AbortController().signal)
    const guard = new SqlGuard({ sourceSchemas: ['content', 'ugc'] })
    const codes: (string | null)[] = []
    for (const sql of [
      'SELECT id, title FROM content.film_work',
      'SELECT type, count(*) AS n, array_agg(title ORDER BY title) AS titles FROM content.film_work GROUP BY type',
      'WITH RECURSIVE r(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT n FROM r',
      'SELECT pg_sleep(1)',
      'SELECT * FROM auth.users',
      'DELETE FROM content.genre',
      // Underscores in numbers came with 16: this server reads a column named _000.
      'SELECT 1_000',
      "SELECT t.a FROM JSON_TABLE('[]'::jsonb, '$[*]' COLUMNS (a int PATH '$.a')) t",
    ]) {
      const verdict = await guard.check(sql, borrowed(session))
      codes.push(verdict.ok ? verdict.canonical.trim() && null : (verdict.problems[0]?.code ?? ''))
    }
    await session.close()
    const REFUSED = 'SOURCE_REFUSED'
    expect(codes).toEqual([null, null, null, REFUSED, REFUSED, REFUSED, null, 'SOURCE_QUERY_FAILED'])
  })

  it('lineage names the source columns of a mart', async () => {
    const [main, warehouse] = [await aDatabase({ cinema: true, server }), await aWarehouse()]
    const [pipeline] = await smokeSet(main, warehouse)
    const api = anApi(main.loginUrl('meta'), { readerUrl: main.loginUrl('reader') })
    try {
      const { statusCode, body } = await api.get(`/api/v1/pipelines/${pipeline!.id}/lineage`)
      expect(statusCode).toBe(200)
      for (const column of ['id', 'title', 'rating', 'modified']) expect(body).toContain(`"${column}"`)
      expect(body).toContain('content.film_work')
    } finally {
      await api.close()
    }
  })
})
