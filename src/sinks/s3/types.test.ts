import { describe, expect, it, onTestFinished } from 'vitest'
import { aDatabase, type TestDatabase } from '../../../tests/support/database.js'
import { anS3Mart, describeS3, TestRun } from '../../../tests/support/s3-mart.js'
import { Session } from '../../postgres/session.js'
import { describeQuery } from '../../sources/postgres/describe.js'
import type { TextValues } from '../../sql/copy-text.js'
import type { Column } from '../../sql/selection.js'
import { storageOf } from './types.js'

/** How one type is compared: an expression in either database that says the value exactly, in the same words. */
interface Typed {
  readonly type: string
  readonly values: readonly string[]
  readonly duckType: string
  readonly postgres: (column: string) => string
  readonly duck: (column: string) => string
}

const plain = {
  postgres: (column: string) => `${column}::text`,
  duck: (column: string) => `${column}::VARCHAR`,
}
const days = {
  postgres: (c: string) => `(${c} - DATE '1970-01-01')::text`,
  duck: (c: string) => `(${c} - DATE '1970-01-01')::VARCHAR`,
}
const bytes = { postgres: (c: string) => `upper(encode(${c}, 'hex'))`, duck: (c: string) => `hex(${c})` }
const micros = {
  postgres: (c: string) => `(EXTRACT(epoch FROM ${c}) * 1000000)::numeric(30,0)::text`,
  duck: (c: string) => `epoch_us(${c})::VARCHAR`,
}
const list = {
  postgres: (c: string) => `to_json(${c})::text`,
  duck: (c: string) => `to_json(${c})::VARCHAR`,
}
const UNICODE = [
  "''",
  "' '",
  "'Ж ß 中 🚀 👩‍👩‍👧'",
  "'\u{ffff}'",
  "'NULL'",
  "E'tab\\tline\\nback\\\\slash'",
  `'"quoted", {}'`,
  "repeat('Ж', 100000)",
]

