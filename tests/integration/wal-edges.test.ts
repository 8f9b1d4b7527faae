import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aPipeline, type PipelineOverrides } from '../support/builders.js'
import { aLogicalServer, type LogicalServer, prepareSource } from '../support/capture.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { aRunner } from '../support/runner.js'
import { run, runsOf, type StoredRun } from '../support/runs.js'
import { rowTexts } from '../support/stand.js'
import { someTasks, taskSettings } from '../support/tasks.js'
import { waitFor } from '../support/wait.js'

let server: LogicalServer

beforeAll(async () => {
  server = await aLogicalServer()
})
afterAll(() => server?.stop())

interface Followed {
  readonly main: TestDatabase
  readonly source: TestDatabase
  readonly id: string
  run(): Promise<StoredRun>
  /** Mart and query, to be compared. */
  both(): Promise<{ mart: string[]; source: string[] }>
}

interface Setup {
  readonly sql: string
  readonly tables: readonly string[]
  readonly query: string
  readonly key?: readonly string[]
  readonly spec?: PipelineOverrides
  /** TypeScript. */
  readonly tasks?: string
}

/** A mart after its first run, with a runner that also captures. */
async function followed({ sql, tables, query, key = ['id'], spec = {}, tasks }: Setup): Promise<Followed> {
  const main = await aDatabase()
  const source = await aDatabase({ migrated: false, server })
  await source.query(sql)
  await prepareSource(main, source, { connection: 'src', tables })
  const files = tasks === undefined ? null : await someTasks({ 'typescript/tasks.ts': tasks })
  const env = {
    VITRINA_CONNECTION_SRC_URL: source.url,
    ALLOWED_SOURCE_SCHEMAS: 'public',
    ...(files === null ? {} : taskSettings(files.folder)),
  }
  await aRunner(main, { env })
  const { id } = await aPipeline(main, {
    ...{ sourceConnection: 'src', sourceQuery: query, targetTable: 'analytics.mart', keyColumns: [...key] },
    ...{ mode: 'incremental', capture: 'wal', deleteBrake: 1, ...spec },
  })
  const runOnce = async () => {
    const done = await run(main, id)
    expect(done).toMatchObject({ status: 'SUCCESS', error: null })
    return done
  }
  if (spec.freshness !== 'live') await runOnce()
  const both = async () => ({
    mart: await rowTexts(main, 'SELECT * FROM analytics.mart'),
    source: await rowTexts(source, query),
  })
  return { main, source, id, run: runOnce, both }
}

/** The next run leaves the mart equal to the query. */
async function expectEqual(one: Followed): Promise<StoredRun> {
  const done = await one.run()
  const { mart, source } = await one.both()
  expect(mart).toEqual(source)
  return done
}

/** Why a run has computed every row, by its log, which is written behind the run. */
async function reasonsOf({ main }: Followed, { id }: StoredRun): Promise<string[]> {
  const ended = "SELECT FROM etl.etl_run_log WHERE run_id = $1 AND message = 'Run succeeded.'"
  await waitFor(async () => (await main.query(ended, [id])).length > 0, { what: 'the log of the run' })
  const text =
    "SELECT message FROM etl.etl_run_log WHERE run_id = $1 AND message LIKE 'Computing every row%' ORDER BY id"
  return (await main.query<{ message: string }>(text, [id])).map(({ message }) => message)
}

const FILMS = `CREATE TABLE film (id int PRIMARY KEY, title text); CREATE TABLE rating (id int PRIMARY KEY, film_id int NOT NULL, score int);
  CREATE INDEX ON rating (film_id);
  INSERT INTO film SELECT n, 'film ' || n FROM generate_series(1, 300) n;
  INSERT INTO rating SELECT n, n % 300 + 1, n % 5 FROM generate_series(1, 3000) n; ANALYZE`
const COUNTS =
  'SELECT f.id, f.title, count(*)::int AS ratings, sum(r.score)::int AS score FROM public.film f JOIN public.rating r ON r.film_id = f.id GROUP BY f.id'
const LOSSLESS = `${FILMS}; ALTER TABLE rating REPLICA IDENTITY FULL`
const TABLES = ['public.film', 'public.rating']

