import { expect, it } from 'vitest'
import { onEveryRoute, rowTexts, type Stand } from '../support/stand.js'

/** Joins and aggregates whose incremental key is computed: `capture: key` recomputes the groups that changed. */
const STATS = `
  SELECT d.id, d.name, count(s.id)::int AS sold, coalesce(sum(s.price), 0)::int AS revenue,
         greatest(d.modified, max(s.modified)) AS updated_at
    FROM content.dealer d LEFT JOIN content.sale s ON s.dealer_id = d.id GROUP BY d.id`

/** Rows of the last milliseconds are read twice, because a transaction as old may not be visible yet. */
const A_MOMENT_AGO = "now() - interval '1 s'"

const TABLES = `
  DROP TABLE IF EXISTS content.sale, content.dealer;
  CREATE TABLE content.dealer (id int PRIMARY KEY, name text, modified timestamptz NOT NULL DEFAULT ${A_MOMENT_AGO});
  CREATE TABLE content.sale (id int PRIMARY KEY, dealer_id int, price int, modified timestamptz NOT NULL DEFAULT ${A_MOMENT_AGO});
  INSERT INTO content.dealer SELECT n, 'dealer ' || n FROM generate_series(1, 50) n;
  INSERT INTO content.sale SELECT n, n % 49 + 1, n FROM generate_series(1, 500) n;
  CREATE INDEX ON content.sale (modified); CREATE INDEX ON content.sale (dealer_id); CREATE INDEX ON content.dealer (modified)`

const CHANGES = `
  INSERT INTO content.sale VALUES (501, 3, 1000);
  UPDATE content.sale SET price = 0, modified = ${A_MOMENT_AGO} WHERE id = 10;
  UPDATE content.dealer SET name = 'renamed', modified = ${A_MOMENT_AGO} WHERE id = 50`

async function expectEqual(stand: Stand, query: string, mart: string): Promise<void> {
  expect(await rowTexts(stand.target, `SELECT * FROM ${mart}`)).toEqual(await rowTexts(stand.source, query))
}

onEveryRoute((stand) => {
  const by = (incrementalKey: string) => ({ mode: 'incremental', capture: 'key', incrementalKey }) as const

  it('recomputes only the groups that changed', async () => {
    await stand().source.query(TABLES)
    const mart = { sourceQuery: STATS, targetTable: 'analytics.dealers', ...by('updated_at') }
    const { id } = await stand().pipeline(mart)
    expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS', error: null, rows_inserted: 50 })
    expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS', rows_read: 0 })
    await stand().source.query(CHANGES)
    expect(await stand().run(id)).toMatchObject({
      status: 'SUCCESS',
      error: null,
      rows_read: 3,
      rows_updated: 3,
    })
    await expectEqual(stand(), STATS, 'analytics.dealers')
    expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS', rows_read: 0 })
  })

  it('follows several columns', async () => {
    await stand().source.query(TABLES)
    const sourceQuery = STATS.replace(
      'greatest(d.modified, max(s.modified)) AS updated_at',
      'd.modified AS named, max(s.modified) AS sold_at',
    )
    const mart = { sourceQuery, targetTable: 'analytics.two_keys', ...by('named, sold_at') }
    const { id } = await stand().pipeline(mart)
    expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS', error: null, rows_inserted: 50 })
    await stand().source.query(CHANGES)
    expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS', error: null, rows_updated: 3 })
    await expectEqual(stand(), sourceQuery, 'analytics.two_keys')
  })

  it('does not advance past a transaction that is still open', async () => {
    await stand().source.query(TABLES)
    const mart = { sourceQuery: STATS, targetTable: 'analytics.late', ...by('updated_at') }
    const { id } = await stand().pipeline(mart)
    await stand().run(id)
    const late = await stand().source.client()
    await late.query('BEGIN; UPDATE content.sale SET price = 7, modified = now() WHERE id = 20')
    await stand().source.query(
      'UPDATE content.sale SET price = 8, modified = clock_timestamp() WHERE id = 21',
    )
    expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS', rows_updated: 1 })
    await late.query('COMMIT')
    await stand().run(id)
    await expectEqual(stand(), STATS, 'analytics.late')
  })

  it('resumes from a checkpoint that a user has set', async () => {
    await stand().source.query(TABLES)
    const mart = { sourceQuery: STATS, targetTable: 'analytics.reset', ...by('updated_at') }
    const { id } = await stand().pipeline(mart)
    await stand().run(id)
    await stand().target.query('UPDATE analytics.reset SET revenue = -1')
    await stand().source.query(CHANGES)
    expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS', rows_updated: 3 })
    await stand().main.query(
      "UPDATE etl.etl_state SET last_processed_key = '2000-01-01', last_processed_id = NULL, position = '{}' WHERE pipeline_id = $1",
      [id],
    )
    if (stand().target !== stand().main)
      await stand().target.query(
        "UPDATE etl.etl_state SET last_processed_key = '2000-01-01', last_processed_id = NULL, position = '{}' WHERE pipeline_id = $1",
        [id],
      )
    expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS', error: null })
    await expectEqual(stand(), STATS, 'analytics.reset')
  })

  it('starts over when the checkpoint belongs to another capture', async () => {
    await stand().source.query(TABLES)
    const mart = { sourceQuery: STATS, targetTable: 'analytics.other_capture', ...by('updated_at') }
    const { id } = await stand().pipeline({ ...mart, capture: 'xmin' })
    expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS', rows_inserted: 50 })
    await stand().set(id, 'capture', 'key')
    await stand().source.query(CHANGES)
    expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS', error: null, rows_updated: 3 })
    await expectEqual(stand(), STATS, 'analytics.other_capture')
  })

  it('reads every row if its key is computed in a way that it cannot follow', async () => {
    await stand().source.query(TABLES)
    const sourceQuery = STATS.replace(
      'greatest(d.modified, max(s.modified)) AS updated_at',
      "max(s.modified) + interval '0' AS updated_at",
    ).replace('LEFT JOIN', 'JOIN')
    const mart = { sourceQuery, targetTable: 'analytics.unfollowed', ...by('updated_at') }
    const { id } = await stand().pipeline(mart)
    await stand().run(id)
    await stand().source.query(CHANGES)
    expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS', error: null, rows_updated: 2 })
  })

  it('refuses several columns that it cannot follow', async () => {
    await stand().source.query(TABLES)
    const sourceQuery = STATS.replace('AS updated_at', 'AS updated_at, now() AS seen_at')
    const mart = { sourceQuery, targetTable: 'analytics.refused', ...by('updated_at, seen_at') }
    const { id } = await stand().pipeline(mart)
    expect(await stand().run(id)).toMatchObject({ status: 'FAILED', error_code: 'VTR-2105', rows_read: 0 })
  })
})
