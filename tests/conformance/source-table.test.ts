import { describe, expect, it } from 'vitest'
import { onEveryRoute, rowTexts, type Stand } from '../support/stand.js'

/** A table, a view of it and a partitioned copy, all with names that need quotes. */
async function tables({ source }: Stand): Promise<void> {
  await source.query(`
    CREATE TABLE content."Order ""s""" (id int PRIMARY KEY, "Label" text, amount numeric(8,2), at timestamptz NOT NULL);
    INSERT INTO content."Order ""s""" SELECT n, 'no ' || n, n * 1.25, timestamptz '2024-01-01 UTC' + make_interval(mins => n)
      FROM generate_series(1, 500) n;
    CREATE VIEW content."Select" AS SELECT * FROM content."Order ""s""" WHERE id % 2 = 0;
    CREATE TABLE content.parted (LIKE content."Order ""s""" INCLUDING ALL) PARTITION BY RANGE (id);
    CREATE TABLE content.parted_1 PARTITION OF content.parted FOR VALUES FROM (0) TO (250);
    CREATE TABLE content.parted_2 PARTITION OF content.parted DEFAULT;
    INSERT INTO content.parted SELECT * FROM content."Order ""s"""`)
  await source.query('GRANT SELECT ON ALL TABLES IN SCHEMA content TO vitrina_reader')
}

describe('a table as source', () => {
  onEveryRoute((stand) => {
    it('fills the mart as its query would: tables, views, partitioned tables, all columns or some', async () => {
      await tables(stand())
      const cases = [
        ['content."Order ""s"""', []],
        ['content."Select"', []],
        ['Content.Parted', []],
        ['content."Order ""s"""', ['at', 'Label', 'id']],
      ] as const
      for (const [n, [sourceTable, sourceColumns]] of cases.entries()) {
        const targetTable = `analytics.from_table_${n}`
        const { id } = await stand().pipeline({
          sourceQuery: null,
          sourceTable,
          sourceColumns,
          targetTable,
          batchSize: 100,
        })
        expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS', error: null })
        const list = sourceColumns.length === 0 ? '*' : sourceColumns.map((name) => `"${name}"`).join(', ')
        const wanted = await rowTexts(stand().source, `SELECT ${list} FROM ${sourceTable}`)
        expect(await rowTexts(stand().target, `SELECT * FROM ${targetTable}`)).toEqual(wanted)
      }
    })

    it('is read from its checkpoint', async () => {
      await stand().source.query(`
        CREATE TABLE content.ticks (id int PRIMARY KEY, at timestamptz NOT NULL DEFAULT clock_timestamp());
        CREATE INDEX ON content.ticks (at, id);
        INSERT INTO content.ticks (id) SELECT generate_series(1, 50)`)
      await stand().source.query('GRANT SELECT ON ALL TABLES IN SCHEMA content TO vitrina_reader')
      const { id } = await stand().pipeline({
        sourceQuery: null,
        sourceTable: 'content.ticks',
        mode: 'incremental',
        incrementalKey: 'at',
        incrementalIdKey: 'id',
      })
      expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS', rows_inserted: 50 })
      await stand().source.query('INSERT INTO content.ticks (id) VALUES (51)')
      expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS', rows_inserted: 1, rows_updated: 0 })
    })

    it('that does not exist, is forbidden or misspelt ends the run before anything is read', async () => {
      const failed = async (sourceTable: string, sourceColumns: string[] = []) => {
        const { id } = await stand().pipeline({ sourceQuery: null, sourceTable, sourceColumns })
        const { status, error_code, error, error_hint } = await stand().run(id)
        return { status, error_code, error, error_hint }
      }
      expect(await failed('content.film_wrk')).toEqual({
        status: 'FAILED',
        error_code: 'VTR-2002',
        error: 'PostgreSQL rejected the query: relation "content.film_wrk" does not exist.',
        error_hint: 'Did you mean content.film_work?',
      })
      expect(await failed('auth.users')).toMatchObject({
        error_code: 'VTR-2001',
        error: 'auth.users may not be read.',
      })
      expect(await failed('content.genre; DROP TABLE content.genre')).toMatchObject({
        error_code: 'VTR-2001',
      })
      expect(await failed('content.genre', ['x'.repeat(64)])).toMatchObject({
        error_code: 'VTR-2001',
        error: expect.stringContaining('keeps only the first 63'),
      })
      expect(await stand().source.query('SELECT FROM content.genre')).toHaveLength(14)
    })
  })
})

describe('a target whose name PostgreSQL would cut off', () => {
  onEveryRoute((stand) => {
    it('is refused before anything is written', async () => {
      const { id } = await stand().pipeline({
        sourceQuery: 'SELECT id, name FROM content.genre',
        targetTable: `analytics.${'x'.repeat(64)}`,
      })
      expect(await stand().run(id)).toMatchObject({
        status: 'FAILED',
        error_code: 'VTR-4001',
        error: expect.stringContaining('keeps only the first 63'),
      })
      const [row] = await stand().target.query(
        "SELECT count(*)::int AS n FROM pg_tables WHERE schemaname = 'analytics' AND tablename LIKE 'xxx%'",
      )
      expect(row).toEqual({ n: 0 })
    })
  })
})