describe('a mart is equal to its query', () => {
  it('before and after a commit becomes visible that is decoded already', async () => {
    const one = await followed({ sql: LOSSLESS, tables: TABLES, query: COUNTS })
    const client = await one.source.client()
    await client.query(
      'BEGIN; SET LOCAL synchronous_commit = on; UPDATE rating SET film_id = 2 WHERE film_id = 1',
    )
    const { processID } = client as unknown as { processID: number }
    const done = client.query('COMMIT')
    await waitFor(
      async () =>
        (
          await one.source.query("SELECT FROM pg_stat_activity WHERE pid = $1 AND wait_event = 'SyncRep'", [
            processID,
          ])
        ).length === 1,
      { what: 'the commit to wait for a standby' },
    )
    await one.source.query('DELETE FROM film WHERE id = 3')
    await expectEqual(one)
    await one.source.query('SELECT pg_cancel_backend($1)', [processID])
    await done
    expect(await expectEqual(one)).toMatchObject({ rows_deleted: 1 })
  })

  it('after another session has advanced the slot over a change', async () => {
    const one = await followed({ sql: LOSSLESS, tables: TABLES, query: COUNTS })
    await one.source.query('DELETE FROM rating WHERE film_id = 5')
    await waitFor(
      async () => {
        await one.source.query(
          'SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE database = current_database() AND active_pid IS NOT NULL',
        )
        await one.source.query('DELETE FROM rating WHERE film_id = 6')
        await one.source.query(
          'SELECT pg_replication_slot_advance(slot_name, pg_current_wal_flush_lsn()) FROM pg_replication_slots WHERE database = current_database()',
        )
        return true
      },
      { what: 'the slot to be free for a moment' },
    )
    await expectEqual(one)
  })

  it('although no table reveals its old rows, and every update means a full run', async () => {
    const one = await followed({ sql: FILMS, tables: TABLES, query: COUNTS })
    await one.source.query(
      'UPDATE rating SET film_id = 10 WHERE id BETWEEN 20 AND 30; DELETE FROM rating WHERE film_id = 9',
    )
    const full = await expectEqual(one)
    expect(full).toMatchObject({ rows_read: 299 })
    expect(await reasonsOf(one, full)).toEqual([
      'Computing every row: The value of public.rating.film_id before a change is not known: the replica identity of the table does not include it.',
    ])
    await one.source.query('INSERT INTO rating VALUES (5000, 11, 5)')
    const few = await expectEqual(one)
    expect(few).toMatchObject({ rows_read: 1 })
    expect(await reasonsOf(one, few)).toEqual([])
    await one.source.query('TRUNCATE rating; INSERT INTO rating VALUES (1, 7, 5)')
    expect(await reasonsOf(one, await expectEqual(one))).toEqual([
      'Computing every row: A table was truncated, or its structure has changed.',
    ])
  })

  it('through a transform that drops rows, and not through one that changes the key', async () => {
    const plan = (body: string): PipelineOverrides => ({
      type: 'PYTHON',
      tasks: [
        { taskType: 'SQL', body: 'SELECT f.code, f.title FROM public.film f' },
        { taskType: 'PYTHON', body },
      ],
    })
    const one = await followed({
      sql: `CREATE TABLE film (code text PRIMARY KEY, title text); INSERT INTO film SELECT 'c' || n, 'film ' || n FROM generate_series(1, 90) n`,
      tables: ['public.film'],
      key: ['code'],
      query: "SELECT f.code, upper(f.title) AS title FROM public.film f WHERE f.title <> 'hidden'",
      spec: plan('shown'),
      tasks: `import { task } from 'vitrina'
        task('shown', {}, (rows) => rows.filter((row) => row.title !== 'hidden').map((row) => ({ ...row, title: row.title.toUpperCase() })))
        task('renamed', {}, (rows) => rows.map((row) => ({ ...row, code: row.code.toUpperCase() })))`,
    })
    await one.source.query(
      "UPDATE film SET title = 'hidden' WHERE code = 'c7'; DELETE FROM film WHERE code = 'c8'; INSERT INTO film VALUES ('new', 'x')",
    )
    expect(await expectEqual(one)).toMatchObject({ rows_inserted: 1, rows_deleted: 2 })
    const { id } = await aPipeline(one.main, {
      ...plan('renamed'),
      ...{ sourceConnection: 'src', targetTable: 'analytics.renamed', keyColumns: ['code'] },
      ...{ mode: 'incremental', capture: 'wal' },
    })
    const refused = await run(one.main, id)
    expect(refused).toMatchObject({ status: 'FAILED', error: expect.stringContaining('changed (code)') })
    expect(refused.error_hint).toContain('Compute code in the query')
  })

  it('whose key is made by functions that return rows', async () => {
    const one = await followed({
      sql: `CREATE TABLE film (id int PRIMARY KEY, tags text[], sizes jsonb); ALTER TABLE film REPLICA IDENTITY FULL;
        INSERT INTO film SELECT n, ARRAY['t' || n % 40, 'u' || n % 30], jsonb_build_array(n % 20, n % 25) FROM generate_series(1, 3000) n; ANALYZE`,
      tables: ['public.film'],
      key: ['tag', 'size'],
      query: `SELECT x.tag, y.size, count(*)::int AS n FROM (SELECT f.id, unnest(f.tags) AS tag FROM public.film f) x
        JOIN (SELECT f.id, jsonb_array_elements_text(f.sizes) AS size FROM public.film f) y ON y.id = x.id GROUP BY x.tag, y.size`,
    })
    await one.source.query(`UPDATE film SET tags = ARRAY['a', 'b'], sizes = '[1, 2]' WHERE id = 5; DELETE FROM film WHERE id = 6;
      UPDATE film SET tags = '{}' WHERE id = 7`)
    await expectEqual(one)
  })

  it('whose rows come from either side of a FULL JOIN', async () => {
    const table = (
      name: string,
      first: number,
    ) => `CREATE TABLE ${name} (id int PRIMARY KEY, film_id int NOT NULL);
      INSERT INTO ${name} SELECT n, n % 4000 + ${first} FROM generate_series(1, 40000) n; CREATE INDEX ON ${name} (film_id);
      ALTER TABLE ${name} REPLICA IDENTITY FULL;`
    const one = await followed({
      sql: `${table('rating', 1)} ${table('visit', 2001)} ANALYZE`,
      tables: ['public.rating', 'public.visit'],
      query: `SELECT coalesce(r.film_id, v.film_id) AS id, r.n::int AS ratings, v.n::int AS visits
        FROM (SELECT film_id, count(*) AS n FROM public.rating GROUP BY film_id) r
        FULL JOIN (SELECT film_id, count(*) AS n FROM public.visit GROUP BY film_id) v ON r.film_id = v.film_id`,
    })
    await one.source.query(`DELETE FROM rating WHERE film_id IN (10, 2500); DELETE FROM visit WHERE film_id = 5900;
      UPDATE visit SET film_id = 3 WHERE film_id = 2600; INSERT INTO rating VALUES (90000, 9000); INSERT INTO visit VALUES (90000, 9000)`)
    // Of 10, 2500, 5900, 2600, 3 and 9000 two are gone.
    expect(await expectEqual(one)).toMatchObject({ rows_read: 4, rows_deleted: 2 })
  })

  it.each([
    ['TRUNCATE of one partition', 'TRUNCATE visit_2'],
    ['DETACH of a partition', 'ALTER TABLE visit DETACH PARTITION visit_2'],
    [
      'ATTACH of a partition with rows',
      'CREATE TABLE visit_3 (LIKE visit); INSERT INTO visit_3 VALUES (900, 1, 3); ALTER TABLE visit ATTACH PARTITION visit_3 FOR VALUES IN (3)',
    ],
    ['DROP of a partition', 'DROP TABLE visit_2'],
    ['a row that moves to another partition', 'UPDATE visit SET month = 3 - month WHERE id < 20'],
  ])('after %s', async (_, change) => {
    const one = await followed({
      sql: `CREATE TABLE visit (id int, film_id int NOT NULL, month int NOT NULL, PRIMARY KEY (id, month)) PARTITION BY LIST (month);
        CREATE TABLE visit_1 PARTITION OF visit FOR VALUES IN (1); CREATE TABLE visit_2 PARTITION OF visit FOR VALUES IN (2);
        ALTER TABLE visit_1 REPLICA IDENTITY FULL; ALTER TABLE visit_2 REPLICA IDENTITY FULL;
        INSERT INTO visit SELECT n, n % 20, 1 + n % 2 FROM generate_series(1, 200) n`,
      tables: ['public.visit'],
      query:
        'SELECT v.film_id AS id, count(*)::int AS n, sum(v.month)::int AS months FROM public.visit v GROUP BY v.film_id',
    })
    await one.source.query(change)
    await expectEqual(one)
    await one.source.query('DELETE FROM visit WHERE film_id = 4; INSERT INTO visit VALUES (1000, 77, 1)')
    await expectEqual(one)
  })

  it('with a generated column as the link between two tables', async () => {
    const one = await followed({
      sql: `CREATE TABLE film (id int PRIMARY KEY, title text);
        CREATE TABLE rating (id int PRIMARY KEY, code text, film_id int GENERATED ALWAYS AS (substr(code, 2)::int) STORED);
        CREATE INDEX ON rating (film_id);
        INSERT INTO film SELECT n, 'film ' || n FROM generate_series(1, 50) n;
        INSERT INTO rating SELECT n, 'f' || n % 50 + 1 FROM generate_series(1, 500) n`,
      tables: TABLES,
      query:
        'SELECT f.id, count(r.id)::int AS n FROM public.film f LEFT JOIN public.rating r ON r.film_id = f.id GROUP BY f.id',
    })
    await one.source.query(
      "UPDATE rating SET code = 'f7' WHERE id BETWEEN 100 AND 105; DELETE FROM rating WHERE id = 7",
    )
    await expectEqual(one)
  })

  it('after subtransactions that were kept and rolled back', async () => {
    const one = await followed({ sql: LOSSLESS, tables: TABLES, query: COUNTS })
    await one.source.query(`BEGIN; DELETE FROM rating WHERE film_id = 1; SAVEPOINT a; DELETE FROM rating WHERE film_id = 2; SAVEPOINT b;
      UPDATE rating SET film_id = 4 WHERE film_id = 3; ROLLBACK TO a; UPDATE rating SET film_id = 6 WHERE film_id = 5; SAVEPOINT c;
      DELETE FROM film WHERE id = 8; RELEASE c; COMMIT`)
    expect(await expectEqual(one)).toMatchObject({ rows_deleted: 3 })
  })

  it('while a transaction is prepared, and after it was committed or rolled back', async () => {
    const one = await followed({ sql: LOSSLESS, tables: TABLES, query: COUNTS })
    for (const [name, film] of [
      ['kept', 1],
      ['dropped', 2],
    ] as const)
      await one.source.query(
        `BEGIN; DELETE FROM rating WHERE film_id = ${film}; PREPARE TRANSACTION '${name}_${one.id}'`,
      )
    await one.source.query('DELETE FROM rating WHERE film_id = 3')
    expect(await expectEqual(one)).toMatchObject({ rows_deleted: 1 })
    await one.source.query(`COMMIT PREPARED 'kept_${one.id}'`)
    expect(await expectEqual(one)).toMatchObject({ rows_deleted: 1 })
    await one.source.query(`ROLLBACK PREPARED 'dropped_${one.id}'`)
    expect(await expectEqual(one)).toMatchObject({ rows_deleted: 0 })
  })

  it('after a transaction of 200,000 rows', async () => {
    const one = await followed({ sql: LOSSLESS, tables: TABLES, query: COUNTS })
    await one.source.query(
      'INSERT INTO rating SELECT n, n % 300 + 1, n % 5 FROM generate_series(10001, 210000) n; DELETE FROM rating WHERE film_id = 17',
    )
    await expectEqual(one)
    await one.source.query('DELETE FROM rating WHERE film_id = 18')
    expect(await expectEqual(one)).toMatchObject({ rows_deleted: 1, rows_read: 0 })
  })

  it('when tables are altered, replaced and truncated while it is live', async () => {
    const one = await followed({ sql: LOSSLESS, tables: TABLES, query: COUNTS, spec: { freshness: 'live' } })
    const isEqual = async () => {
      const { mart, source } = await one.both()
      return mart.join('\n') === source.join('\n')
    }
    await waitFor(isEqual, { what: 'the first rows' })
    const changes = [
      'ALTER TABLE film ADD COLUMN extra int DEFAULT 3; DELETE FROM rating WHERE film_id = 1',
      'ALTER TABLE rating ALTER COLUMN score TYPE bigint; DELETE FROM rating WHERE film_id = 2',
      'ALTER TABLE rating REPLICA IDENTITY DEFAULT; UPDATE rating SET film_id = 4 WHERE film_id = 3',
      'ALTER TABLE rating REPLICA IDENTITY FULL; UPDATE rating SET film_id = 6 WHERE film_id = 5',
      'TRUNCATE rating; INSERT INTO rating VALUES (1, 50, 1), (2, 51, 2)',
      'VACUUM FULL rating',
      'UPDATE rating SET film_id = 52 WHERE id = 1',
    ]
    for (const change of changes) {
      await one.source.query(change)
      await waitFor(isEqual, { what: `the mart to follow after ${change}` })
    }
    const runs = await runsOf(one.main, one.id)
    expect(runs.filter(({ status }) => status === 'FAILED')).toEqual([])
    await one.main.query(
      "UPDATE etl.etl_pipelines SET status = 'PAUSE_REQUESTED' WHERE id = $1 AND status = 'RUNNING'",
      [one.id],
    )
  })
})