const TYPES: readonly Typed[] = [
  { type: 'boolean', values: ['true', 'false'], duckType: 'BOOLEAN', ...plain },
  { type: 'smallint', values: ['-32768', '0', '32767'], duckType: 'SMALLINT', ...plain },
  { type: 'integer', values: ['-2147483648', '2147483647'], duckType: 'INTEGER', ...plain },
  {
    type: 'bigint',
    values: ['-9223372036854775808', '9007199254740993', '9223372036854775807'],
    duckType: 'BIGINT',
    ...plain,
  },
  { type: 'oid', values: ['4294967295'], duckType: 'BIGINT', ...plain },
  { type: 'numeric(4,2)', values: ['99.99', '-0.01', '0', '1.5'], duckType: 'DECIMAL(4,2)', ...plain },
  {
    type: 'numeric(18,6)',
    values: ['999999999999.999999', '-0.000001', '900719925474.099301'],
    duckType: 'DECIMAL(18,6)',
    ...plain,
  },
  {
    type: 'numeric(38,10)',
    values: [
      '9999999999999999999999999999.9999999999',
      '-9999999999999999999999999999.9999999999',
      '0.0000000001',
    ],
    duckType: 'DECIMAL(38,10)',
    ...plain,
  },
  {
    type: 'numeric(38,0)',
    values: ['9'.repeat(38), `-${'9'.repeat(38)}`, '0'],
    duckType: 'DECIMAL(38,0)',
    ...plain,
  },
  { type: 'numeric(3,-2)', values: ['12300', '-99900'], duckType: 'DECIMAL(5,0)', ...plain },
  {
    type: 'numeric(2,4)',
    values: ['0.0012', '-0.0099'],
    duckType: 'DECIMAL(4,4)',
    postgres: plain.postgres,
    // DuckDB leaves out the zero before the point where the type has no place for it.
    duck: (c) => `${c}::DECIMAL(5,4)::VARCHAR`,
  },
  {
    type: 'numeric',
    values: ['1.00', `${'9'.repeat(60)}.5`, "'NaN'", "'Infinity'"],
    duckType: 'VARCHAR',
    ...plain,
  },
  { type: 'text', values: UNICODE, duckType: 'VARCHAR', ...plain },
  { type: 'character varying(30)', values: ["'abc  '", "''"], duckType: 'VARCHAR', ...plain },
  {
    type: 'character(4)',
    values: ["'ab'"],
    duckType: 'VARCHAR',
    postgres: (c) => `rpad(${c}, 4)`,
    duck: (c) => c,
  },
  {
    type: 'uuid',
    values: [
      "'00000000-0000-0000-0000-000000000000'",
      "'ffffffff-ffff-ffff-ffff-ffffffffffff'",
      "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'",
    ],
    duckType: 'UUID',
    ...plain,
  },
  {
    type: 'date',
    values: [
      "'2024-02-29'",
      "'1969-12-31'",
      "'0044-03-15 BC'",
      "'12345-01-01'",
      "'4713-01-01 BC'",
      "'5874897-12-31'",
    ],
    duckType: 'DATE',
    ...days,
  },
  {
    type: 'time without time zone',
    values: ["'00:00'", "'23:59:59.999999'", "'12:00:00.5'", "'24:00'"],
    duckType: 'TIME',
    ...plain,
  },
  { type: 'time with time zone', values: ["'12:00:00.5+03'"], duckType: 'VARCHAR', ...plain },
  {
    type: 'timestamp without time zone',
    values: [
      "'2024-02-29 23:59:59.123456'",
      "'1969-12-31 23:59:59.999999'",
      "'0001-01-01'",
      "'0044-03-15 01:02:03.000004 BC'",
      "'12345-06-07 08:09:10'",
      "'290000-01-01 00:00:00.000001'",
      "'294246-12-31 23:59:59.999999'",
    ],
    duckType: 'TIMESTAMP',
    ...micros,
  },
  {
    type: 'timestamp with time zone',
    values: [
      "'2024-02-29 23:59:59.123456+05:30'",
      "'1900-01-01 00:00:00.000001+00'",
      "'0044-03-15 01:02:03 BC'",
    ],
    duckType: 'TIMESTAMP WITH TIME ZONE',
    ...micros,
  },
  { type: 'interval', values: ["'1 year 2 days 03:04:05.678'", "'-1 mon'"], duckType: 'VARCHAR', ...plain },
  { type: 'bytea', values: ["'\\x'", "'\\x00ff5c0a'"], duckType: 'BLOB', ...bytes },
  {
    type: 'json',
    values: [`'{"a":  12345678901234567890.123, "b": [1, null]}'`, "'null'"],
    duckType: 'JSON',
    ...plain,
  },
  {
    type: 'jsonb',
    values: [`'{"b": 1, "a": "Ж 🚀", "n": 12345678901234567890}'`, "'[]'"],
    duckType: 'JSON',
    ...plain,
  },
  { type: 'inet', values: ["'192.168.0.1/24'"], duckType: 'VARCHAR', ...plain },
  { type: 'int4range', values: ["'[1,5)'"], duckType: 'VARCHAR', ...plain },
  { type: 'integer[]', values: ["'{}'", "'{1,NULL,-3}'", "'{NULL}'"], duckType: 'INTEGER[]', ...list },
  {
    type: 'text[]',
    values: [`ARRAY['', 'NULL', NULL, 'a,b', '{}"\\', 'Ж 🚀']`, "'{}'"],
    duckType: 'VARCHAR[]',
    ...list,
  },
  { type: 'boolean[]', values: ["'{t,f,NULL}'"], duckType: 'BOOLEAN[]', ...list },
  {
    type: 'numeric(30,2)[]',
    values: ["'{1.50,NULL,-9999999999999999999999999999.99}'"],
    duckType: 'DECIMAL(30,2)[]',
    postgres: (c) => `array_to_string(${c}, ',', 'NULL')`,
    duck: (c) => `array_to_string(list_transform(${c}, lambda x: coalesce(x::VARCHAR, 'NULL')), ',')`,
  },
  { type: 'uuid[]', values: ["'{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11,NULL}'"], duckType: 'UUID[]', ...list },
  {
    type: 'timestamp without time zone[]',
    values: ["'{2024-01-02 03:04:05.123456,NULL}'"],
    duckType: 'TIMESTAMP[]',
    postgres: (c) => `array_to_string(${c}, ',', 'NULL')`,
    duck: (c) => `array_to_string(list_transform(${c}, lambda x: coalesce(x::VARCHAR, 'NULL')), ',')`,
  },
]

