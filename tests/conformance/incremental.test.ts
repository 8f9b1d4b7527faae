import { expect, it } from 'vitest'
import { onEveryRoute, rowTexts, type Stand, stateOf } from '../support/stand.js'

async function expectEqual(stand: Stand, source: string, mart: string): Promise<void> {
  expect(await rowTexts(stand.target, `SELECT * FROM ${mart}`)).toEqual(
    await rowTexts(stand.source, `SELECT * FROM ${source}`),
  )
}

onEveryRoute((stand) => {
  const incremental = { mode: 'incremental', incrementalKey: 'at', incrementalIdKey: 'id' } as const

  it.each([
    [2, 'id'],
    [3, 'id'],
    [7, 'id'],
    [7, null],
    [7, 'kind'],
  ])(
    'R4.4: batches of %s with the second key %s lose no row of a hundred equal keys',
    async (batchSize, incrementalIdKey) => {
      const name = `equal_${batchSize}_${incrementalIdKey}`
      await stand().source.query(`
      CREATE TABLE content.${name} (id int PRIMARY KEY, kind text NOT NULL, at timestamptz NOT NULL);
      INSERT INTO content.${name} SELECT n, 'kind', '2024-01-01' FROM generate_series(1, 100) n;
      INSERT INTO content.${name} SELECT n, 'kind', '2024-01-02' FROM generate_series(101, 120) n;
      CREATE INDEX ON content.${name} (at, id); ANALYZE content.${name}`)
      const { id } = await stand().pipeline({
        sourceQuery: `SELECT * FROM content.${name}`,
        targetTable: `analytics.${name}`,
        ...incremental,
        incrementalIdKey,
        batchSize,
      })
      expect(await stand().run(id)).toMatchObject({
        status: 'SUCCESS',
        error: null,
        rows_read: 120,
        rows_inserted: 120,
        batches: Math.ceil(120 / batchSize),
      })
      await expectEqual(stand(), `content.${name}`, `analytics.${name}`)
      expect(await stateOf(stand().main, id)).toEqual({
        last_processed_key: '2024-01-02 00:00:00+00',
        last_processed_id: incrementalIdKey === 'kind' ? 'kind' : '120',
      })
      expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS', rows_read: 0, batches: 0 })
    },
  )

  it.each([
    [
      'microseconds',
      'timestamptz',
      "'2024-01-01 00:00:00+00'::timestamptz + n * interval '1 us'",
      '2024-01-01 00:00:00.0005+00',
    ],
    [
      'no time zone',
      'timestamp',
      "'2024-01-01'::timestamp + n * interval '1 us'",
      '2024-01-01 00:00:00.0005',
    ],
    ['dates', 'date', "'2020-01-01'::date + n", '2021-05-15'],
    ['whole numbers', 'bigint', '9007199254740992 + n', '9007199254741492'],
    ['numbers', 'numeric', 'n + 0.10', '500.10'],
  ])('R4.4: keys with %s move on by exactly the rows that were read', async (name, type, value, last) => {
    const table = `content."keys ${name}"`
    await stand().source.query(
      `CREATE TABLE ${table} (id int PRIMARY KEY, at ${type} UNIQUE NOT NULL); INSERT INTO ${table} SELECT n, ${value} FROM generate_series(1, 500) n`,
    )
    const { id } = await stand().pipeline({
      sourceQuery: `SELECT * FROM ${table}`,
      targetTable: `analytics."keys ${name}"`,
      ...incremental,
      batchSize: 90,
    })
    expect(await stand().run(id)).toMatchObject({
      status: 'SUCCESS',
      error: null,
      rows_inserted: 500,
      batches: 6,
      guarantee: 'lossless if the database sets the key',
    })
    expect(await stateOf(stand().main, id)).toEqual({ last_processed_key: last, last_processed_id: '500' })
    expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS', rows_read: 0 })
    await stand().source.query(`INSERT INTO ${table} SELECT n, ${value} FROM generate_series(501, 510) n`)
    expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS', rows_read: 10, rows_inserted: 10 })
    await expectEqual(stand(), table, `analytics."keys ${name}"`)
  })

  it('resumes in the middle of rows that compare equal', async () => {
    await stand().source.query(`
      CREATE TABLE content.broken_off (id int PRIMARY KEY, kind text NOT NULL, at timestamptz NOT NULL);
      INSERT INTO content.broken_off SELECT n, 'kind', '2024-01-01' FROM generate_series(1, 100) n`)
    await stand().target.query(
      'CREATE TABLE analytics.broken_off (id int PRIMARY KEY CONSTRAINT fine CHECK (id <> 55), kind text, at timestamptz)',
    )
    const spec = { ...incremental, incrementalIdKey: 'kind', batchSize: 7, quarantineLimit: 0 }
    const { id } = await stand().pipeline({
      sourceQuery: 'SELECT * FROM content.broken_off',
      targetTable: 'analytics.broken_off',
      ...spec,
    })
    expect(await stand().run(id)).toMatchObject({
      status: 'FAILED',
      error_code: 'VTR-4101',
      rows_inserted: 49,
    })
    await stand().target.query('ALTER TABLE analytics.broken_off DROP CONSTRAINT fine')
    expect(await stand().run(id)).toMatchObject({
      status: 'SUCCESS',
      error: null,
      rows_read: 51,
      rows_inserted: 51,
    })
    await expectEqual(stand(), 'content.broken_off', 'analytics.broken_off')
  })

  it('keeps the checkpoint when there is nothing to read', async () => {
    await stand().source.query('CREATE TABLE content.nothing (id int PRIMARY KEY, at timestamptz NOT NULL)')
    const { id } = await stand().pipeline({
      sourceQuery: 'SELECT * FROM content.nothing',
      targetTable: 'analytics.nothing',
      ...incremental,
    })
    expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS', error: null, rows_read: 0, batches: 0 })
    expect(await stateOf(stand().main, id)).toEqual({ last_processed_key: null, last_processed_id: null })
    await stand().source.query("INSERT INTO content.nothing VALUES (1, '2024-01-01')")
    await stand().run(id)
    await stand().run(id)
    expect(await stateOf(stand().main, id)).toEqual({
      last_processed_key: '2024-01-01 00:00:00+00',
      last_processed_id: '1',
    })
  })

  it('rejects a key with NULL in any row before anything is written', async () => {
    await stand().source.query(
      "CREATE TABLE content.nullable (id int PRIMARY KEY, at timestamptz); INSERT INTO content.nullable VALUES (1, '2024-01-01'), (2, NULL)",
    )
    const { id } = await stand().pipeline({
      sourceQuery: 'SELECT * FROM content.nullable',
      targetTable: 'analytics.nullable',
      ...incremental,
    })
    expect(await stand().run(id)).toMatchObject({
      status: 'FAILED',
      error_code: 'VTR-2102',
      attempt: 1,
      rows_read: 0,
    })
    await stand().source.query('DELETE FROM content.nullable WHERE at IS NULL')
    expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS', error: null, rows_inserted: 1 })
  })

  it.each([
    ['timestamptz', "'infinity'", "'2024-01-02'", '2024-01-01 00:00:00+00'],
    ['date', "'infinity'", "'2024-01-02'", '2024-01-01'],
    ['numeric', "'Infinity'", '20240102', '20240101'],
    ['double precision', "'NaN'", '20240102', '20240101'],
  ])(
    'writes a row with an infinite %s, but never makes it the checkpoint',
    async (type, infinite, later, key) => {
      const table = `content."endless ${type}"`
      const first = type === 'numeric' || type === 'double precision' ? '20240101' : "'2024-01-01'"
      await stand().source.query(
        `CREATE TABLE ${table} (id int PRIMARY KEY, at ${type} UNIQUE NOT NULL); INSERT INTO ${table} VALUES (1, ${first}), (2, ${infinite})`,
      )
      const { id } = await stand().pipeline({
        sourceQuery: `SELECT * FROM ${table}`,
        targetTable: `analytics."endless ${type}"`,
        ...incremental,
      })
      expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS', error: null, rows_inserted: 2 })
      expect(await stateOf(stand().main, id)).toEqual({ last_processed_key: key, last_processed_id: '1' })
      await stand().source.query(`INSERT INTO ${table} VALUES (3, ${later})`)
      expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS', error: null, rows_inserted: 1 })
      await expectEqual(stand(), table, `analytics."endless ${type}"`)
    },
  )

  it('reads joins and aggregates by a key that they compute', async () => {
    await stand().source.query(`
      CREATE TABLE content.reel (id int PRIMARY KEY, title text, at timestamptz NOT NULL);
      CREATE TABLE content.scene (n int PRIMARY KEY, reel int NOT NULL REFERENCES content.reel, at timestamptz NOT NULL);
      INSERT INTO content.reel SELECT n, 'reel ' || n, '2024-01-01' FROM generate_series(1, 50) n;
      INSERT INTO content.scene SELECT n, n % 50 + 1, '2024-01-02'::timestamptz + n * interval '1 s' FROM generate_series(1, 500) n`)
    const sourceQuery =
      'SELECT r.id, r.title, count(*) AS scenes, greatest(r.at, max(s.at)) AS at FROM content.reel r JOIN content.scene s ON s.reel = r.id GROUP BY r.id'
    const { id } = await stand().pipeline({
      sourceQuery,
      targetTable: 'analytics.reel',
      ...incremental,
      batchSize: 8,
    })
    expect(await stand().run(id)).toMatchObject({
      status: 'SUCCESS',
      error: null,
      rows_read: 50,
      rows_inserted: 50,
      batches: 7,
    })
    await stand().source.query(
      "INSERT INTO content.scene VALUES (501, 7, '2024-02-01'), (502, 9, '2024-02-01'); UPDATE content.reel SET title = 'new', at = '2024-02-02' WHERE id = 3",
    )
    expect(await stand().run(id)).toMatchObject({
      status: 'SUCCESS',
      error: null,
      rows_read: 3,
      rows_updated: 3,
    })
    await expectEqual(stand(), `(${sourceQuery}) AS q`, 'analytics.reel')
  })

  it('starts from scratch when the key changes, and resumes from a checkpoint that was set manually', async () => {
    await stand().source.query(`
      CREATE TABLE content.turned (id int PRIMARY KEY, version int NOT NULL, at timestamptz NOT NULL);
      INSERT INTO content.turned SELECT n, 101 - n, '2024-01-01'::timestamptz + n * interval '1 day' FROM generate_series(1, 100) n`)
    const { id } = await stand().pipeline({
      sourceQuery: 'SELECT * FROM content.turned',
      targetTable: 'analytics.turned',
    })
    expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS', rows_inserted: 100 })
    await stand().source.query('UPDATE content.turned SET version = 50 WHERE id = 1')
    await stand().main.query(
      "UPDATE etl.etl_pipelines SET mode = 'incremental', incremental_key = 'version', incremental_id_key = 'id' WHERE id = $1",
      [id],
    )
    expect(await stand().run(id)).toMatchObject({
      status: 'SUCCESS',
      error: null,
      rows_read: 100,
      rows_updated: 1,
    })
    await stand().set(id, 'incremental_key', 'at')
    expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS', error: null, rows_read: 100 })
    // Set by hand where it counts: beside the rows.
    await stand().target.query(
      "UPDATE etl.etl_state SET last_processed_key = '2024-04-01', last_processed_id = '91' WHERE pipeline_id = $1",
      [id],
    )
    expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS', error: null, rows_read: 9 })
  })
})
