import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { PipelineSpec } from '../../src/model/pipeline.js'
import { aPipeline } from '../support/builders.js'
import { aLogicalServer, type LogicalServer, prepareSource } from '../support/capture.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { aRunner, type TestRunner } from '../support/runner.js'
import { run, runsOf, type StoredRun } from '../support/runs.js'
import { rowTexts } from '../support/stand.js'
import { waitFor } from '../support/wait.js'

const TABLES = `
  CREATE SCHEMA content;
  CREATE TABLE content.film (id int PRIMARY KEY, title text, studio_id int);
  CREATE TABLE content.rating (id int PRIMARY KEY, film_id int, user_id int, score int);
  CREATE INDEX ON content.rating (film_id); CREATE INDEX ON content.film (studio_id);
  CREATE UNIQUE INDEX rating_identity ON content.rating (id, film_id); ALTER TABLE content.rating ALTER film_id SET NOT NULL;
  ALTER TABLE content.rating REPLICA IDENTITY USING INDEX rating_identity;
  INSERT INTO content.film SELECT n, 'film ' || n, n % 10 FROM generate_series(1, 100) n;
  INSERT INTO content.rating SELECT n, n % 100 + 1, n % 7, n % 5 FROM generate_series(1, 1000) n`

const STATS = `SELECT f.id, f.title, count(r.id)::int AS ratings, avg(r.score)::numeric(6, 3) AS score
  FROM content.film f LEFT JOIN content.rating r ON r.film_id = f.id GROUP BY f.id`

