import { expect, it } from 'vitest'
import { requestRun, runEnded } from '../support/runs.js'
import { onEveryRoute, rowTexts, type Stand } from '../support/stand.js'

async function aMart(stand: Stand, name: string, spec: object = {}): Promise<string> {
  await stand.source.query(`
    CREATE TABLE content.${name} (id int PRIMARY KEY, version int NOT NULL, note text);
    INSERT INTO content.${name} SELECT n, 1, 'note ' || n FROM generate_series(1, 100) n`)
  const { id } = await stand.pipeline({
    sourceQuery: `SELECT * FROM content.${name}`,
    targetTable: `analytics.${name}`,
    fullStrategy: 'replace',
    ...spec,
  })
  expect(await stand.run(id)).toMatchObject({ status: 'SUCCESS', error: null, rows_inserted: 100 })
  return id
}

onEveryRoute((stand) => {
  it('removes deleted rows, updates changed rows and leaves all others untouched', async () => {
    const id = await aMart(stand(), 'replaced')
    const untouched = () =>
      rowTexts(stand().target, 'SELECT ctid, xmin, id FROM analytics.replaced WHERE id BETWEEN 21 AND 100')
    const before = await untouched()
    await stand().source.query(
      "DELETE FROM content.replaced WHERE id <= 10; UPDATE content.replaced SET note = 'other' WHERE id BETWEEN 11 AND 20; INSERT INTO content.replaced VALUES (101, 1, 'new')",
    )
    expect(await stand().run(id)).toMatchObject({
      status: 'SUCCESS',
      error: null,
      rows_read: 91,
      rows_inserted: 1,
      rows_updated: 10,
      rows_unchanged: 80,
      rows_deleted: 10,
    })
    expect(await untouched()).toEqual(before)
    expect(await rowTexts(stand().target, 'SELECT * FROM analytics.replaced')).toEqual(
      await rowTexts(stand().source, 'SELECT * FROM content.replaced'),
    )
    expect(await stand().run(id)).toMatchObject({
      status: 'SUCCESS',
      rows_inserted: 0,
      rows_updated: 0,
      rows_deleted: 0,
      rows_unchanged: 91,
    })
  })

  it('keeps views, grants and indexes', async () => {
    const id = await aMart(stand(), 'lasting')
    await stand().target.query(
      'CREATE VIEW analytics.lasting_view AS SELECT count(*) AS n FROM analytics.lasting; GRANT SELECT ON analytics.lasting TO PUBLIC; CREATE INDEX lasting_note ON analytics.lasting (note)',
    )
    await stand().source.query('DELETE FROM content.lasting WHERE id <= 10')
    expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS', rows_deleted: 10 })
    expect(await rowTexts(stand().target, 'SELECT n FROM analytics.lasting_view')).toEqual(['(90)'])
    expect(
      await rowTexts(
        stand().target,
        "SELECT relacl::text LIKE '%=r/%' AS granted FROM pg_class WHERE oid = 'analytics.lasting'::regclass",
      ),
    ).toEqual(['(t)'])
    expect(
      await rowTexts(
        stand().target,
        "SELECT count(*) FROM pg_index WHERE indrelid = 'analytics.lasting'::regclass",
      ),
    ).toEqual(['(2)'])
  })

  it('does not empty the mart when the source is empty, unless the brake allows it', async () => {
    const id = await aMart(stand(), 'braked')
    await stand().source.query('DELETE FROM content.braked WHERE id <= 51')
    const run = await stand().run(id)
    expect(run).toMatchObject({ status: 'FAILED', error_code: 'VTR-4102', attempt: 1 })
    expect(run.error).toContain('51 of the 100 rows')
    expect(await rowTexts(stand().target, 'SELECT count(*) FROM analytics.braked')).toEqual(['(100)'])
    await stand().source.query('DELETE FROM content.braked')
    await stand().set(id, 'delete_brake', 1)
    expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS', rows_deleted: 100 })
    expect(await rowTexts(stand().target, 'SELECT count(*) FROM analytics.braked')).toEqual(['(0)'])
  })

  it.each(['READ COMMITTED', 'REPEATABLE READ'])(
    'shows readers in %s the old mart or the new one, never anything between',
    async (isolation) => {
      const name = `flip_${isolation.slice(0, 4).toLowerCase()}_${isolation.slice(-4).toLowerCase()}`.replace(
        / /g,
        '',
      )
      const id = await aMart(stand(), name, { deleteBrake: 1 })
      let flipping = true
      const seen = new Set<string>()
      const read = async () => {
        const reader = await stand().target.client()
        while (flipping) {
          await reader.query(`BEGIN ISOLATION LEVEL ${isolation}`)
          for (let look = 0; look < 3; look += 1) {
            const { rows } = await reader.query<{ seen: string }>(
              `SELECT count(*) || ' rows of version ' || string_agg(DISTINCT version::text, ',') AS seen FROM analytics.${name}`,
            )
            seen.add(rows[0]!.seen)
          }
          await reader.query('COMMIT')
        }
      }
      const readers = [read(), read()]
      for (const version of [2, 1, 2, 1, 2, 1]) {
        const rows = version === 1 ? 100 : 150
        await stand().source.query(
          `BEGIN; TRUNCATE content.${name}; INSERT INTO content.${name} SELECT n * ${version}, ${version}, 'x' FROM generate_series(1, ${rows}) n; COMMIT`,
        )
        expect(await runEnded(stand().main, await requestRun(stand().main, id))).toMatchObject({
          status: 'SUCCESS',
          error: null,
        })
      }
      flipping = false
      await Promise.all(readers)
      expect([...seen].sort()).toEqual(['100 rows of version 1', '150 rows of version 2'])
    },
  )
})
