import { expect, it } from 'vitest'
import { onEveryRoute, rowTexts } from '../support/stand.js'

onEveryRoute((stand) => {
  it.each(['full', 'incremental'] as const)(
    '%s: keeps rows that the source has deleted until a sweep is requested',
    async (mode) => {
      const table = `swept_${mode}`
      await stand().source.query(`
      CREATE TABLE content.${table} (id int PRIMARY KEY, at timestamptz NOT NULL DEFAULT now());
      INSERT INTO content.${table} SELECT n FROM generate_series(1, 100) n`)
      const { id } = await stand().pipeline({
        sourceQuery: `SELECT * FROM content.${table}`,
        targetTable: `analytics.${table}`,
        mode,
        incrementalKey: 'at',
      })
      await stand().run(id)
      await stand().source.query(`DELETE FROM content.${table} WHERE id <= 30`)
      expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS', rows_deleted: 0 })
      expect(await rowTexts(stand().target, `SELECT count(*) FROM analytics.${table}`)).toEqual(['(100)'])

      await stand().set(id, 'deletes', 'sweep')
      expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS', error: null, rows_deleted: 30 })
      expect(await rowTexts(stand().target, `SELECT id FROM analytics.${table}`)).toEqual(
        await rowTexts(stand().source, `SELECT id FROM content.${table}`),
      )

      await stand().source.query(`DELETE FROM content.${table}`)
      expect(await stand().run(id)).toMatchObject({ status: 'FAILED', error_code: 'VTR-4102', attempt: 1 })
      expect(await rowTexts(stand().target, `SELECT count(*) FROM analytics.${table}`)).toEqual(['(70)'])
    },
  )

  it('sweeps by a composite key of other types than those of the mart', async () => {
    await stand().source.query(`
      CREATE TABLE content.pairs_swept (a smallint, b varchar(9), PRIMARY KEY (a, b));
      INSERT INTO content.pairs_swept SELECT n / 10, 'b' || n FROM generate_series(1, 40) n`)
    await stand().target.query('CREATE TABLE analytics.pairs_swept (b text, a numeric, PRIMARY KEY (a, b))')
    const { id } = await stand().pipeline({
      sourceQuery: 'SELECT * FROM content.pairs_swept',
      targetTable: 'analytics.pairs_swept',
      keyColumns: [],
      deletes: 'sweep',
    })
    await stand().run(id)
    await stand().source.query("DELETE FROM content.pairs_swept WHERE b LIKE '%1'")
    expect(await stand().run(id)).toMatchObject({
      status: 'SUCCESS',
      error: null,
      rows_deleted: 4,
      rows_unchanged: 36,
    })
    expect(await rowTexts(stand().target, 'SELECT a, b FROM analytics.pairs_swept')).toEqual(
      await rowTexts(stand().source, 'SELECT a, b FROM content.pairs_swept'),
    )
  })

  it('keeps rows whose key has fewer digits in the mart', async () => {
    await stand().source.query(`
      CREATE TABLE content.exact (id timestamptz PRIMARY KEY);
      INSERT INTO content.exact SELECT '2024-01-01'::timestamptz + n * interval '1.000001 s' FROM generate_series(1, 9) n`)
    await stand().target.query('CREATE TABLE analytics.exact (id timestamptz(0) PRIMARY KEY)')
    const { id } = await stand().pipeline({
      sourceQuery: 'SELECT id FROM content.exact',
      targetTable: 'analytics.exact',
      deletes: 'sweep',
      deleteBrake: 1,
    })
    expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS', error: null, rows_deleted: 0 })
    await stand().source.query("DELETE FROM content.exact WHERE id < '2024-01-01 00:00:02'")
    expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS', rows_deleted: 1, rows_unchanged: 8 })
  })
})
