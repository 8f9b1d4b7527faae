import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aLogicalServer, type LogicalServer, Rig } from '../../tests/support/capture.js'

let server: LogicalServer

beforeAll(async () => {
  server = await aLogicalServer()
})

afterAll(() => server?.stop())

const SQL = `
  CREATE TABLE t (id int PRIMARY KEY, g int NOT NULL, v int, big text);
  ALTER TABLE t ALTER big SET STORAGE EXTERNAL;
  CREATE UNIQUE INDEX t_ri ON t (id, g);
  CREATE TABLE sale (id int, g int, v int, PRIMARY KEY (id, g)) PARTITION BY LIST (g);
  CREATE TABLE sale1 PARTITION OF sale FOR VALUES IN (1);
  CREATE TABLE sale2 PARTITION OF sale FOR VALUES IN (2);
  CREATE TABLE made (id int PRIMARY KEY, a int, twice int GENERATED ALWAYS AS (a * 2) STORED);`

const TABLES = [
  { schema: 'public', table: 't', columns: ['g', 'big'] },
  { schema: 'public', table: 'sale', columns: ['v'] },
  { schema: 'public', table: 'made', columns: ['a', 'twice'] },
]

async function aRig(): Promise<Rig> {
  const rig = await Rig.create({ server, sql: SQL, tables: TABLES })
  rig.captor()
  await rig.captured()
  return rig
}

/** The entries that these statements leave. */
async function entriesOf(rig: Rig, ...statements: string[]): Promise<unknown[]> {
  await rig.captured()
  const before = (await rig.log()).length
  for (const statement of statements) await rig.source.query(statement)
  await rig.captured()
  const entries = await rig.log()
  return entries.slice(before).map(({ relation, op, old, new: next }) => [op, relation, old, next])
}

const LONG = "repeat(md5('x'), 80)"

describe('images', () => {
  it('have the identity and the needed columns, as text, and leave out what is unknown', async () => {
    const rig = await aRig()
    expect(await entriesOf(rig, `INSERT INTO t VALUES (1, 1, 5, ${LONG}), (2, 2, NULL, NULL)`)).toEqual([
      ['I', 'public.t', null, { id: '1', g: '1', big: expect.stringMatching(/^[0-9a-f]{2560}$/) }],
      ['I', 'public.t', null, { id: '2', g: '2', big: null }],
    ])
    // The value that is stored apart did not change and is not sent: unknown, not NULL.
    expect(await entriesOf(rig, 'UPDATE t SET v = 6 WHERE id = 1')).toEqual([
      ['U', 'public.t', { id: '1' }, { id: '1', g: '1' }],
    ])
    expect(await entriesOf(rig, 'UPDATE t SET g = 3 WHERE id = 1')).toEqual([
      ['U', 'public.t', { id: '1' }, { id: '1', g: '3' }],
    ])
    expect(await entriesOf(rig, 'UPDATE t SET id = 9 WHERE id = 1')).toEqual([
      ['U', 'public.t', { id: '1' }, { id: '9', g: '3' }],
    ])
    expect(await entriesOf(rig, 'DELETE FROM t WHERE id = 9')).toEqual([['D', 'public.t', { id: '9' }, null]])
  })

  it('have the columns of an index that is the identity', async () => {
    const rig = await aRig()
    await rig.source.query('ALTER TABLE t REPLICA IDENTITY USING INDEX t_ri; INSERT INTO t VALUES (1, 1, 5)')
    expect(
      await entriesOf(rig, 'UPDATE t SET v = 6', 'UPDATE t SET g = 2', 'DELETE FROM t WHERE id = 1'),
    ).toEqual([
      ['U', 'public.t', { id: '1', g: '1' }, { id: '1', g: '1', big: null }],
      ['U', 'public.t', { id: '1', g: '1' }, { id: '1', g: '2', big: null }],
      ['D', 'public.t', { id: '1', g: '2' }, null],
    ])
  })

  it('with REPLICA IDENTITY FULL have all needed columns, and take unchanged values from the old row', async () => {
    const rig = await aRig()
    await rig.source.query(`ALTER TABLE t REPLICA IDENTITY FULL; INSERT INTO t VALUES (1, 1, 5, ${LONG})`)
    const row = { g: '1', big: expect.stringMatching(/^[0-9a-f]{2560}$/) }
    expect(await entriesOf(rig, 'UPDATE t SET v = 6', 'DELETE FROM t')).toEqual([
      ['U', 'public.t', row, row],
      ['D', 'public.t', row, null],
    ])
  })

  it('do not have generated columns, which are not published', async () => {
    const rig = await aRig()
    expect(await entriesOf(rig, 'INSERT INTO made (id, a) VALUES (1, 4)')).toEqual([
      ['I', 'public.made', null, { id: '1', a: '4' }],
    ])
  })

  it('follow a column that is renamed and one whose type changes', async () => {
    const rig = await aRig()
    await rig.source.query('INSERT INTO made (id, a) VALUES (1, 4)')
    expect(
      await entriesOf(
        rig,
        'ALTER TABLE made DROP twice; ALTER TABLE made RENAME a TO b; ALTER TABLE made ALTER b TYPE numeric(6, 2)',
        'UPDATE made SET b = 4.5',
      ),
    ).toEqual([['U', 'public.made', { id: '1' }, { id: '1' }]])
  })
})

