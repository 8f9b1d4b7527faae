import { expect, it } from 'vitest'
import { onEveryRoute, rowTexts, type Stand } from '../support/stand.js'

/** User-defined types, made in both databases: a value cannot arrive where its type is not known. */
const OWN_TYPES = `
  CREATE EXTENSION IF NOT EXISTS citext SCHEMA content;
  CREATE EXTENSION IF NOT EXISTS hstore SCHEMA content;
  CREATE TYPE content.mood AS ENUM ('sad', 'so, "so"', 'happy');
  CREATE DOMAIN content.score AS numeric(3,1) CHECK (VALUE BETWEEN 0 AND 10);
  CREATE TYPE content.place AS (city text, "Zip" int, at timestamptz, moods content.mood[])`

const ODD_TEXTS = [
  "E'tab\\there'",
  "E'line\\nbreak\\r\\n'",
  "E'back\\\\slash \\\\N \\\\.'",
  "'\\N'",
  "'\\.'",
  "''",
  "'NULL'",
  "'null'",
  `'quotes " '' \` {} , ;'`,
  "'  spaces  '",
  "'🚀 👩‍👩‍👧 Ж ß 中 \u2028 \u{ffff}'",
  "E'\\x01\\x02\\x08\\x0b\\x0c\\x1f\\x7f'",
]

