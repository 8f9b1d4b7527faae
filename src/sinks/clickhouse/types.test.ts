import { beforeAll, describe, expect, it } from 'vitest'
import { aClickHouse } from '../../../tests/support/clickhouse.js'
import { aClickHouseMart, batch, digestsOf, rowsOf } from '../../../tests/support/clickhouse-mart.js'
import { aDatabase, type TestDatabase } from '../../../tests/support/database.js'
import { someOf } from '../../../tests/support/sample.js'
import type { TextValues } from '../../sql/copy-text.js'
import { codecOf } from './types.js'

const server = await aClickHouse()
let postgres: TestDatabase
beforeAll(async () => {
  postgres = await aDatabase({ migrated: false })
  // As every session of ours sets it.
  await postgres.query("SET TimeZone = 'UTC'; SET DateStyle = 'ISO'; SET extra_float_digits = 1")
})

/** PostgreSQL type, the type in ClickHouse, and values as SQL of PostgreSQL. */
const TYPES: readonly [type: string, clickhouse: string, ...values: string[]][] = [
  ['boolean', 'Bool', 'true', 'false'],
  ['smallint', 'Int16', '-32768', '32767'],
  ['integer', 'Int32', '-2147483648', '0'],
  ['bigint', 'Int64', '-9223372036854775808', '9223372036854775807'],
  [
    'real',
    'Float32',
    "'NaN'",
    "'-Infinity'",
    '1e-45',
    '3.4028235e38',
    '0.1',
    '123456',
    '1234567',
    '-0.00012',
  ],
  [
    'double precision',
    'Float64',
    "'NaN'",
    "'Infinity'",
    '5e-324',
    '1.7976931348623157e308',
    '0.1::float8 + 0.2::float8',
    "'-0'",
    '1e15',
    '123456789012345',
    '-0.000012345',
    '2.2250738585072011e-308',
  ],
  ['numeric(10,2)', 'Decimal(10, 2)', '1.50', '-99999999.99', '0'],
  ['numeric(38,38)', 'Decimal(38, 38)', '0.00000000000000000000000000000000000001'],
  ['numeric(3,-2)', 'Decimal(5, 0)', '12300'],
  ['numeric(2,5)', 'Decimal(5, 5)', '0.00012'],
  ['numeric(90,2)', 'String', '1.50'],
  ['numeric', 'Decimal(76, 38)', '8.2000000000000000', '-1e37', '1e-38', '100.00', '0.0'],
  [
    'text',
    'String',
    "''",
    "E'tab\\tnew\\nline\\r\\\\ \\'quoted\\' \\b\\f\\v'",
    "'Ё 日本 🎬'",
    "'\\N'",
    "'NULL'",
  ],
  ['character(5)', 'String', "'ab'"],
  ['uuid', 'UUID', "'00000000-0000-0000-0000-000000000001'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'"],
  ['date', 'Date32', "'1900-01-01'", "'2299-12-31'", "'1969-12-31'"],
  [
    'timestamp without time zone',
    "DateTime64(6, 'UTC')",
    "'1900-01-01'",
    "'2299-12-31 23:59:59.999999'",
    "'1969-12-31 23:59:59.999999'",
    "'2024-02-29 12:00:00.5'",
  ],
  [
    'timestamp with time zone',
    "DateTime64(6, 'UTC')",
    "'1925-06-01 00:00:00.000001+03'",
    "'2038-01-19 03:14:08+00'",
  ],
  ['time without time zone', 'String', "'23:59:59.999999'"],
  ['time with time zone', 'String', "'12:00+03'"],
  ['interval', 'String', "'1 year 2 mons -3 days 04:05:06.7'"],
  ['bytea', 'String', "'\\x'", "'\\x00ff0a095c2724'"],
  ['json', 'String', `'{"b": 1,  "a": "\\u0041"}'`],
  ['jsonb', 'String', `'{"b": 1, "a": [1.50, null]}'`],
  ['int4range', 'String', "'[1,5)'"],
  ['text[]', 'Array(Nullable(String))', "'{}'", `ARRAY['a,b', NULL, 'NULL', '', E'it\\'s\\t"\\\\']`],
  ['boolean[]', 'Array(Nullable(Bool))', "'{t,f,NULL}'"],
  ['double precision[]', 'Array(Nullable(Float64))', "'{NaN,-Infinity,0.1}'"],
  ['numeric(10,2)[]', 'Array(Nullable(Decimal(10, 2)))', "'{1.50,NULL}'"],
  ['uuid[]', 'Array(Nullable(UUID))', "'{00000000-0000-0000-0000-000000000001}'"],
  ['date[]', 'Array(Nullable(Date32))', "'{2024-02-29,NULL}'"],
  ['timestamp with time zone[]', "Array(Nullable(DateTime64(6, 'UTC')))", "'{2024-02-29 12:00:00.5+00}'"],
  ['bytea[]', 'Array(Nullable(String))', `ARRAY['\\x00ff27'::bytea]`],
]

