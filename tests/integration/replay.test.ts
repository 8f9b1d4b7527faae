import { expect, it } from 'vitest'
import { aPipeline } from '../support/builders.js'
import { aDatabase } from '../support/database.js'
import { aRunner } from '../support/runner.js'
import { run } from '../support/runs.js'
import { onRoutes, ROUTES, rowTexts } from '../support/stand.js'

it('writes quarantined rows on request, and holds them again if they are rejected again', async () => {
  const database = await aDatabase({ cinema: true })
  // Few enough that no run holds a transaction open for long: other tests wait for the oldest one of the server.
  await database.query(
    'DELETE FROM ugc.ratings WHERE id NOT IN (SELECT id FROM ugc.ratings ORDER BY id LIMIT 500)',
  )
  await database.query(
    'CREATE TABLE analytics.rated (id uuid PRIMARY KEY, rating smallint CONSTRAINT small CHECK (rating < 10), modified timestamptz)',
  )
  await database.query('GRANT ALL ON analytics.rated TO vitrina_writer')
  const { id } = await aPipeline(database, {
    sourceQuery: 'SELECT id, rating, modified FROM ugc.ratings',
    targetTable: 'analytics.rated',
    keyColumns: ['id'],
    mode: 'incremental',
    incrementalKey: 'modified',
    incrementalIdKey: 'id',
    quarantineLimit: 4000,
  })
  await aRunner(database)
  const [source] = await database.query<{ tens: number }>(
    'SELECT count(*)::int AS tens FROM ugc.ratings WHERE rating = 10',
  )
  expect(source!.tens).toBeGreaterThan(20)
  expect(await run(database, id)).toMatchObject({ status: 'SUCCESS', rows_quarantined: source!.tens })
  const ask = () =>
    database.query("UPDATE etl.etl_quarantine SET status = 'REPLAY_REQUESTED' WHERE status = 'HELD'")
  const byStatus = async () =>
    Object.fromEntries(
      (
        await database.query<{ status: string; n: number }>(
          'SELECT status, count(*)::int AS n FROM etl.etl_quarantine GROUP BY 1',
        )
      ).map((row) => [row.status, row.n]),
    )

  await ask()
  expect(await run(database, id)).toMatchObject({
    status: 'SUCCESS',
    rows_inserted: 0,
    rows_quarantined: source!.tens,
  })
  expect(await byStatus()).toEqual({ REPLAYED: source!.tens, HELD: source!.tens })
  expect(
    await database.query(
      "SELECT DISTINCT columns, row_text, settled_at IS NOT NULL AS settled FROM etl.etl_quarantine WHERE status = 'REPLAYED'",
    ),
  ).toEqual([{ columns: [], row_text: [], settled: true }])

  await database.query('ALTER TABLE analytics.rated DROP CONSTRAINT small')
  await ask()
  expect(await run(database, id)).toMatchObject({
    status: 'SUCCESS',
    rows_inserted: source!.tens,
    rows_quarantined: 0,
  })
  expect(await byStatus()).toEqual({ REPLAYED: 2 * source!.tens })
  expect(
    await database.query('SELECT id, rating FROM ugc.ratings EXCEPT SELECT id, rating FROM analytics.rated'),
  ).toEqual([])
})

onRoutes(
  ROUTES.filter((route) => route.targetConnection !== null),
  (stand) => {
    it('keeps a row in the quarantine until its batch is committed', async () => {
      await stand().source.query(`
        CREATE TABLE content.held (id int PRIMARY KEY, at timestamptz NOT NULL DEFAULT now());
        INSERT INTO content.held VALUES (1); INSERT INTO content.held VALUES (2)`)
      await stand().target.query(
        'CREATE TABLE analytics.held (id int PRIMARY KEY CONSTRAINT high CHECK (id > 1), at timestamptz)',
      )
      const { id } = await stand().pipeline({
        sourceQuery: 'SELECT * FROM content.held',
        targetTable: 'analytics.held',
        mode: 'incremental',
        incrementalKey: 'at',
        incrementalIdKey: 'id',
      })
      expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS', rows_quarantined: 1 })
      await stand().target.query(`
        ALTER TABLE analytics.held DROP CONSTRAINT high;
        CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN RAISE 'not now' USING ERRCODE = '42000'; END $$;
        CREATE TRIGGER refuse BEFORE UPDATE OF position ON etl.etl_state FOR EACH ROW EXECUTE FUNCTION public.refuse()`)
      await stand().main.query("UPDATE etl.etl_quarantine SET status = 'REPLAY_REQUESTED'")
      expect(await stand().run(id)).toMatchObject({ status: 'FAILED' })
      await stand().target.query('DROP TRIGGER refuse ON etl.etl_state')

      expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS', rows_inserted: 1 })
      expect(await stand().main.query('SELECT status FROM etl.etl_quarantine')).toEqual([
        { status: 'REPLAYED' },
      ])
      expect(await rowTexts(stand().target, 'SELECT id FROM analytics.held')).toEqual(['(1)', '(2)'])
    })
  },
)
