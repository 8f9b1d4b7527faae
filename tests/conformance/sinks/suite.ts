import { randomBytes } from 'node:crypto'
import { mkdtempSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { readSettings } from '../../../src/config/settings.js'
import { createInspection } from '../../../src/main/inspection.js'
import { targetRules } from '../../../src/main/targets.js'
import type { Check, OnFailure } from '../../../src/model/check.js'
import type { PipelineSpec } from '../../../src/model/pipeline.js'
import { kindOf } from '../../../src/model/target.js'
import type { Inspector } from '../../../src/ports/inspector.js'
import type { Reconciler } from '../../../src/ports/reconciler.js'
import type { Sink } from '../../../src/ports/sink.js'
import { catalogStores } from '../../../src/store/catalog/stores.js'
import { Database } from '../../../src/store/database.js'
import { createTransforms } from '../../../src/transforms/index.js'
import { aPipeline, type PipelineOverrides } from '../../support/builders.js'
import { aDatabase, type TestDatabase } from '../../support/database.js'
import { olderTransactionsEnded } from '../../support/older-transactions.js'
import { spawnVitrina } from '../../support/processes.js'
import { aRunner } from '../../support/runner.js'
import { requestRun, run, runById, runEnded, type StoredRun } from '../../support/runs.js'
import { someOf } from '../../support/sample.js'
import type { SeenRow, SinkServer } from '../../support/sink-servers.js'
import { anEngine } from '../../support/spark-engine.js'
import { waitFor } from '../../support/wait.js'
import { partPromises } from './parts.js'

interface Suite {
  readonly name: string
  /** Or why it is not available: then every test is skipped with that reason. */
  start(): Promise<SinkServer | { readonly missing: string }>
  /** In `npm test` the sinks share the promises: the number of this one, from 0 to 4. */
  readonly place: number
  /** Where a runner is killed. */
  readonly crashes: readonly string[]
  /** It takes the parts of a run from several runners; not given: it does. */
  readonly isParted?: boolean
  /** Which of the promises are tested; not given: all. */
  includes?(promise: string): boolean
}

/** Rows are in the mart before their checkpoint moves. In `npm test` four marts share these points, one for each. */
export const BETWEEN_SERVERS = ['batch.written@2', 'batch.begun@2', 'checkpoint.moved@2', 'batch.committed@2']
/** Rows and checkpoint are one transaction. */
export const IN_ONE_SERVER = ['batch.begun@2', 'checkpoint.moved@2', 'lease.renewed@2', 'batch.committed@2']

/** As the API does it. */
async function requestRepair(
  database: TestDatabase,
  pipelineId: string,
  keys: readonly (readonly (string | null)[])[],
): Promise<string> {
  const client = await database.client()
  await client.query('BEGIN')
  await client.query("SELECT set_config('vitrina.trigger', 'repair', true)")
  const { rows } = await client.query(
    "UPDATE etl.etl_pipelines SET status = 'RUN_REQUESTED' WHERE id = $1 RETURNING current_run_id",
    [pipelineId],
  )
  for (const key of keys)
    await client.query('INSERT INTO etl.etl_repairs (run_id, key) VALUES ($1, $2)', [
      rows[0].current_run_id,
      key,
    ])
  await client.query('COMMIT')
  return rows[0].current_run_id
}

/** Functions for every mart that is not behind one already. */
const TASKS = {
  shout: "{ ...row, title: row.title + '!' }",
  fold: '{ ...row, id: Number(row.id) % 50 }',
}

const taskOf = (name: string, row: string) =>
  `import { task } from 'vitrina'\ntask('${name}', {}, (rows) => rows.map((row) => (${row})))\n`

/** Reads by the query, and sends every row through one function. */
const through = (transform: string, sourceQuery: string): PipelineOverrides => ({
  type: 'PYTHON',
  tasks: [
    { taskType: 'SQL', body: sourceQuery },
    { taskType: 'PYTHON', body: transform },
  ],
})

/** The sink of a mart with columns id, title and n. */
async function openMart(
  targets: ReturnType<typeof targetRules>,
  server: SinkServer,
  { name, replaces }: { readonly name: string; readonly replaces: boolean },
): Promise<Sink> {
  const found = kindOf(server.target(name), targets)!
  const read = found.kind.readOptions(server.options ?? {})
  if ('problems' in read) throw new Error(JSON.stringify(read.problems))
  const columns = Object.entries({ id: 'bigint', title: 'text', n: 'integer' }).map(([column, type]) => ({
    ...{ name: column, type, typeOid: 0, base: null, notNull: column === 'id' },
  }))
  const { signal } = new AbortController()
  const sink = await found.kind.open({
    ...{ name: found.name, columns, key: ['id'], options: read.options, brake: 1, signal, replaces },
  })
  onTestFinished(() => sink.close())
  return sink
}

const QUERY = 'SELECT id, title, n, modified FROM content.thing'

const PLACES = [0, 1, 2, 3, 4]
/** In `npm test` this many of the sinks are tested for each promise, others with the next seed. */
const SHARE = 3

/** What every sink promises, on a real server. */
export function sinkSuite({
  name,
  place,
  start,
  crashes,
  isParted = true,
  includes = () => true,
}: Suite): void {
  const promise = (title: string, test: () => Promise<void>) => {
    if (includes(title)) it(title, test)
  }
  const shared = (title: string, test: () => Promise<void>) => {
    if (someOf(PLACES, SHARE, (one) => `${title} ${one}`).includes(place)) promise(title, test)
  }
  describe(`a mart in ${name}`, () => {
    let server: SinkServer
    const tasks = mkdtempSync(join(tmpdir(), 'vitrina-suite-'))
    let missing: string | null = null
    let database: TestDatabase
    let runner: Awaited<ReturnType<typeof aRunner>>
    let reconciler: Reconciler
    let inspector: Inspector
    let targets: ReturnType<typeof targetRules>
    let catalog: ReturnType<typeof catalogStores>['catalog']
    let closing: (() => Promise<void>) | null = null

    beforeAll(async () => {
      const started = await start()
      if ('missing' in started) {
        missing = started.missing
        return
      }
      server = started
      for (const [task, row] of Object.entries(TASKS))
        await writeFile(join(tasks, `${task}.ts`), taskOf(task, row))
      database = await aDatabase()
      await database.query('CREATE SCHEMA IF NOT EXISTS content')
      await database.query('CREATE SCHEMA IF NOT EXISTS analytics')
      runner = await startRunner()
      const settings = readSettings({ DATABASE_URL: database.url, ...server.env })
      const pool = new Database(database.loginUrl('meta'), { name: 'test', size: 2 })
      catalog = catalogStores(pool).catalog
      targets = targetRules(settings, server.sinks)
      const inspection = createInspection(database.loginUrl('reader'), database.loginUrl('meta'), {
        connections: new Map(),
        targets,
        sourceSchemas: ['content'],
        transforms: createTransforms(settings),
        engine: anEngine(),
      })
      reconciler = inspection.reconciler
      inspector = inspection.inspector
      closing = async () => {
        await inspector.close()
        await pool.close()
      }
    }, 300_000)
    beforeEach((context) => {
      if (missing !== null) context.skip(missing)
    })
    afterAll(async () => {
      await runner?.stop()
      await closing?.()
      await server?.close()
      await rm(tasks, { recursive: true, force: true })
    })

    const startRunner = () =>
      aRunner(database, {
        env: { VITRINA_TYPESCRIPT_TASKS: tasks, ...server.env },
        ...(server.sinks === undefined ? {} : { sinks: server.sinks }),
      })

    /** A source table of its own with rows 1 to `rows`, and a pipeline that brings it into a mart of its own. */
    const aMart = async (
      rows: number,
      spec: Partial<PipelineSpec> = {},
      query = QUERY,
      transform = server.transform,
    ) => {
      const mart = `m_${randomBytes(4).toString('hex')}`
      const source = `content.${mart}`
      await database.query(
        `CREATE TABLE ${source} (id bigint PRIMARY KEY, title text, n integer, modified timestamptz NOT NULL DEFAULT clock_timestamp())`,
      )
      await database.query(`CREATE INDEX ON ${source} (modified, id)`)
      await database.query(`GRANT SELECT ON ${source} TO PUBLIC; GRANT USAGE ON SCHEMA content TO PUBLIC`)
      await database.query(
        `INSERT INTO ${source} SELECT g, 'Title ' || g, g % 7, clock_timestamp() FROM generate_series(1, ${rows}) AS g`,
      )
      await database.query(`ANALYZE ${source}`)
      const sourceQuery = query.replaceAll('content.thing', source)
      const { id } = await aPipeline(database, {
        sourceQuery,
        ...(transform === undefined ? {} : through(transform, sourceQuery)),
        targetTable: server.target(mart),
        targetOptions: server.options ?? {},
        keyColumns: ['id'],
        ...spec,
      })
      return {
        id,
        name: mart,
        source,
        run: (): Promise<StoredRun> => run(database, id),
        read: async () => server.read(database, mart),
        /** Fails with the rows that differ. */
        expectEqual: async (where = 'true') => {
          const expected = await database.query<SeenRow & Record<string, unknown>>(
            `SELECT t.id::text AS id, title, n::text AS n FROM ${source} AS t WHERE ${where} ORDER BY t.id`,
          )
          const seen = (await server.read(database, mart)) ?? []
          expect([...seen].sort((a, b) => Number(a.id) - Number(b.id))).toEqual(expected)
        },
      }
    }
    const incremental = { mode: 'incremental', incrementalKey: 'modified', incrementalIdKey: 'id' } as const

    promise('contains every row of the source once, and is unchanged after a second run', async () => {
      const mart = await aMart(2_500, { batchSize: 400 })
      expect(await mart.run()).toMatchObject({ status: 'SUCCESS', way: 'rows', rows_read: 2_500 })
      await mart.expectEqual()
      expect(await mart.run()).toMatchObject({ status: 'SUCCESS', rows_read: 2_500, rows_deleted: 0 })
      await mart.expectEqual()
    })

    promise('keeps texts unchanged: empty, NULL, control characters, other alphabets', async () => {
      const mart = await aMart(0)
      const texts = [
        '',
        ' ',
        '\\N',
        'a\tb\nc\\d',
        '"quoted"',
        "it's",
        '{"json": 1}',
        'ключ 🎬',
        'null',
        '\u0001',
      ]
      for (const [place, text] of texts.entries())
        await database.query(`INSERT INTO ${mart.source} VALUES ($1, $2, 1)`, [place, text])
      await database.query(`INSERT INTO ${mart.source} VALUES (100, NULL, NULL)`)
      expect(await mart.run()).toMatchObject({ status: 'SUCCESS', rows_quarantined: 0 })
      await mart.expectEqual()
    })

    shared('R4.4 writes rows that changed since the last run, each once', async () => {
      const mart = await aMart(1_000, { ...incremental, batchSize: 300 })
      expect(await mart.run()).toMatchObject({ status: 'SUCCESS', rows_read: 1_000 })
      await database.query(
        `UPDATE ${mart.source} SET title = 'new', n = NULL, modified = clock_timestamp() WHERE id <= 5`,
      )
      await database.query(`INSERT INTO ${mart.source} VALUES (5000, 'later', 1)`)
      expect(await mart.run()).toMatchObject({ status: 'SUCCESS', rows_read: 6 })
      await mart.expectEqual()
      expect(await mart.run()).toMatchObject({ status: 'SUCCESS', rows_read: 0, rows_written: 0 })
    })

    shared('finds changes and deletions by row versions', async () => {
      const mart = await aMart(500, { mode: 'incremental', capture: 'xmin', deletes: 'sweep' })
      expect(await mart.run()).toMatchObject({ status: 'SUCCESS', rows_read: 500 })
      await database.query(`UPDATE ${mart.source} SET n = 100 WHERE id <= 3`)
      await database.query(`DELETE FROM ${mart.source} WHERE id = 10`)
      expect(await mart.run()).toMatchObject({ status: 'SUCCESS' })
      await mart.expectEqual()
    })

    // Some types have one text in COPY and another as ::text; equal numbers may have several.
    shared('finds the rows that a change affects by keys of every kind', async () => {
      const query = `SELECT id, n > 3 AS flag, (id % 10)::text::char(3) AS code, (id % 3 + 0.5)::numeric(6, 2) AS amount,
        title, n FROM content.thing WHERE n < 100`
      const keyColumns = ['id', 'flag', 'code', 'amount']
      const mart = await aMart(2_000, { mode: 'incremental', capture: 'xmin', keyColumns }, query)
      await olderTransactionsEnded(database)
      expect(await mart.run()).toMatchObject({ status: 'SUCCESS', error: null, rows_read: 2_000 })
      await database.query(`UPDATE ${mart.source} SET title = 'new' WHERE id IN (5, 9)`)
      await database.query(`UPDATE ${mart.source} SET n = 100 WHERE id = 6`)
      const done = await mart.run()
      expect(done).toMatchObject({ status: 'SUCCESS', error: null, rows_deleted: 1 })
      expect(done.rows_read).toBeLessThan(100)
      await mart.expectEqual('n < 100')
    })

    shared('computes again the groups whose rows affect each other', async () => {
      const query = `SELECT (id / 10)::bigint AS part, 'Part ' || id % 3 AS title, id,
        rank() OVER (PARTITION BY id / 10 ORDER BY title DESC, id)::int AS n FROM content.thing WHERE n < 100`
      const mart = await aMart(
        2_000,
        { mode: 'incremental', capture: 'xmin', keyColumns: ['part', 'title', 'id'] },
        query,
      )
      await olderTransactionsEnded(database)
      expect(await mart.run()).toMatchObject({ status: 'SUCCESS', error: null, rows_read: 2_000 })
      await database.query(`UPDATE ${mart.source} SET n = 100 WHERE id IN (41, 42)`)
      await database.query(`UPDATE ${mart.source} SET title = 'Z' WHERE id = 1234`)
      const done = await mart.run()
      expect(done).toMatchObject({ status: 'SUCCESS', error: null, rows_deleted: 2 })
      if (server.findsGroups === true) expect(done).toMatchObject({ rows_read: 18 })
      const expected = await database.query(
        `SELECT id::text, title, n::text FROM (${query.replace('content.thing', mart.source)}) q ORDER BY q.id`,
      )
      const seen = (await mart.read()) ?? []
      expect([...seen].sort((a, b) => Number(a.id) - Number(b.id))).toEqual(expected)
    })

    shared('removes rows that the source has deleted, up to the limit of the brake', async () => {
      const mart = await aMart(300, { deletes: 'sweep' })
      expect(await mart.run()).toMatchObject({ status: 'SUCCESS', error: null })
      await database.query(`DELETE FROM ${mart.source} WHERE id % 10 = 0`)
      expect(await mart.run()).toMatchObject({ status: 'SUCCESS', rows_deleted: 30 })
      await mart.expectEqual()
      const before = await mart.read()
      await database.query(`DELETE FROM ${mart.source}`)
      expect(await mart.run()).toMatchObject({ status: 'FAILED', error_code: 'VTR-4102' })
      expect(await mart.read()).toHaveLength(before!.length)
    })

    shared('R4.3 is replaced as a whole: readers see the old mart or the new one', async () => {
      const mart = await aMart(2_000, { fullStrategy: 'replace', batchSize: 200, deleteBrake: 1 })
      expect(await mart.run()).toMatchObject({ status: 'SUCCESS', error: null })
      await mart.expectEqual()
      await database.query(`DELETE FROM ${mart.source} WHERE id > 1500`)
      await database.query(`UPDATE ${mart.source} SET title = 'second'`)
      const runId = await requestRun(database, mart.id)
      const seen: string[] = []
      for (let status = 'RUNNING'; ['REQUESTED', 'RUNNING'].includes(status); ) {
        const rows = (await mart.read()) ?? []
        seen.push(`${rows.length} ${rows.filter((row) => row.title === 'second').length}`)
        status = (await runById(database, runId)).status
      }
      expect(await runEnded(database, runId)).toMatchObject({ status: 'SUCCESS', rows_read: 1_500 })
      expect(seen.filter((one) => one !== '2000 0' && one !== '1500 1500')).toEqual([])
      await mart.expectEqual()
    })

    shared('stays as it is when a replacement would remove too much', async () => {
      const mart = await aMart(100, { fullStrategy: 'replace' })
      expect(await mart.run()).toMatchObject({ status: 'SUCCESS', error: null })
      await database.query(`DELETE FROM ${mart.source} WHERE id > 10`)
      expect(await mart.run()).toMatchObject({ status: 'FAILED', error_code: 'VTR-4102' })
      expect(await mart.read()).toHaveLength(100)
    })

    shared('quarantines rows that it cannot store, with the reason, and writes the others', async () => {
      const mart = await aMart(50, {}, 'SELECT nullif(id, 7) AS id, title, n, modified FROM content.thing')
      expect(await mart.run()).toMatchObject({ status: 'SUCCESS', rows_quarantined: 1, rows_read: 50 })
      await mart.expectEqual('id <> 7')
      const [held] = await database.query<{ reason: string; row: Record<string, unknown> }>(
        'SELECT reason, to_jsonb(q) AS row FROM etl.etl_quarantine q WHERE pipeline_id = $1',
        [mart.id],
      )
      expect(held!.reason).not.toBe('')
      expect(JSON.stringify(held!.row)).toContain('Title 7')
    })

    shared(
      'fails when it rejects more rows than the quarantine allows, and continues when that is fixed',
      async () => {
        const query = 'SELECT nullif(id, nullif(id % 2, 0) * id) AS id, title, n, modified FROM content.thing'
        const mart = await aMart(20, { quarantineLimit: 3 }, query)
        expect(await mart.run()).toMatchObject({ status: 'FAILED', error_code: 'VTR-4101' })
        await database.query('UPDATE etl.etl_pipelines SET quarantine_limit = 100 WHERE id = $1', [mart.id])
        expect(await mart.run()).toMatchObject({ status: 'SUCCESS', rows_quarantined: 10 })
        await mart.expectEqual('id % 2 = 0')
      },
    )

    /** Checks of every type that is possible for rows; two rows fail each of them. */
    const rowChecks = (source: string, onFailure: OnFailure) =>
      [
        { type: 'not_null', column: 'title' },
        { type: 'accepted_values', column: 'n', values: [0, 1, 2, 3, 4, 5, 6] },
        { type: 'range', column: 'n', min: 0, max: 6 },
        { type: 'relationship', column: 'n', to: source, to_column: 'id' },
        { type: 'unique', column: 'n', over: 'batch' },
        { type: 'expression', sql: "n >= 0 AND title ~ '^Title'" },
      ].map((check) => ({ name: check.type, ...check, on_failure: onFailure }) as unknown as Check)

    const resultsOf = (runId: string) =>
      database.query<{ check_name: string; status: string; failed_rows: number; sample: string[] }>(
        'SELECT check_name, status, failed_rows::int, sample FROM etl.etl_check_results WHERE run_id = $1 ORDER BY id',
        [runId],
      )

    shared('checks rows before they are sent: fail leaves the mart as it was', async () => {
      const mart = await aMart(300, { batchSize: 100 })
      await database.query(`UPDATE ${mart.source} SET n = n % 6 + 1`)
      expect(await mart.run()).toMatchObject({ status: 'SUCCESS', error: null })
      const before = await mart.read()
      await database.query(`UPDATE ${mart.source} SET n = -3, title = title || '!' WHERE id IN (7, 8)`)
      for (const check of rowChecks(mart.source, 'fail').filter(
        ({ type }) => !['not_null', 'unique'].includes(type),
      )) {
        await database.query('UPDATE etl.etl_pipelines SET checks = $2 WHERE id = $1', [
          mart.id,
          JSON.stringify([check]),
        ])
        const failed = await mart.run()
        expect(failed).toMatchObject({ status: 'FAILED', error_code: 'VTR-4103' })
        expect(failed.error).toContain('(7), (8)')
        expect(await resultsOf(failed.id)).toEqual([
          { check_name: check.type, status: 'failed', failed_rows: 2, sample: ['7', '8'] },
        ])
        expect(await mart.read()).toEqual(before)
      }
    })

    shared('checks rows before they are sent: quarantine and warn', async () => {
      const mart = await aMart(300, { batchSize: 100 })
      await database.query(
        `UPDATE ${mart.source} SET n = id; UPDATE ${mart.source} SET n = -1, title = NULL WHERE id IN (7, 208)`,
      )
      const [notNull, , range, , unique] = rowChecks(mart.source, 'warn')
      const checks = [{ ...notNull!, on_failure: 'quarantine' }, { ...range!, max: 1000 }, { ...unique! }]
      await database.query('UPDATE etl.etl_pipelines SET checks = $2 WHERE id = $1', [
        mart.id,
        JSON.stringify(checks),
      ])
      const checked = await mart.run()
      expect(checked).toMatchObject({ status: 'SUCCESS', error: null, rows_read: 300, rows_quarantined: 2 })
      await mart.expectEqual('id NOT IN (7, 208)')
      expect(await resultsOf(checked.id)).toEqual([
        { check_name: 'not_null', status: 'quarantined', failed_rows: 2, sample: ['7', '208'] },
        { check_name: 'range', status: 'warned', failed_rows: 2, sample: ['7', '208'] },
        { check_name: 'unique', status: 'passed', failed_rows: 0, sample: [] },
      ])
      const held = await database.query(
        'SELECT row_key, check_name FROM etl.etl_quarantine WHERE pipeline_id = $1 ORDER BY id',
        [mart.id],
      )
      expect(held).toEqual([
        { row_key: '7', check_name: 'not_null' },
        { row_key: '208', check_name: 'not_null' },
      ])
    })

    shared('R3.3 stays consistent when a run is cancelled, and is completed by the next run', async () => {
      const mart = await aMart(800, { batchSize: 10 })
      const runId = await requestRun(database, mart.id)
      await waitFor(async () => (await runById(database, runId)).batches > 3, { what: 'a few batches' })
      await database.query('UPDATE etl.etl_runs SET cancel_requested = true WHERE id = $1', [runId])
      const cancelled = await runEnded(database, runId)
      expect(cancelled.status).toBe('CANCELLED')
      expect(cancelled.rows_read).toBeLessThan(800)
      const next = await mart.run()
      expect(next.status).toBe('SUCCESS')
      expect(next.rows_read).toBe(800 - cancelled.rows_read)
      await mart.expectEqual()
    })

    shared('R3.3 is completed by the run after a pause', async () => {
      const mart = await aMart(800, { batchSize: 10 })
      const first = await requestRun(database, mart.id)
      await waitFor(async () => (await runById(database, first)).batches > 3, { what: 'a few batches' })
      await database.query("UPDATE etl.etl_pipelines SET status = 'PAUSE_REQUESTED' WHERE id = $1", [mart.id])
      const paused = await runEnded(database, first)
      expect(paused.status).toBe('PAUSED')
      const rest = await mart.run()
      expect(paused.rows_read + rest.rows_read).toBe(800)
      await mart.expectEqual()
    })

    shared('R5.5 is compared row by row with its source, and repaired', async () => {
      const mart = await aMart(300)
      await olderTransactionsEnded(database)
      expect(await mart.run()).toMatchObject({ status: 'SUCCESS', error: null })
      const pipeline = await catalog.getPipeline(mart.id)
      const signal = new AbortController().signal
      const compare = () => reconciler.compare(pipeline!, { deep: true, sampleSize: 10, signal })
      expect(await compare()).toMatchObject({ matches: true, source: { count: 300 }, target: { count: 300 } })
      await server.tamper(database, mart.name)
      expect(await compare()).toMatchObject({
        matches: false,
        deep: {
          missing: { count: 1, keys: [['1']] },
          different: { count: 1, keys: [['2']] },
          extra: { count: 1, keys: [['9999']] },
        },
      })
      const keys = await reconciler.keysToRepair(pipeline!, signal)
      const repair = await requestRepair(database, mart.id, keys)
      expect(await runEnded(database, repair)).toMatchObject({ status: 'SUCCESS', error: null })
      expect((await compare()).matches).toBe(true)
      await mart.expectEqual()
    })

    partPromises({
      promise,
      place,
      aMart,
      isParted,
      server: () => server,
      database: () => database,
      anotherRunner: async () => {
        const another = await startRunner()
        return () => another.stop()
      },
      validate: async (id) => {
        const pipeline = await catalog.getPipeline(id)
        return inspector.validate(pipeline!, new AbortController().signal)
      },
      openSink: (name, replaces) => openMart(targets, server, { name, replaces }),
    })

    if (crashes.length === 0) return
    describe('when the runner dies', () => {
      it.each(crashes)('loses and duplicates nothing at %s', async (point) => {
        await runner.stop()
        const mart = await aMart(1_000, { batchSize: 150 })
        const armed = spawnVitrina(['runner'], {
          DATABASE_URL: database.url,
          ...server.env,
          VITRINA_FAILPOINT: `${point}=kill`,
          RUNNER_LEASE_SECONDS: '1',
          RUNNER_POLL_INTERVAL_MS: '100',
        })
        const runId = await requestRun(database, mart.id)
        expect(await armed.exited).toBe(137)
        runner = await startRunner()
        expect(await runEnded(database, runId)).toMatchObject({ status: 'SUCCESS', rows_read: 1_000 })
        await mart.expectEqual()
      })
    })
  })
}