const FLOATS = [
  "'NaN'",
  "'Infinity'",
  "'-Infinity'",
  "'-0'",
  "'0'",
  '0.1',
  "'-1.5e30'",
  "'1e-30'",
  "'3.4028235e38'",
  "'1e-45'",
]

/** Every value of every type in a row of its own, NULL elsewhere; the whole as PostgreSQL writes it. */
async function typeTable(database: TestDatabase): Promise<{ columns: Column[]; rows: TextValues[] }> {
  const columns = TYPES.map(({ type }, index) => `c${index} ${type}`)
  await database.query(
    `CREATE TABLE content.kinds (id bigint GENERATED ALWAYS AS IDENTITY, ${columns.join(', ')}, f4 real, f8 double precision)`,
  )
  await database.query('INSERT INTO content.kinds DEFAULT VALUES')
  for (const [index, { type, values }] of TYPES.entries())
    for (const value of values)
      await database.query(`INSERT INTO content.kinds (c${index}) VALUES ((${value})::${type})`)
  for (const value of FLOATS)
    await database.query(
      `INSERT INTO content.kinds (f4, f8) VALUES ((${value})::real, (${value})::double precision)`,
    )
  return readTable(database, 'SELECT * FROM content.kinds ORDER BY id')
}

async function readTable(
  database: TestDatabase,
  query: string,
): Promise<{ columns: Column[]; rows: TextValues[] }> {
  const session = await Session.open(database.url, 'vitrina-test', new AbortController().signal)
  onTestFinished(() => session.close())
  const columns = await describeQuery(session, query)
  const rows = (await session.rows(query)).map((row) => columns.map(({ name }) => row[name]!))
  await session.close()
  return { columns, rows }
}