describe('values (real engine, HTTP front of our own)', () => {
  it('get the type that the contract defines', () => {
    for (const [type, expected] of TYPES)
      expect(codecOf(type, { numeric: 'decimal' }).type, type).toBe(expected)
    expect(codecOf('numeric', { numeric: 'string' }).type).toBe('String')
  })

  for (const [type, , ...values] of TYPES) {
    it(`arrive as they left: ${type}`, async () => {
      const texts = await postgresTexts(type, values)
      const mart = aClickHouseMart(server, { columns: { id: 'integer!', value: type } })
      const sink = await mart.open()
      await sink.prepare()
      const rows: TextValues[] = [...texts, null].map((text, index) => [String(index), text])
      expect(await sink.write(rowsOf(...rows), batch(1, 1))).toMatchObject({
        inserted: rows.length,
        refused: [],
      })
      const expected = new Map(rows.map((row) => [row[0], sink.digestOf(row).digest]))
      expect(await digestsOf(sink)).toEqual(expected)
      const digests = new Set([...texts, null].map((text) => sink.digestOf(['0', text]).digest))
      // An array that is NULL arrives as an empty one, says the contract.
      expect(digests.size).toBe(texts.includes('{}') ? rows.length - 1 : rows.length)
      expect(await sink.write(rowsOf(...rows), batch(1, 2))).toMatchObject({ unchanged: rows.length })
    })
  }

  const KEYS = TYPES.filter(([, one]) => !/^(Float|Array)/.test(one))
  for (const [type, clickhouse, ...values] of someOf(KEYS, 8, ([one]) => one)) {
    it(`can be a key: ${type} (${clickhouse})`, async () => {
      const texts = await postgresTexts(type, values)
      const mart = aClickHouseMart(server, { columns: { value: `${type}!` }, key: ['value'] })
      const sink = await mart.open()
      await sink.prepare()
      await sink.write(rowsOf(...texts.map((text) => [text])), batch(1, 1))
      const keys = [...(await digestsOf(sink)).keys()].sort()
      expect(keys).toEqual(texts.map((text) => sink.digestOf([text]).key[0]).sort())
      // A numeric without precision loses the zeros at its end, which are not part of its value.
      if (type !== 'numeric') expect(keys).toEqual([...texts].sort())
      expect(
        await sink.remove(
          texts.map((text) => [text]),
          batch(1, 2),
        ),
      ).toEqual({ deleted: texts.length })
      expect(await mart.read()).toEqual([])
    })
  }

  it('have the least and greatest of PostgreSQL in a summary, written the same way', async () => {
    const ordered = TYPES.filter(([type]) =>
      /^(smallint|bigint|real|double|numeric\(10|date|timestamp|uuid)[^[]*$/.test(type),
    )
    for (const [type, , ...values] of ordered) {
      const texts = await postgresTexts(type, values)
      const [ends] = await query<{ min: string; max: string }>(
        `WITH one(v) AS (SELECT unnest(ARRAY[${values.map((value) => `(${value})::${type}`)}]))
         SELECT (SELECT v FROM one ORDER BY v LIMIT 1)::text AS min, (SELECT v FROM one ORDER BY v DESC LIMIT 1)::text AS max`,
      )
      const mart = aClickHouseMart(server, { columns: { id: 'integer!', value: type } })
      const sink = await mart.open()
      await sink.prepare()
      await sink.write(rowsOf(...[null, ...texts].map((text, id) => [String(id), text])), batch(1, 1))
      expect(await sink.summary('value'), type).toEqual({ count: texts.length + 1, ...ends })
    }
  })
})

describe('values that ClickHouse cannot store', () => {
  const UNFIT: readonly [type: string, text: string, reason: RegExp][] = [
    ['date', '1899-12-31', /not between/],
    ['date', 'infinity', /not between/],
    ['date', '10000-01-01', /not between/],
    ['date', '2024-01-01 BC', /not between/],
    ['timestamp without time zone', '2300-01-01 00:00:00', /not between/],
    ['timestamp with time zone', '-infinity', /not between/],
    ['timestamp with time zone', '2024-01-01 00:00:00+03', /UTC/],
    ['numeric', 'NaN', /not a valid Decimal/],
    ['numeric', 'Infinity', /not a valid Decimal/],
    ['numeric', `1${'0'.repeat(38)}`, /does not fit/],
    ['numeric', `0.${'0'.repeat(38)}1`, /does not fit/],
    ['integer[]', '{{1,2},{3,4}}', /dimensions/],
    ['integer[][]', '{1,2}', /dimensions/],
  ]
  for (const [type, text, reason] of UNFIT) {
    it(`are refused before they are sent: ${text.slice(0, 30)} as ${type}`, () => {
      expect(() => codecOf(type, { numeric: 'decimal' }).encode(text)).toThrow(reason)
    })
  }
})

async function postgresTexts(type: string, values: readonly string[]): Promise<string[]> {
  const rows = await query<{ text: string }>(
    `SELECT v::text AS text FROM unnest(ARRAY[${values.map((_, index) => index)}]) WITH ORDINALITY o(i, n),
       LATERAL (SELECT CASE i ${values.map((value, index) => `WHEN ${index} THEN (${value})::${type}`).join(' ')} END) AS one(v) ORDER BY n`,
  )
  // bytea, boolean: what COPY writes, not what a cast does.
  return rows.map(({ text }) => (type === 'boolean' ? text[0]! : text))
}

function query<R extends Record<string, unknown>>(sql: string): Promise<R[]> {
  return postgres.query<R>(sql)
}