describe.each(['relay', 'rows'] as const)('by %s', (way) => {
  let server: LogicalServer
  let main: TestDatabase
  let source: TestDatabase
  let runner: TestRunner

  beforeAll(async () => {
    server = await aLogicalServer()
    main = await aDatabase()
    source = await aDatabase({ migrated: false, server })
    await source.query(TABLES)
    await source.query('CREATE TABLE content.unpublished (id int PRIMARY KEY)')
    await prepareSource(main, source, { connection: 'src', tables: ['content.film', 'content.rating'] })
    const env = { VITRINA_CONNECTION_SRC_URL: source.url, ALLOWED_SOURCE_SCHEMAS: 'content' }
    runner = await aRunner(main, { way, env })
  })
  afterAll(async () => {
    await runner?.stop()
    await source?.drop()
    await server?.stop()
  })

  const mart = (spec: Partial<PipelineSpec>) =>
    aPipeline(main, {
      sourceConnection: 'src',
      mode: 'incremental',
      capture: 'wal',
      keyColumns: ['id'],
      ...spec,
    })

  const runOf = async (id: string): Promise<StoredRun> => {
    const done = await run(main, id)
    expect(done).toMatchObject({ status: 'SUCCESS', error: null })
    return done
  }

  it('explains how to prepare a source', async () => {
    const { id } = await mart({
      sourceQuery: 'SELECT id FROM content.unpublished',
      targetTable: 'analytics.unprepared',
    })
    const failed = await run(main, id)
    expect(failed).toMatchObject({ status: 'FAILED', error_code: 'VTR-2106', rows_read: 0 })
    expect(failed.error).toContain('content.unpublished')
    expect(failed.error_hint).toContain('vitrina sources prepare src --apply')
  })

  it('does not concern itself with tables of other pipelines that can no longer be published', async () => {
    const [head] = await main.query<{ publication: string }>('SELECT publication FROM etl.etl_change_heads')
    await source.query(`CREATE TABLE content.other (id int PRIMARY KEY);
      ALTER PUBLICATION ${head!.publication} ADD TABLE content.other; ALTER TABLE content.other REPLICA IDENTITY NOTHING`)
    const { id } = await mart({ sourceQuery: STATS, targetTable: 'analytics.beside_another' })
    expect(await runOf(id)).toMatchObject({ rows_inserted: 100 })
    await source.query('DROP TABLE content.other')
  })

  it('applies inserts, updates, deletes and rows that move to another group', async () => {
    const { id } = await mart({ sourceQuery: STATS, targetTable: 'analytics.stats' })
    expect(await runOf(id)).toMatchObject({ rows_inserted: 100 })
    expect(await runOf(id)).toMatchObject({ rows_read: 0 })
    await source.query(`
      INSERT INTO content.rating VALUES (1001, 5, 1, 5);
      UPDATE content.rating SET score = 9 WHERE id = 10;
      DELETE FROM content.rating WHERE id = 20;
      UPDATE content.rating SET film_id = 50 WHERE id = 30;
      DELETE FROM content.rating WHERE film_id = 90; DELETE FROM content.film WHERE id = 90;
      INSERT INTO content.film VALUES (101, 'new', 3)`)
    expect(await runOf(id)).toMatchObject({ rows_inserted: 1, rows_deleted: 1, rows_read: 6 })
    expect(await rowTexts(main, 'SELECT * FROM analytics.stats')).toEqual(await rowTexts(source, STATS))
  })

  it('compares everything after TRUNCATE, and after the slot was lost', async () => {
    const { id } = await mart({ sourceQuery: STATS, targetTable: 'analytics.truncated', deleteBrake: 1 })
    await runOf(id)
    await source.query('TRUNCATE content.rating; INSERT INTO content.rating VALUES (1, 1, 1, 1)')
    await runOf(id)
    expect(await rowTexts(main, 'SELECT * FROM analytics.truncated')).toEqual(await rowTexts(source, STATS))
    await source.query(
      `SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE active_pid IS NOT NULL`,
    )
    await source.query('DELETE FROM content.film WHERE id = 7')
    await source.query(
      `DO $$ BEGIN FOR i IN 1..100 LOOP BEGIN PERFORM pg_drop_replication_slot(slot_name) FROM pg_replication_slots; RETURN;
         EXCEPTION WHEN object_in_use THEN PERFORM pg_terminate_backend(active_pid) FROM pg_replication_slots; PERFORM pg_sleep(0.05); END; END LOOP; END $$`,
    )
    await source.query('DELETE FROM content.film WHERE id = 8')
    await runOf(id)
    expect(await rowTexts(main, 'SELECT * FROM analytics.truncated')).toEqual(await rowTexts(source, STATS))
  })

  it('applies commits at once while it is live, and pauses', async () => {
    const { id } = await mart({ sourceQuery: STATS, targetTable: 'analytics.live', freshness: 'live' })
    const equal = async () =>
      isDeepStrictEqual(await rowTexts(main, 'SELECT * FROM analytics.live'), await rowTexts(source, STATS))
    await waitFor(
      async () => (await runsOf(main, id)).some((one) => one.status === 'RUNNING' && one.batches > 0),
      { what: 'the first batch' },
    )
    for (let n = 1; n <= 20; n++)
      await source.query('INSERT INTO content.rating VALUES ($1, $2, 1, 5)', [5000 + n, (n % 90) + 10])
    await waitFor(equal, { what: 'the mart to follow' })
    const [run] = await runsOf(main, id)
    expect(run).toMatchObject({ status: 'RUNNING', trigger: 'schedule' })
    await main.query("UPDATE etl.etl_pipelines SET status = 'PAUSE_REQUESTED' WHERE id = $1", [id])
    await waitFor(async () => (await runsOf(main, id))[0]!.status === 'PAUSED', { what: 'the pause' })
  })

  if (way === 'relay')
    it('audits itself: a row that differs is repaired, and the run computes every row from then on', async () => {
      const { id } = await mart({ sourceQuery: STATS, targetTable: 'analytics.audited' })
      await runOf(id)
      await source.query('INSERT INTO content.rating VALUES (7001, 30, 1, 5)')
      expect(await runOf(id)).toMatchObject({ rows_read: 1 })
      expect(await auditOf(main, id)).toMatchObject({ scopes: expect.any(Number) })
      expect((await auditOf(main, id))!.scopes).toBeGreaterThan(0)
      // As if no change had ever been followed to these rows.
      await main.query('UPDATE analytics.audited SET ratings = -1')
      await main.query(
        `UPDATE etl.etl_state SET position = jsonb_set(position, '{audit,runMs}', '1000000') WHERE pipeline_id = $1`,
        [id],
      )
      await source.query('INSERT INTO content.rating VALUES (7002, 31, 1, 5)')
      await runOf(id)
      expect(await rowTexts(main, 'SELECT * FROM analytics.audited')).toEqual(await rowTexts(source, STATS))
      expect(await auditOf(main, id)).toMatchObject({ failed: { rows: expect.any(Number) } })
      const [{ n }] = (await source.query<{ n: number }>('SELECT count(*)::int AS n FROM content.film')) as [
        { n: number },
      ]
      await source.query('INSERT INTO content.rating VALUES (7003, 32, 1, 5)')
      expect(await runOf(id)).toMatchObject({ rows_read: n, rows_updated: 1 })
    })

  it('reports what a run cost', async () => {
    const { id } = await mart({ sourceQuery: STATS, targetTable: 'analytics.cost' })
    await runOf(id)
    await source.query('INSERT INTO content.rating VALUES (8001, 33, 1, 5)')
    const { cost_blocks_read: blocks, cost_wal_bytes: wal } = await runOf(id)
    if (server.major < 18) expect([blocks, wal]).toEqual([null, null])
    else expect([Number(blocks) > 0, Number(wal) > 0]).toEqual([true, true])
  })
})

interface Audited {
  readonly scopes: number
  readonly failed?: { readonly rows: number }
}

async function auditOf(main: TestDatabase, pipelineId: string): Promise<Audited | null> {
  const [row] = await main.query<{ audit: Audited | null }>(
    "SELECT position -> 'audit' AS audit FROM etl.etl_state WHERE pipeline_id = $1",
    [pipelineId],
  )
  return row!.audit
}