/** Type, then its values as SQL; NULL is added to each. */
const TYPES: readonly (readonly [type: string, values: readonly string[]])[] = [
  ['boolean', ['true', 'false']],
  ['smallint', ['-32768', '32767']],
  ['integer', ['-2147483648', '2147483647']],
  ['bigint', ['-9223372036854775808', '9223372036854775807']],
  [
    'numeric',
    ['1.0', '1.00', "'NaN'", "'Infinity'", "'-Infinity'", `${'9'.repeat(300)}.${'1'.repeat(200)}`, '-0.0001'],
  ],
  ['numeric(12,4)', ['1.5', '-99999999.9999', "'NaN'"]],
  [
    'real',
    ["'NaN'", "'Infinity'", "'-Infinity'", "'-0'", '1.17549435e-38', "'1e-45'", '0.1', '3.4028235e38'],
  ],
  [
    'double precision',
    [
      "'NaN'",
      "'Infinity'",
      "'-Infinity'",
      "'-0'",
      "'5e-324'",
      '0.1',
      '1.7976931348623157e308',
      '123456789.123456789',
    ],
  ],
  ['money', ["'-92233720368547758.08'", "'$1,234.56'"]],
  ['text', ODD_TEXTS],
  ['character varying(30)', ["'abc  '", "''"]],
  ['character(8)', ["'ab'", "''", "'  x'"]],
  ['"char"', ["'a'", "''"]],
  ['name', ["'a name'"]],
  ['bytea', ["'\\x'", "'\\x00ff5c0a09'", `decode(repeat('5c', 5000), 'hex')`]],
  ['date', ["'0044-03-15 BC'", "'infinity'", "'-infinity'", "'5874897-12-31'"]],
  ['time without time zone', ["'00:00:00.000001'", "'24:00:00'"]],
  ['time(2) with time zone', ["'12:00:00.12-15:59'", "'12:00+05:30'"]],
  ['timestamp without time zone', ["'4713-01-01 00:00:00 BC'", "'infinity'", "'2024-02-29 23:59:59.999999'"]],
  [
    'timestamp with time zone',
    ["'0001-01-01 00:00:00.000001+00 BC'", "'-infinity'", "'infinity'", "'2024-03-31 02:30:00.123456+02'"],
  ],
  ['interval', ["'1 year -2 months 3 days -04:05:06.789'", "'-178000000 years'", "'0'", "'@ 1 day ago'"]],
  ['json', [`'{"a": 1,  "a":2, "b" : [ 1,2 ]}'`, `'"\\u0041\\n"'`, "'null'", "'1.0'"]],
  ['jsonb', [`'{"b":1.00,"a":[null,"\\u00e9"]}'`, "'null'"]],
  ['uuid', ["'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'"]],
  ['inet', ["'192.168.0.1/24'", "'::1'"]],
  ['cidr', ["'10.0.0.0/8'", "'2001:db8::/32'"]],
  ['macaddr', ["'08:00:2b:01:02:03'"]],
  ['macaddr8', ["'08:00:2b:01:02:03:04:05'"]],
  ['bit(9)', ["B'101010101'"]],
  ['bit varying', ["B''", "B'1'"]],
  ['bit varying(70)', [`B'${'10'.repeat(35)}'`]],
  ['point', ["'(1.5,-0)'", "'(NaN,Infinity)'"]],
  ['line', ["'{1,-2,3.25}'"]],
  ['lseg', ["'[(0,0),(1,1.1)]'"]],
  ['box', ["'(3,4),(1,2)'"]],
  ['path', ["'[(0,0),(1,1)]'", "'((0,0),(1,1),(2,0))'"]],
  ['polygon', ["'((0,0),(1,1),(2,0))'"]],
  ['circle', ["'<(1,1),2.5>'"]],
  ['tsvector', ["'a:1A fat:2B,4 ''it''''s'':7'"]],
  ['tsquery', ["'fat & (rat | !cat) <2> dog:*'"]],
  ['xml', ['\'<a b="1">x &amp; <!-- c --></a>\'', "'just text'"]],
  ['int4range', ["'[1,5)'", "'empty'", "'(,)'"]],
  ['int8range', ["'[1,)'"]],
  ['numrange', ["'(1.10,2.200]'"]],
  ['tsrange', ["'[2024-01-01 00:00:00.000001,infinity]'"]],
  ['tstzrange', ["'[2024-01-01 00:00+02,)'"]],
  ['daterange', ["'[2024-01-01,2024-02-01)'"]],
  ['int4multirange', ["'{[1,3),[5,7)}'", "'{}'"]],
  ['nummultirange', ["'{[1.0,2.00)}'"]],
  ['tstzmultirange', ["'{[2024-01-01 00:00+00,2024-01-02 00:00+00)}'"]],
  ['integer[]', ["'{}'", "'{{1,NULL},{3,4}}'", "'[0:1][-2:-1]={{1,2},{3,4}}'", "'{{{1},{2}},{{3},{4}}}'"]],
  ['text[]', [`ARRAY[NULL, 'NULL', '', 'a,b', '{x}', '"', E'\\\\', E'\\n', ' ']`, "'{}'"]],
  ['numeric[]', ["'{1.0,1.00,NaN,NULL}'"]],
  ['timestamp with time zone[]', ['\'{infinity,"2024-01-01 00:00:00.000001+00"}\'']],
  ['bytea[]', [`ARRAY['\\x00'::bytea, '\\x5c'::bytea, NULL]`]],
  ['jsonb[]', [`ARRAY['{"a":1}'::jsonb, NULL, 'null'::jsonb]`]],
  ['uuid[]', ["'{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}'"]],
  ['content.mood', ["'sad'", `'so, "so"'`]],
  ['content.mood[]', [`ARRAY['happy', NULL, 'so, "so"']::content.mood[]`]],
  ['content.score', ['9.5', '0']],
  ['content.score[]', ["'{1.0,NULL,10.0}'"]],
  [
    'content.place',
    [
      `ROW('a "b", (c)', 12, '2024-01-01 00:00:00.000001+00', '{happy}')::content.place`,
      `ROW(NULL, NULL, NULL, NULL)::content.place`,
    ],
  ],
  ['content.place[]', [`ARRAY[ROW(E'x\\n\\\\', 1, NULL, '{}')::content.place, NULL]`]],
  ['content.citext', ["'MiXeD'", "'mixed'"]],
  ['content.hstore', [`'a=>1, "b c"=>NULL, d=>"\\""'`]],
  ['oid', ['4294967295']],
  ['regclass', ["'pg_catalog.pg_class'"]],
  ['pg_lsn', ["'16/B374D848'"]],
  ['xid8', ["'18446744073709551615'"]],
  ['txid_snapshot', ["'10:20:10,14,15'"]],
  ['int2vector', ["'1 2 3'"]],
]

async function makeTypes(stand: Stand): Promise<void> {
  for (const database of new Set([stand.source, stand.target])) await database.query(OWN_TYPES)
}

/** A table with one column of every type, and a row for each value of each. */
async function fillEveryType(stand: Stand): Promise<void> {
  await makeTypes(stand)
  const columns = TYPES.map(([type], n) => `v${n} ${type}`)
  await stand.source.query(`CREATE TABLE content.every_type (id int PRIMARY KEY, ${columns.join(', ')})`)
  let id = 0
  for (const [n, [type, values]] of TYPES.entries()) {
    for (const value of values) {
      await stand.source.query(
        `INSERT INTO content.every_type (id, v${n}) VALUES (${++id}, (${value})::${type})`,
      )
    }
  }
  await stand.source.query(`INSERT INTO content.every_type (id) VALUES (${++id})`)
}