describe('entries', () => {
  it('of partitions carry the name of the table that is queried', async () => {
    const rig = await aRig()
    expect(
      await entriesOf(rig, 'INSERT INTO sale VALUES (1, 1, 7)', 'UPDATE sale SET g = 2', 'TRUNCATE sale'),
    ).toEqual([
      ['I', 'public.sale', null, { id: '1', g: '1', v: '7' }],
      ['D', 'public.sale', { id: '1', g: '1' }, null],
      ['I', 'public.sale', null, { id: '1', g: '2', v: '7' }],
      ['T', 'public.sale', null, null],
    ])
  })

  it('of a published table are kept while no pipeline is known to need it', async () => {
    const rig = await aRig()
    await rig.source.query('CREATE TABLE extra (id int PRIMARY KEY, v int)')
    await rig.prepare([...TABLES, { schema: 'public', table: 'extra', columns: [] }])
    expect(await entriesOf(rig, 'INSERT INTO extra VALUES (1, 2)')).toEqual([
      ['I', 'public.extra', null, { id: '1' }],
    ])
  })

  it('leave out what was rolled back, and have the number of the top-level transaction', async () => {
    const rig = await aRig()
    const [row] = await rig.source.query<{ xid: string }>('SELECT pg_current_xact_id()::text AS xid')
    const client = await rig.source.client()
    await client.query('BEGIN; INSERT INTO t VALUES (1, 1); SAVEPOINT a; INSERT INTO t VALUES (2, 1)')
    await client.query('ROLLBACK TO a; SAVEPOINT b; INSERT INTO t VALUES (3, 1); RELEASE b')
    const { rows } = await client.query<{ xid: string }>('SELECT pg_current_xact_id()::text AS xid')
    await client.query('COMMIT; BEGIN; INSERT INTO t VALUES (4, 1); ROLLBACK')
    await rig.captured()
    expect((await rig.log()).map((entry) => (entry.new as { id: string }).id)).toEqual(['1', '3'])
    const logged = await rig.main.query<{ xid: string }>('SELECT DISTINCT xid::text FROM etl.etl_changes')
    expect(logged).toEqual([{ xid: rows[0]!.xid }])
    expect(BigInt(rows[0]!.xid)).toBeGreaterThan(BigInt(row!.xid))
  })

  it('of a prepared transaction come when it is committed, with its own number', async () => {
    const rig = await aRig()
    const client = await rig.source.client()
    await client.query('BEGIN; INSERT INTO t VALUES (1, 1)')
    const { rows } = await client.query<{ xid: string }>('SELECT pg_current_xact_id()::text AS xid')
    await client.query("PREPARE TRANSACTION 'later'")
    await rig.source.query('INSERT INTO t VALUES (2, 1)')
    await rig.captured()
    expect((await rig.log()).map((entry) => (entry.new as { id: string }).id)).toEqual(['2'])
    await client.query("COMMIT PREPARED 'later'")
    await rig.captured()
    const logged = await rig.main.query<{ xid: string; id: string }>(
      "SELECT xid::text, new ->> 'id' AS id FROM etl.etl_changes ORDER BY end_lsn",
    )
    expect(logged.map(({ id }) => id)).toEqual(['2', '1'])
    expect(logged[1]!.xid).toBe(rows[0]!.xid)
  })

  it('write values as the reading session does, whatever the settings of the database', async () => {
    const rig = await Rig.create({
      server,
      sql: 'CREATE TABLE k (at timestamptz PRIMARY KEY, f float8, b bytea, i interval)',
      tables: [{ schema: 'public', table: 'k', columns: ['f', 'b', 'i'] }],
    })
    const name = new URL(rig.source.url).pathname.slice(1)
    await rig.source.query(
      `ALTER DATABASE ${name} SET DateStyle = 'German'; ALTER DATABASE ${name} SET TimeZone = 'Asia/Tokyo'; ALTER DATABASE ${name} SET IntervalStyle = 'iso_8601'; ALTER DATABASE ${name} SET extra_float_digits = -5; ALTER DATABASE ${name} SET bytea_output = 'escape'`,
    )
    rig.captor()
    await rig.captured()
    await rig.source.query(
      "INSERT INTO k VALUES ('2026-01-02 03:04:05.678901+00', 0.1::float8 + 0.2::float8, '\\x00ff', '1 day 02:00')",
    )
    const { entries } = await rig.open()
    let read: unknown
    await rig.open(null, async (source) => {
      ;[read] = await source.rows('SELECT * FROM public.k')
    })
    expect(entries.map((entry) => entry.new)).toEqual([read])
    expect(read).toMatchObject({ at: '2026-01-02 03:04:05.678901+00', f: '0.30000000000000004' })
  })
})
