import { describe, expect, it } from 'vitest'
import { anApi } from '../support/api.js'
import { aPipeline, type PipelineOverrides } from '../support/builders.js'
import { aCountedMart, holdRow, ITEMS, signature, signatures, writesOf } from '../support/counted-mart.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { aRunner } from '../support/runner.js'
import { requestRun, run, runEnded, type StoredRun } from '../support/runs.js'
import { sampleOf } from '../support/sample.js'

/** Tables whose keys are of different types; the values of the last ones are far apart and far from even. */
const KEYS = {
  integer: { key: ['id'], columns: 'n * n AS id', primary: 'id' },
  uuid: { key: ['id'], columns: 'md5(n::text)::uuid AS id', primary: 'id' },
  text: { key: ['id'], columns: "repeat('ä', n % 3) || md5(n::text) AS id", primary: 'id' },
  composite: { key: ['a', 'b'], columns: 'n % 5 AS a, md5(n::text) AS b', primary: 'a, b' },
} as const
type Kind = keyof typeof KEYS

const ROWS = 3_000
const WAYS = ['pushdown', 'relay', 'rows'] as const

async function aSource(kind: Kind): Promise<{ main: TestDatabase; warehouse: TestDatabase }> {
  const main = await aDatabase()
  const warehouse = await aDatabase({ migrated: false })
  const { columns, primary } = KEYS[kind]
  await main.query(`
    CREATE SCHEMA IF NOT EXISTS content;
    CREATE TABLE content.thing AS SELECT ${columns}, 'value ' || n AS value, n::numeric / 7 AS amount FROM generate_series(1, ${ROWS}) AS n;
    ALTER TABLE content.thing ADD PRIMARY KEY (${primary});
    GRANT USAGE ON SCHEMA content TO vitrina_reader;
    GRANT SELECT ON ALL TABLES IN SCHEMA content TO vitrina_reader;
    ANALYZE content.thing`)
  await warehouse.query('CREATE SCHEMA IF NOT EXISTS analytics')
  return { main, warehouse }
}

async function contentOf(database: TestDatabase, table: string): Promise<string> {
  const [row] = await database.query<{ signature: string }>(
    `SELECT count(*) || ' ' || md5(string_agg(t::text, E'\\n' ORDER BY t::text)) AS signature FROM ${table} AS t`,
  )
  return row!.signature
}

interface Runs {
  readonly first: StoredRun
  readonly again: StoredRun
  readonly mart: string
}

/** In `npm test` every type of key, and every way, at least once. */
const CASES = sampleOf(
  (Object.keys(KEYS) as Kind[]).flatMap((kind) => WAYS.map((way) => ({ kind, way }))),
  { key: ({ kind, way }) => `parts ${kind} ${way}`, labels: ({ kind, way }) => [kind, way] },
)

describe('a mart is the same in any number of parts', () => {
  it.each(CASES)('with a key of type $kind: $way', async ({ kind, way }) => {
    const { main, warehouse } = await aSource(kind)
    const target = way === 'pushdown' ? main : warehouse
    const env = { VITRINA_CONNECTION_WAREHOUSE_URL: warehouse.url }
    await aRunner(main, { env, ...(way === 'rows' ? { way } : {}) })
    const source = await contentOf(main, 'content.thing')
    for (const [parallelism, parts] of [
      [1, 0],
      [2, 2],
      [4, 4],
      [null, 0],
    ] as const)
      for (const fullStrategy of ['upsert', 'replace'] as const) {
        const table = `analytics.${kind}_${parallelism ?? 'auto'}_${fullStrategy}`
        const runs = await fill(
          { main, target },
          {
            sourceQuery: 'SELECT * FROM content.thing',
            targetTable: table,
            targetConnection: way === 'pushdown' ? null : 'warehouse',
            keyColumns: [...KEYS[kind].key],
            parallelism,
            fullStrategy,
          },
        )
        const rows = {
          status: 'SUCCESS',
          error: null,
          parts_total: parts,
          parts_done: parts,
          rows_read: ROWS,
          rows_deleted: 0,
        }
        expect(runs.first).toMatchObject({ ...rows, rows_inserted: ROWS, rows_updated: 0 })
        expect(runs.again).toMatchObject({ ...rows, rows_unchanged: ROWS, rows_written: 0 })
        expect(runs.mart).toBe(source)
      }
  })
})

