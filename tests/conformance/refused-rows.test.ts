import { expect, it } from 'vitest'
import { sampleOf } from '../support/sample.js'
import { onEveryRoute, rowTexts, type Stand } from '../support/stand.js'

interface Held {
  readonly row_key: string
  readonly columns: string[]
  readonly row_text: (string | null)[]
  readonly reason: string
  readonly sqlstate: string
  readonly run_id: string
}

function held(stand: Stand, pipelineId: string): Promise<Held[]> {
  return stand.main.query<Held & Record<string, unknown>>(
    'SELECT * FROM etl.etl_quarantine WHERE pipeline_id = $1 ORDER BY id',
    [pipelineId],
  )
}

/** Both kinds of pass: along an index in pages, and read once into a staging table. */
const PASSES = [
  ['in pages', 'content.numbers'],
  ['read once', '(SELECT id, note, amount FROM content.numbers GROUP BY 1, 2, 3)'],
] as const

async function numbers(stand: Stand): Promise<void> {
  await stand.source.query(`
    DROP TABLE IF EXISTS content.numbers;
    CREATE TABLE content.numbers (id int PRIMARY KEY, note text, amount numeric);
    INSERT INTO content.numbers SELECT n, repeat('x', 200) || n, n FROM generate_series(1, 4000) n;
    ANALYZE content.numbers`)
}

/** As owners of a mart do who check its rows themselves. */
async function refuseNegative(stand: Stand, mart: string): Promise<void> {
  await stand.target.query(`
    CREATE OR REPLACE FUNCTION public.refuse_negative() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF NEW.amount < 0 THEN RAISE EXCEPTION 'amount is negative'; END IF;
      RETURN NEW;
    END $$;
    CREATE TRIGGER refuse_negative BEFORE INSERT OR UPDATE ON ${mart}
      FOR EACH ROW EXECUTE FUNCTION public.refuse_negative()`)
}