await describeS3('Types in Parquet', (s3) => {
  it('arrive unchanged, row by row, with NULL and empty values distinct (R4.9)', async () => {
    const database = await aDatabase({ cinema: true })
    const { columns, rows } = await typeTable(database)
    const mart = anS3Mart(s3, { columns })
    const sink = await mart.open()
    const run = new TestRun()
    expect((await run.write(sink, rows)).refused).toEqual([])
    await run.publish(sink)
    const read = TYPES.map(({ duck }, index) => duck(`c${index}`)).join(', ')
    const asked = TYPES.map(({ postgres }, index) => `${postgres(`c${index}`)} AS c${index}`).join(', ')
    const expected = await database
      .query<Record<string, string | null>>(`SET TimeZone = 'UTC'`)
      .then(() =>
        database.query<Record<string, string | null>>(`SELECT ${asked} FROM content.kinds ORDER BY id`),
      )
    const found = await mart.read(`SELECT ${read} FROM mart ORDER BY id`)
    for (const [index, { type }] of TYPES.entries()) {
      expect(
        found.map((row) => row[index]),
        type,
      ).toEqual(expected.map((row) => row[`c${index}`]))
    }
    const types = await mart.read('SELECT column_type FROM (DESCRIBE mart)')
    expect(types.flat().slice(1, -2)).toEqual(TYPES.map(({ duckType }) => duckType))
  })

  it('keep every bit of a float, NaN, infinity and the sign of zero among them', async () => {
    const database = await aDatabase({ cinema: true })
    const { columns, rows } = await typeTable(database)
    const mart = anS3Mart(s3, { columns })
    const sink = await mart.open()
    const run = new TestRun()
    await run.write(sink, rows)
    await run.publish(sink)
    const found = await mart.read(
      'SELECT f4::DOUBLE::VARCHAR, f8::VARCHAR FROM mart WHERE f8 IS NOT NULL ORDER BY id',
    )
    const spelled = (f4: number, f8: number) =>
      [f4, f8].map((one) => (Object.is(one, -0) ? '-0.0' : duckText(one)))
    expect(found).toEqual(
      FLOATS.map((value) => Number(value.replaceAll("'", ''))).map((one) => spelled(Math.fround(one), one)),
    )
    // Bounds without NaN would let DuckDB skip the file.
    expect(await mart.read("SELECT count(*) FROM mart WHERE f8 > 'Infinity'::DOUBLE")).toEqual([[1]])
  })

  it('have the same digest from the source and from the mart', async () => {
    const database = await aDatabase({ cinema: true })
    const { columns, rows } = await typeTable(database)
    const mart = anS3Mart(s3, { columns })
    const sink = await mart.open()
    const run = new TestRun()
    await run.write(sink, rows)
    await run.publish(sink)
    const digests: unknown[] = []
    for await (const portion of sink.digests()) digests.push(...portion)
    expect(digests).toEqual(rows.map((row) => sink.digestOf(row)))
    expect(new Set(digests.map((one) => JSON.stringify(one))).size).toBe(rows.length)
  })

  it('survive a file being rewritten', async () => {
    const database = await aDatabase({ cinema: true })
    const { columns, rows } = await typeTable(database)
    const mart = anS3Mart(s3, { columns })
    const run = new TestRun()
    const sink = await mart.open()
    await run.write(sink, rows)
    await run.remove(sink, [['1']])
    await run.publish(sink)
    const digests: unknown[] = []
    for await (const portion of sink.digests()) digests.push(...portion)
    expect(digests).toEqual(rows.slice(1).map((row) => sink.digestOf(row)))
  })
})

describe('Values of PostgreSQL', () => {
  it('read and written again have the text that PostgreSQL gave them', async () => {
    const database = await aDatabase({ cinema: true })
    const { columns, rows } = await typeTable(database)
    for (const [index, column] of columns.entries()) {
      if (column.type.endsWith('[]')) continue
      const storage = storageOf(column)
      for (const row of rows) expect(storage.text(storage.read(row[index]!)), column.type).toBe(row[index])
    }
  })

  it.each([
    ['integer', '2147483648', 'not an integer'],
    ['bigint', '9223372036854775808', 'not a 64-bit integer'],
    ['numeric(4,2)', '100', 'more digits'],
    ['numeric(4,2)', '1.234', 'more than 2 decimals'],
    ['numeric(4,2)', 'Infinity', 'does not fit'],
    ['date', 'infinity', 'not a date'],
    ['timestamp without time zone', '294276-12-31 00:00:00', 'outside the range'],
    ['timestamp with time zone', '-infinity', 'not a timestamp'],
    ['boolean', 'maybe', 'neither'],
    ['uuid', 'abc', 'not a uuid'],
    ['double precision', '', 'not a number'],
    ['integer[]', '{{1,2},{3,4}}', 'more than one dimension'],
  ])('of type %s cannot be %s', (type, text, reason) => {
    expect(() => storageOf({ name: 'c', type }).read(text)).toThrow(reason)
  })
})

/** DuckDB's spelling of a double. */
function duckText(value: number): string {
  if (Number.isNaN(value)) return 'nan'
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf'
  const text = String(value)
  return /[.e]/.test(text) ? text : `${text}.0`
}