async function fill(
  { main, target }: { main: TestDatabase; target: TestDatabase },
  spec: PipelineOverrides,
): Promise<Runs> {
  const { id } = await aPipeline(main, spec)
  const first = await run(main, id)
  const again = await run(main, id)
  return { first, again, mart: await contentOf(target, spec.targetTable!) }
}

describe('parts of a run', () => {
  it('read one snapshot of the source, whatever is committed while they work', async () => {
    const mart = await aCountedMart({
      rows: 200,
      stale: 1,
      warehouse: true,
      pipeline: { parallelism: 4, batchSize: null },
    })
    await aRunner(mart.main, { env: { ...mart.env, RUNNER_CONCURRENCY: '1' } })
    const held = await holdRow(mart, 1)
    const runId = await requestRun(mart.main, mart.pipeline.id)
    await held.waitForBatch()
    const before = await signature(mart.main, ITEMS)
    // From the first part, which has been read, to the others, which have not.
    await mart.main.query(`
      UPDATE content.item SET amount = amount - 1000 WHERE id = 2;
      UPDATE content.item SET amount = amount + 1000 WHERE id = 190;
      DELETE FROM content.line WHERE item_id = 195;
      DELETE FROM content.item WHERE id = 195;
      INSERT INTO content.item (id, name, amount) VALUES (1000, 'late', 1)`)
    await held.release()
    expect(await runEnded(mart.main, runId)).toMatchObject({
      status: 'SUCCESS',
      parts_done: 4,
      rows_read: 200,
    })
    expect((await signatures(mart)).mart).toBe(before)
  })

  it('contain each row once if keys are NULL, repeated or unlike those that were sampled', async () => {
    const { main, warehouse } = await aSource('integer')
    await main.query(`
      ALTER TABLE content.thing DROP CONSTRAINT thing_pkey;
      ALTER TABLE content.thing ALTER id DROP NOT NULL;
      CREATE UNIQUE INDEX ON content.thing (id);
      INSERT INTO content.thing SELECT NULL, 'without a key ' || n, n FROM generate_series(1, 7) AS n;
      INSERT INTO content.thing VALUES (-1000000, 'first', 0), (2000000000, 'last', 0)`)
    await aRunner(main, { env: { VITRINA_CONNECTION_WAREHOUSE_URL: warehouse.url } })
    const { id } = await aPipeline(main, {
      sourceQuery: 'SELECT * FROM content.thing',
      targetTable: 'analytics.nulls',
      targetConnection: 'warehouse',
      keyColumns: ['id'],
      parallelism: 3,
    })
    expect(await run(main, id)).toMatchObject({
      ...{ status: 'SUCCESS', parts_done: 3, rows_read: ROWS + 9 },
      ...{ rows_inserted: ROWS + 2, rows_quarantined: 7 },
    })
    const quarantined = await main.query('SELECT FROM etl.etl_quarantine WHERE pipeline_id = $1', [id])
    expect(quarantined).toHaveLength(7)
  })

  it('that a paused run has committed are not executed again by the next one', async () => {
    const mart = await aCountedMart({ rows: 200, stale: 200, pipeline: { parallelism: 4 } })
    await aRunner(mart.main, { env: { RUNNER_CONCURRENCY: '1' } })
    const held = await holdRow(mart, 60)
    const runId = await requestRun(mart.main, mart.pipeline.id)
    await held.waitForBatch()
    await mart.main.query("UPDATE etl.etl_pipelines SET status = 'PAUSE_REQUESTED' WHERE id = $1", [
      mart.pipeline.id,
    ])
    await held.release()
    const paused = await runEnded(mart.main, runId)
    expect(paused).toMatchObject({ status: 'PAUSED', parts_total: 4, parts_done: 2, rows_written: 100 })
    const open = await mart.main.query("SELECT FROM etl.etl_run_parts WHERE status IN ('PENDING', 'RUNNING')")
    expect(open).toHaveLength(0)
    const next = await run(mart.main, mart.pipeline.id)
    expect(next).toMatchObject({ status: 'SUCCESS', parts_total: 4, parts_done: 4, rows_written: 100 })
    const { source, mart: content } = await signatures(mart)
    expect(content).toBe(source)
    expect(await writesOf(mart)).toEqual({ writes: 200, keys: 200 })
  })

  it('are tried again by the next attempt of the run if one of them failed', async () => {
    const mart = await aCountedMart({ rows: 200, stale: 200, pipeline: { parallelism: 4 } })
    await mart.target.query(`
      CREATE FUNCTION public.once() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF NEW.id = 150 AND nextval('public.tries') = 1 THEN RAISE EXCEPTION 'not now' USING ERRCODE = '40001'; END IF;
        RETURN NEW;
      END $$;
      CREATE SEQUENCE public.tries; GRANT USAGE ON SEQUENCE public.tries TO vitrina_writer;
      CREATE TRIGGER once BEFORE UPDATE ON analytics.mart FOR EACH ROW EXECUTE FUNCTION public.once()`)
    await aRunner(mart.main, { retryWaitsMs: [10] })
    const done = await run(mart.main, mart.pipeline.id)
    expect(done).toMatchObject({ status: 'SUCCESS', attempt: 2, parts_done: 4, rows_written: 200 })
    expect(await writesOf(mart)).toEqual({ writes: 200, keys: 200 })
  })

  it('are made of the first pass of a pipeline that follows changes by xmin', async () => {
    const mart = await aCountedMart({
      rows: 200,
      pipeline: { mode: 'incremental', capture: 'xmin', parallelism: 4 },
    })
    await aRunner(mart.main)
    expect(await run(mart.main, mart.pipeline.id)).toMatchObject({ status: 'SUCCESS', parts_done: 4 })
    await mart.main.query('UPDATE content.item SET amount = -1 WHERE id = 77')
    const next = await run(mart.main, mart.pipeline.id)
    expect(next).toMatchObject({ status: 'SUCCESS', parts_total: 0, rows_updated: 1, rows_inserted: 0 })
    const { source, mart: content } = await signatures(mart)
    expect(content).toBe(source)
  })

  it('are chosen by auto for a large table, and validate reports why others are one stream', async () => {
    const main = await aDatabase()
    await main.query(`
      CREATE SCHEMA IF NOT EXISTS content;
      CREATE TABLE content.large AS SELECT n AS id, n % 10 AS kind FROM generate_series(1, 600000) AS n;
      ALTER TABLE content.large ADD PRIMARY KEY (id);
      GRANT USAGE ON SCHEMA content TO vitrina_reader;
      GRANT SELECT ON ALL TABLES IN SCHEMA content TO vitrina_reader;
      ANALYZE content.large`)
    await aRunner(main)
    const large = { sourceQuery: 'SELECT * FROM content.large', keyColumns: ['id'], parallelism: null }
    const { id } = await aPipeline(main, { ...large, targetTable: 'analytics.large' })
    expect(await run(main, id)).toMatchObject({ status: 'SUCCESS', parts_total: 2, rows_inserted: 600_000 })
    const groups = 'SELECT kind, count(*) AS n FROM content.large GROUP BY kind'
    const { id: grouped } = await aPipeline(main, {
      ...{ sourceQuery: groups, targetTable: 'analytics.kinds', keyColumns: ['kind'], parallelism: 4 },
    })
    const api = anApi(main.loginUrl('meta'), { readerUrl: main.loginUrl('reader') })
    expect((await api.post(`/pipelines/${id}/validate`)).json()).toMatchObject({ valid: true, warnings: [] })
    expect((await api.post(`/pipelines/${grouped}/validate`)).json()).toMatchObject({
      valid: true,
      warnings: [
        {
          code: 'ONE_STREAM',
          field: 'parallelism',
          message:
            'Runs are not cut into parts: the query joins or groups rows, and would be computed again for each part.',
        },
      ],
    })
    await api.close()
    expect(await run(main, grouped)).toMatchObject({ status: 'SUCCESS', parts_total: 0, rows_inserted: 10 })
  })
})
