import { expect, it } from 'vitest'
import { requestRun, runEnded } from '../support/runs.js'
import { onEveryRoute, rowTexts, type Stand } from '../support/stand.js'
import { waitFor } from '../support/wait.js'

/** How often the table was read from its beginning. The statistics arrive when the runner's session has ended. */
async function scans(stand: Stand, table: string): Promise<number> {
  await waitFor(
    async () => {
      const open = await stand.source.query(
        "SELECT FROM pg_stat_activity WHERE datname = current_database() AND starts_with(application_name, 'vitrina-run ')",
      )
      return open.length === 0
    },
    { what: 'the sessions of the run to end' },
  )
  await stand.source.query('SELECT pg_stat_clear_snapshot()')
  const [row] = await stand.source.query<{ n: string }>(
    `SELECT pg_stat_get_numscans('${table}'::regclass) AS n`,
  )
  return Number(row!.n)
}

/** Before PostgreSQL 15 the statistics of a session that has ended arrive a moment later, all of them at once. */
async function nextScans(stand: Stand, table: string, before: number): Promise<number> {
  return waitFor(
    async () => {
      const now = await scans(stand, table)
      return now > before ? now - before : null
    },
    { what: 'the statistics of the run' },
  )
}

async function batches(
  stand: Stand,
  runId: string,
): Promise<{ rows_read: string; last_key: string | null }[]> {
  return stand.main.query(
    'SELECT rows_read, last_key FROM etl.etl_run_batches WHERE run_id = $1 ORDER BY batch',
    [runId],
  )
}