onEveryRoute((stand, route) => {
  const POISON = [
    ['a CHECK constraint', 'amount numeric CHECK (amount >= 0)', 'amount = -1', '23514'],
    ['a NOT NULL column', 'amount numeric NOT NULL', 'amount = NULL', '23502'],
    ['a number that is too large', 'amount numeric(6,0)', 'amount = 1e9', '22003'],
    ['a text that is too long', 'amount numeric, note varchar(300)', "note = repeat('y', 301)", '22001'],
    ['a second unique key', 'amount numeric UNIQUE', 'amount = 1', '23505'],
    ['a deferred constraint', 'amount numeric UNIQUE DEFERRABLE INITIALLY DEFERRED', 'amount = 1', '23505'],
    [
      'a value that an index cannot hold',
      'amount numeric, note text UNIQUE',
      "note = (SELECT string_agg(md5(random()::text), '') FROM generate_series(1, 900))",
      '54000',
    ],
    ['a trigger', 'amount numeric', 'amount = -1', 'P0001'],
  ] as const

  const cases = PASSES.flatMap(([how, relation]) =>
    POISON.map((poison) => [how, relation, ...poison] as const),
  )
  const sample = sampleOf(cases, {
    key: ([how, , name]) => `${route.name} ${how} ${name}`,
    labels: ([how, , name]) => [how, name],
  })
  for (const [how, relation, name, columns, poison, sqlstate] of sample)
    it(`${how}: quarantines the rows that ${name} rejects and writes the others`, async () => {
      await numbers(stand())
      await stand().source.query(`UPDATE content.numbers SET ${poison} WHERE id IN (777, 3999)`)
      const mart = `analytics."${how} ${name}"`
      const note = columns.includes('note') ? '' : ', note text'
      await stand().target.query(`CREATE TABLE ${mart} (id int PRIMARY KEY, ${columns}${note})`)
      if (name === 'a trigger') await refuseNegative(stand(), mart)
      const { id } = await stand().pipeline({
        sourceQuery: `SELECT id, note, amount FROM ${relation} AS s`,
        targetTable: mart,
        batchSize: 1000,
      })

      const run = await stand().run(id)

      expect(run).toMatchObject({
        status: 'SUCCESS',
        error: null,
        rows_read: 4000,
        rows_inserted: 3998,
        rows_quarantined: 2,
      })
      expect(await rowTexts(stand().target, `SELECT id, note, amount::text FROM ${mart}`)).toEqual(
        await rowTexts(
          stand().source,
          `SELECT id, note, amount::text FROM content.numbers WHERE id NOT IN (777, 3999)`,
        ),
      )
      const rows = await held(stand(), id)
      expect(rows.map((row) => row.row_key)).toEqual(['777', '3999'])
      expect(rows[0]).toMatchObject({ columns: ['id', 'note', 'amount'], sqlstate, run_id: run.id })
      const [row] = await stand().source.query<{ texts: string[] }>(
        'SELECT ARRAY[id::text, note, amount::text] AS texts FROM content.numbers WHERE id = 777',
      )
      expect(rows[0]!.row_text).toEqual(row!.texts)
      expect(rows[0]!.reason).not.toBe('')
      // A second run renews them, and the mart stays as it is.
      const again = await stand().run(id)
      expect(again).toMatchObject({
        status: 'SUCCESS',
        rows_inserted: 0,
        rows_updated: 0,
        rows_unchanged: 3998,
        rows_quarantined: 2,
      })
      expect((await held(stand(), id)).map((one) => [one.row_key, one.run_id])).toEqual([
        ['777', again.id],
        ['3999', again.id],
      ])
    })

  for (const [how, relation] of PASSES) {
    it(`${how}: fails when more rows are refused than the quarantine may take, and commits nothing of that batch`, async () => {
      await numbers(stand())
      await stand().source.query('UPDATE content.numbers SET amount = -1 WHERE id > 3990')
      const mart = `analytics."limit ${how}"`
      await stand().target.query(
        `CREATE TABLE ${mart} (id int PRIMARY KEY, note text, amount numeric CHECK (amount >= 0))`,
      )
      const { id } = await stand().pipeline({
        sourceQuery: `SELECT id, note, amount FROM ${relation} AS s`,
        targetTable: mart,
        batchSize: 1000,
        quarantineLimit: 9,
      })
      const run = await stand().run(id)
      expect(run).toMatchObject({ status: 'FAILED', error_code: 'VTR-4101', attempt: 1, rows_quarantined: 0 })
      expect(run.error).toContain('rejected 10 rows')
      expect(await held(stand(), id)).toEqual([])
      expect(await rowTexts(stand().target, `SELECT max(id) FROM ${mart}`)).toEqual(['(3000)'])
    })
  }

  it('quarantines every rejected row, also those without a key and those whose keys have the same text', async () => {
    await stand().target.query(
      'CREATE TABLE analytics.keyless (a text, b text, n int CHECK (n > 0), PRIMARY KEY (a, b))',
    )
    const sourceQuery =
      "SELECT * FROM (VALUES (NULL, 'x', 1), (NULL, 'x', 2), ('p, q', 'r', -3), ('p', 'q, r', -4), ('fine', 'fine', 5)) AS v (a, b, n)"
    const { id } = await stand().pipeline({
      sourceQuery,
      targetTable: 'analytics.keyless',
      keyColumns: ['a', 'b'],
    })
    expect(await stand().run(id)).toMatchObject({
      status: 'SUCCESS',
      error: null,
      rows_read: 5,
      rows_inserted: 1,
      rows_quarantined: 4,
    })
    expect((await held(stand(), id)).map((row) => row.row_text[2]).sort()).toEqual(['-3', '-4', '1', '2'])
  })

  it.each(['full', 'incremental'] as const)(
    '%s: keeps one row of a key that comes twice, and counts the others',
    async (mode) => {
      const source = `content.twice_${mode}`
      await stand().source.query(`
      CREATE TABLE ${source} (n int PRIMARY KEY, film int NOT NULL, at timestamptz NOT NULL);
      INSERT INTO ${source} SELECT n, n % 10, '2020-01-01'::timestamptz + n * interval '1 s' FROM generate_series(1, 100) n`)
      const { id } = await stand().pipeline({
        ...{
          sourceQuery: `SELECT film, n, at FROM ${source}`,
          targetTable: `analytics.twice_${mode}`,
          keyColumns: ['film'],
          mode,
        },
        ...{ incrementalKey: 'at', incrementalIdKey: 'n' },
      })
      expect(await stand().run(id)).toMatchObject({
        status: 'SUCCESS',
        error: null,
        rows_read: 100,
        rows_inserted: 10,
        rows_duplicate: 90,
      })
      if (mode === 'incremental') {
        expect(await rowTexts(stand().target, `SELECT n FROM analytics.twice_${mode} ORDER BY 1`)).toEqual(
          await rowTexts(stand().source, `SELECT n FROM ${source} WHERE n > 90`),
        )
      }
    },
  )

  it('the last row of a key wins also when another row of its batch is refused', async () => {
    await stand().source.query(`
      CREATE TABLE content.mixed (n int PRIMARY KEY, film int NOT NULL, at timestamptz NOT NULL);
      INSERT INTO content.mixed SELECT n, n % 10, '2020-01-01'::timestamptz + n * interval '1 s' FROM generate_series(1, 100) n;
      INSERT INTO content.mixed VALUES (0, 99, '2020-01-01')`)
    await stand().target.query(
      'CREATE TABLE analytics.mixed (film int PRIMARY KEY CHECK (film < 50), n int, at timestamptz)',
    )
    const { id } = await stand().pipeline({
      ...{
        sourceQuery: 'SELECT film, n, at FROM content.mixed',
        targetTable: 'analytics.mixed',
        keyColumns: ['film'],
      },
      ...{ mode: 'incremental', incrementalKey: 'at', incrementalIdKey: 'n' },
    })
    expect(await stand().run(id)).toMatchObject({
      status: 'SUCCESS',
      error: null,
      rows_read: 101,
      rows_inserted: 10,
      rows_updated: 0,
      rows_duplicate: 90,
      rows_quarantined: 1,
    })
    expect(await rowTexts(stand().target, 'SELECT n FROM analytics.mixed')).toEqual(
      await rowTexts(stand().source, 'SELECT n FROM content.mixed WHERE n > 90'),
    )
  })
})