async function columnsOf(stand: Stand, side: 'source' | 'target', table: string): Promise<string[]> {
  const rows = await stand[side].query<{ column: string }>(
    `SELECT attname || ' ' || format_type(atttypid, atttypmod) AS column FROM pg_attribute
      WHERE attrelid = '${table}'::regclass AND attnum > 0 ORDER BY attnum`,
  )
  return rows.map(({ column }) => column)
}

onEveryRoute((stand, route) => {
  it('transfers every type unchanged into a column of the same type, and changes nothing the second time', async () => {
    await fillEveryType(stand())
    const { id } = await stand().pipeline({
      sourceQuery: 'SELECT * FROM content.every_type',
      targetTable: 'analytics.every_type',
    })

    expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS', error: null, way: stand().route.way })

    expect(await columnsOf(stand(), 'target', 'analytics.every_type')).toEqual(
      await columnsOf(stand(), 'source', 'content.every_type'),
    )
    for (const [n, [type]] of TYPES.entries()) {
      const values = (table: string) => `SELECT id, v${n} FROM ${table} WHERE v${n} IS NOT NULL`
      expect(await rowTexts(stand().target, values('analytics.every_type')), type).toEqual(
        await rowTexts(stand().source, values('content.every_type')),
      )
    }
    expect(await rowTexts(stand().target, 'SELECT * FROM analytics.every_type')).toEqual(
      await rowTexts(stand().source, 'SELECT * FROM content.every_type'),
    )

    const again = await stand().run(id)
    expect(again).toMatchObject({
      status: 'SUCCESS',
      rows_inserted: 0,
      rows_updated: 0,
      rows_unchanged: again.rows_read,
    })

    // What was compared with equal rows has to notice the smallest difference as well.
    await stand().source.query('UPDATE content.every_type SET v4 = v4 + 0.00 WHERE v4 = 1 AND scale(v4) = 1')
    expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS', rows_inserted: 0, rows_updated: 1 })
  })

  it('keeps the types of expressions, also those without a length', async () => {
    const sourceQuery = `SELECT 1 AS id, B'101' AS bits, 'ab'::bpchar AS padded, 'x'::varchar AS name, 1.50 AS number, 'text' AS literal, NULL AS nothing, now() - now() AS span`
    const { id } = await stand().pipeline({ sourceQuery, targetTable: 'analytics.expressions' })

    expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS', rows_inserted: 1 })

    expect(await columnsOf(stand(), 'target', 'analytics.expressions')).toEqual([
      'id integer',
      'bits "bit"',
      'padded bpchar',
      'name character varying',
      'number numeric',
      'literal text',
      'nothing text',
      'span interval',
    ])
    expect(await rowTexts(stand().target, 'SELECT bits, number FROM analytics.expressions')).toEqual([
      '(101,1.50)',
    ])
  })

  // Within one database both sides have the same types.
  if (route.sourceConnection === route.targetConnection) return

  it('names a type that is missing in the database of the mart', async () => {
    await stand().source.query("CREATE TYPE content.only_here AS ENUM ('a')")
    const { id } = await stand().pipeline({
      sourceQuery: "SELECT 1 AS id, 'a'::content.only_here AS kind",
      targetTable: 'analytics.only_here',
    })

    const run = await stand().run(id)

    expect(run).toMatchObject({ status: 'FAILED', error_code: 'VTR-4002', attempt: 1 })
    expect(run.error).toContain('type "content.only_here" does not exist')
  })

  it('fails with the reason if a type of the target lacks a label that a row has', async () => {
    await stand().source.query("CREATE TYPE content.grown AS ENUM ('a', 'b')")
    await stand().target.query("CREATE TYPE content.grown AS ENUM ('a')")
    const { id } = await stand().pipeline({
      sourceQuery: "SELECT 1 AS id, 'b'::content.grown AS kind",
      targetTable: 'analytics.grown',
    })
    const run = await stand().run(id)
    expect(run).toMatchObject({ status: 'FAILED', attempt: 1, rows_written: 0 })
    expect(run.error).toContain('invalid input value for enum content.grown: "b"')
  })
})