onEveryRoute((stand) => {
  it('computes an aggregate once for each pass, however small its batches are', async () => {
    await stand().source.query(
      'CREATE TABLE content.measured (n int, film int NOT NULL, x int); INSERT INTO content.measured SELECT n, n % 500, n FROM generate_series(1, 5000) n; ANALYZE content.measured',
    )
    const sourceQuery = 'SELECT film, sum(x) AS total FROM content.measured GROUP BY film'
    const { id } = await stand().pipeline({
      sourceQuery,
      targetTable: 'analytics.measured',
      keyColumns: ['film'],
      batchSize: 20,
    })
    const before = await scans(stand(), 'content.measured')
    expect(await stand().run(id)).toMatchObject({
      status: 'SUCCESS',
      error: null,
      batches: 25,
      rows_inserted: 500,
    })
    expect(await nextScans(stand(), 'content.measured', before)).toBe(1)
    expect(await stand().run(id)).toMatchObject({
      status: 'SUCCESS',
      error: null,
      batches: 25,
      rows_unchanged: 500,
    })
    expect(await nextScans(stand(), 'content.measured', before + 1)).toBe(1)
    expect(await rowTexts(stand().target, 'SELECT * FROM analytics.measured')).toEqual(
      await rowTexts(stand().source, sourceQuery),
    )
  })

  it.each([
    ['in pages', 'SELECT id, note FROM content.merged'],
    ['read once', 'SELECT id, note FROM content.merged GROUP BY id'],
  ])(
    '%s: fills an empty mart without looking for conflicts, and a filled one with',
    async (how, sourceQuery) => {
      await stand().source.query(`
      CREATE TABLE IF NOT EXISTS content.merged (id int PRIMARY KEY, note text);
      INSERT INTO content.merged SELECT n, 'n' FROM generate_series(1, 3000) n ON CONFLICT DO NOTHING; ANALYZE content.merged`)
      const name = how.replace(' ', '_')
      // A statement that may update fires this trigger even when it updates nothing.
      await stand().target.query(`
      CREATE TABLE analytics.merged_${name} (id int PRIMARY KEY, note text);
      CREATE TABLE analytics.merges_${name} (at timestamptz DEFAULT clock_timestamp());
      CREATE FUNCTION analytics.merges_${name}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN INSERT INTO analytics.merges_${name} DEFAULT VALUES; RETURN NULL; END $$;
      CREATE TRIGGER merged BEFORE UPDATE ON analytics.merged_${name} FOR EACH STATEMENT EXECUTE FUNCTION analytics.merges_${name}()`)
      const { id } = await stand().pipeline({
        sourceQuery,
        targetTable: `analytics.merged_${name}`,
        batchSize: 1000,
      })
      const merges = () => rowTexts(stand().target, `SELECT count(*) FROM analytics.merges_${name}`)
      expect(await stand().run(id)).toMatchObject({
        status: 'SUCCESS',
        error: null,
        batches: 3,
        rows_inserted: 3000,
      })
      expect(await merges()).toEqual(['(0)'])
      // Between two databases, ranges without a difference are not merged.
      await stand().source.query("UPDATE content.merged SET note = note || '!'")
      expect(await stand().run(id)).toMatchObject({
        status: 'SUCCESS',
        error: null,
        batches: 3,
        rows_updated: 3000,
      })
      expect(await merges()).toEqual(['(3)'])
    },
  )

  it('R4.6: keeps the configured batch size and the order, whatever the width of the rows', async () => {
    await stand().source.query(
      "CREATE TABLE content.ragged (id int PRIMARY KEY, note text); INSERT INTO content.ragged SELECT n, repeat('x', (random() * 3000)::int) FROM generate_series(1, 3000) n; ANALYZE content.ragged",
    )
    for (const [name, sourceQuery] of [
      ['paged', 'SELECT * FROM content.ragged'],
      ['staged', 'SELECT id, max(note) AS note FROM content.ragged GROUP BY id'],
    ] as const) {
      const { id } = await stand().pipeline({
        sourceQuery,
        targetTable: `analytics.ragged_${name}`,
        batchSize: 70,
      })
      const run = await stand().run(id)
      expect(run).toMatchObject({ status: 'SUCCESS', error: null, rows_inserted: 3000, batches: 43 })
      const done = await batches(stand(), run.id)
      expect(done.map((batch) => Number(batch.rows_read))).toEqual([...Array(42).fill(70), 60])
      expect(done.map((batch) => Number(batch.last_key))).toEqual(
        [...Array(42).keys()].map((n) => (n + 1) * 70).concat(3000),
      )
    }
  })

  it('chooses a batch size if none is set', async () => {
    await stand().source.query(
      "CREATE TABLE content.auto (id int PRIMARY KEY, note text); INSERT INTO content.auto SELECT n, 'note' FROM generate_series(1, 60000) n; ANALYZE content.auto",
    )
    const { id } = await stand().pipeline({
      sourceQuery: 'SELECT * FROM content.auto',
      targetTable: 'analytics.auto',
      batchSize: null,
    })
    const run = await stand().run(id)
    expect(run).toMatchObject({ status: 'SUCCESS', error: null, rows_inserted: 60000 })
    expect(run.batches).toBeGreaterThan(1)
  })

  it('R4.3: resumes where a full pass was interrupted, and misses none of its rows', async () => {
    await stand().source.query(
      "CREATE TABLE content.resumed (id int PRIMARY KEY, note text); INSERT INTO content.resumed SELECT n, repeat('x', n % 500) FROM generate_series(1, 2000) n; ANALYZE content.resumed",
    )
    for (const [name, sourceQuery] of [
      ['paged', 'SELECT id, note FROM content.resumed'],
      ['staged', 'SELECT id, max(note) AS note FROM content.resumed GROUP BY id'],
    ] as const) {
      const mart = `analytics.resumed_${name}`
      await stand().target.query(
        `CREATE TABLE ${mart} (id int PRIMARY KEY CONSTRAINT fine CHECK (id <> 1234), note text)`,
      )
      const { id } = await stand().pipeline({
        sourceQuery,
        targetTable: mart,
        batchSize: 100,
        quarantineLimit: 0,
      })
      expect(await stand().run(id)).toMatchObject({
        status: 'FAILED',
        error_code: 'VTR-4101',
        rows_inserted: 1200,
        batches: 12,
      })
      await stand().target.query(`ALTER TABLE ${mart} DROP CONSTRAINT fine`)
      expect(await stand().run(id)).toMatchObject({
        status: 'SUCCESS',
        error: null,
        rows_inserted: 800,
        batches: 8,
      })
      expect(await rowTexts(stand().target, `SELECT * FROM ${mart}`)).toEqual(
        await rowTexts(stand().source, sourceQuery),
      )
      expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS', error: null, rows_unchanged: 2000 })
    }
  })

  it('pauses between batches and resumes at the next row', async () => {
    await stand().source.query(
      'CREATE TABLE content.paused (id int PRIMARY KEY); INSERT INTO content.paused SELECT generate_series(1, 3000); ANALYZE content.paused',
    )
    const { id } = await stand().pipeline({
      sourceQuery: 'SELECT id FROM content.paused',
      targetTable: 'analytics.paused',
      batchSize: 5,
    })
    const runId = await requestRun(stand().main, id)
    await waitFor(async () => (await batches(stand(), runId)).length > 3, { what: 'some batches' })
    await stand().main.query("UPDATE etl.etl_pipelines SET status = 'PAUSE_REQUESTED' WHERE id = $1", [id])
    const paused = await runEnded(stand().main, runId)
    expect(paused.status).toBe('PAUSED')
    expect(await rowTexts(stand().target, 'SELECT count(*), max(id) FROM analytics.paused')).toEqual([
      `(${paused.rows_inserted},${paused.rows_inserted})`,
    ])
    await stand().set(id, 'batch_size', 1000)
    expect(await stand().run(id)).toMatchObject({
      status: 'SUCCESS',
      error: null,
      rows_inserted: 3000 - paused.rows_inserted,
    })
    expect(await rowTexts(stand().target, 'SELECT count(*) FROM analytics.paused')).toEqual(['(3000)'])
  })
})
