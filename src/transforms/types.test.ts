import { Readable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aDatabase, type TestDatabase } from '../../tests/support/database.js'
import { columnsOf, someTasks } from '../../tests/support/tasks.js'
import { Session } from '../postgres/session.js'
import { RowBatch } from '../sql/row-batch.js'

/** Type, then its values as SQL; NULL is added to each. `asIs`: whose text says more than a value of the language can. */
const TYPES: readonly { type: string; values: readonly string[]; asIs?: readonly string[] }[] = [
  { type: 'boolean', values: ['true', 'false'] },
  { type: 'smallint', values: ['-32768', '0'] },
  { type: 'integer', values: ['-2147483648', '7'] },
  { type: 'bigint', values: ['-9223372036854775808', '9223372036854775807', '9007199254740993'] },
  {
    type: 'numeric',
    values: [
      '1.0',
      '1.50',
      '0.0000001',
      "'NaN'",
      "'Infinity'",
      "'-Infinity'",
      `${'9'.repeat(300)}.${'1'.repeat(200)}`,
    ],
  },
  { type: 'numeric(12,4)', values: ['1.5', '-99999999.9999'] },
  { type: 'real', values: ["'NaN'", "'-Infinity'", "'-0'", "'1e-45'", '0.1', '3.4028235e38', '1e-05'] },
  {
    type: 'double precision',
    values: ["'NaN'", "'Infinity'", "'-0'", "'5e-324'", '0.1', '1e20', '1e-05', '123456789.123456789'],
  },
  {
    type: 'text',
    values: [
      "E'tab\\there'",
      "E'line\\nbreak\\r\\n'",
      "E'back\\\\slash \\\\N'",
      "'\\N'",
      "'\\.'",
      "''",
      "'NULL'",
      "'  x '",
      "'🚀 Ж\u2028'",
      "E'\\x01\\b\\v\\f\\x7f'",
    ],
  },
  { type: 'character varying(30)', values: ["'abc  '", "''"] },
  { type: 'character(8)', values: ["'ab'", "''"] },
  { type: 'bytea', values: ["'\\x'", "'\\x00ff5c0a09'", "decode(repeat('5c', 5000), 'hex')"] },
  {
    type: 'date',
    values: [
      "'2024-02-29'",
      "'0044-03-15 BC'",
      "'infinity'",
      "'-infinity'",
      "'5874897-12-31'",
      "'10000-01-01'",
    ],
  },
  { type: 'time without time zone', values: ["'00:00:00.000001'", "'24:00:00'", "'10:00:00.5'"] },
  {
    type: 'time with time zone',
    values: ["'12:00:00.12-15:59'", "'12:00+05:30'", "'10:00+00'", "'24:00:00+00'"],
  },
  {
    type: 'timestamp without time zone',
    values: [
      "'2024-02-29 23:59:59.999999'",
      "'4713-01-01 00:00:00 BC'",
      "'infinity'",
      "'12024-01-01 00:00:00'",
      "'0001-01-01 00:00:00'",
    ],
  },
  {
    type: 'timestamp with time zone',
    values: [
      "'2024-03-31 02:30:00.12+02'",
      "'0001-01-01 00:00:00.000001+00 BC'",
      "'-infinity'",
      "'9999-12-31 23:59:59.999999+00'",
      "'2024-01-01 00:00:00+00'",
    ],
  },
  { type: 'interval', values: ["'1 year -2 months 3 days -04:05:06.789'", "'-178000000 years'", "'0'"] },
  {
    type: 'json',
    values: [],
    asIs: [
      `'{"a": 1,  "a":2, "b" : [ 1,2 ]}'`,
      `'"\\u0041\\n"'`,
      "'null'",
      "'1.0'",
      "'-0'",
      `'"\\ud800"'`,
      "'1e400'",
    ],
  },
  {
    type: 'jsonb',
    values: [`'{"b":[null,"\\u00e9", true],"a":{}}'`, "'null'", "'[]'", `'"text"'`, "'5'"],
    asIs: [
      `'{"n":1.00, "big": 123456789012345678901234567890.5}'`,
      "'1.0'",
      "'1e300'",
      `repeat('[', 3000)::text || repeat(']', 3000)`,
    ],
  },
  { type: 'uuid', values: ["'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'"] },
  { type: 'inet', values: ["'192.168.0.1/24'"] },
  { type: 'point', values: ["'(1.5,-0)'"] },
  { type: 'int4range', values: ["'[1,5)'", "'empty'"] },
  { type: 'xml', values: ['\'<a b="1">x</a>\''] },
  { type: 'integer[]', values: ["'{}'", "'{{1,NULL},{3,4}}'"], asIs: ["'[0:1][-2:-1]={{1,2},{3,4}}'"] },
  { type: 'text[]', values: [`ARRAY[NULL, 'NULL', '', 'a,b', '{x}', '"', E'\\\\', E'\\n\\t', ' ']`, "'{}'"] },
  { type: 'numeric[]', values: ["'{1.0,1.00,NaN,NULL}'"] },
  { type: 'timestamp with time zone[]', values: ['\'{infinity,"2024-01-01 00:00:00.000001+00"}\''] },
  { type: 'bytea[]', values: [`ARRAY['\\x00'::bytea, '\\x5c'::bytea, NULL]`] },
  { type: 'jsonb[]', values: [`ARRAY['{"a":[1,2]}'::jsonb, NULL, 'null'::jsonb, '[1]'::jsonb]`] },
  { type: 'box[]', values: [], asIs: [`ARRAY['(3,4),(1,2)'::box]`] },
  { type: 'content.mood', values: [`'so, "so"'`] },
  { type: 'content.mood[]', values: [`ARRAY['happy', NULL, 'so, "so"']::content.mood[]`] },
]

const FILES = {
  'python/pass.py': `
from vitrina import task
from datetime import date, datetime, time
from decimal import Decimal
from uuid import UUID

@task("py_copies")
def py_copies(rows):
    return [dict(row) for row in reversed(rows)]

def fresh(value):
    """The same value as another object."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, Decimal):
        return Decimal(value.as_tuple())
    if isinstance(value, (date, time)):
        return value.replace()
    if isinstance(value, UUID):
        return UUID(int=value.int)
    if isinstance(value, bytes):
        return bytes(bytearray(value))
    if isinstance(value, list):
        return [fresh(one) for one in value]
    if isinstance(value, dict):
        return {key: fresh(one) for key, one in value.items()}
    if isinstance(value, str):
        return (value + "x")[:-1]
    if isinstance(value, float):
        return float(repr(value))
    return value

@task("py_fresh")
def py_fresh(rows):
    return [{name: fresh(value) for name, value in row.items()} for row in rows]

@task("py_types")
def py_types(rows):
    print(*[type(value).__name__ for value in rows[0].values()])
    return rows
`,
  'typescript/pass.ts': `
import { task, type Row } from 'vitrina'
task('ts_copies', (rows: Row[]) => rows.toReversed())
task('ts_spread', (rows: Row[]) => rows.map((row) => ({ ...row })))
const fresh = (value: any): any => {
  if (value instanceof Uint8Array) return new Uint8Array(value)
  if (Array.isArray(value)) return value.map(fresh)
  return value !== null && typeof value === 'object' ? Object.fromEntries(Object.entries(value).map(([k, v]) => [k, fresh(v)])) : value
}
task('ts_fresh', (rows: Row[]) => [...rows.map((row) => Object.fromEntries(Object.entries(row).map(([k, v]) => [k, fresh(v)])))])
task('ts_types', (rows: Row[]) => { console.log(Object.values(rows[0]!).map((v) => v?.constructor?.name).join(' ')); return rows })
`,
}

let database: TestDatabase
let session: Session
beforeAll(async () => {
  database = await aDatabase()
  await database.query(`CREATE SCHEMA content; CREATE TYPE content.mood AS ENUM ('sad', 'so, "so"', 'happy')`)
  session = await Session.open(database.url, 'test', new AbortController().signal)
})
afterAll(() => session.close())

type Values = readonly { readonly type: string; readonly values: readonly string[] }[]

function columnsFor(types: Values) {
  return columnsOf(...types.map(({ type }, n) => `c${n} ${type}`))
}

/** A row for each value, every type in a column of its own; the last row is NULL everywhere. */
async function copied(types: Values): Promise<RowBatch> {
  const rows = 1 + Math.max(...types.map(({ values }) => values.length))
  const selects = Array.from({ length: rows }, (_, row) => {
    const cells = types.map(({ type, values }, n) => `(${values[row] ?? 'NULL'})::${type} AS c${n}`)
    return `SELECT ${row} AS n, ${cells.join(', ')}`
  })
  const names = types.map((_, n) => `c${n}`).join(', ')
  return copyOf(`SELECT ${names} FROM (${selects.join(' UNION ALL ')}) t ORDER BY n`, rows)
}

async function copyOf(select: string, count: number): Promise<RowBatch> {
  const pieces = await session.copyOut(`COPY (${select}) TO STDOUT`).toArray()
  return RowBatch.ofLines(Buffer.concat(pieces), count)
}

/** As the database writes what it read from these bytes. */
async function readBack(types: Values, batch: RowBatch): Promise<RowBatch> {
  const columns = types.map(({ type }, n) => `c${n} ${type}`)
  const names = types.map((_, n) => `c${n}`).join(', ')
  await session.run(`CREATE TEMP TABLE back (n serial, ${columns.join(', ')})`)
  await session.copyIn(`COPY back (${names}) FROM STDIN`, Readable.from([batch.bytes]))
  const rows = await copyOf(`SELECT ${names} FROM back ORDER BY n`, batch.count)
  await session.run('DROP TABLE back')
  return rows
}

/** Column by column, so that a difference names its type. */
function byType(types: Values, batch: RowBatch): Record<string, (string | null)[]> {
  return Object.fromEntries(types.map(({ type }, n) => [type, batch.rows.map((row) => row[n]!)]))
}

const LANGUAGES = [
  { language: 'Python', same: ['py_copies', 'py_copies'], fresh: 'py_fresh' },
  { language: 'TypeScript', same: ['ts_copies', 'ts_spread', 'ts_copies'], fresh: 'ts_fresh' },
  { language: 'both', same: ['py_copies', 'ts_spread', 'py_copies'], fresh: 'py_fresh' },
]

describe.each(LANGUAGES)('values of $language functions (invariant 7)', ({ same, fresh }) => {
  it('come back byte for byte when nothing was done to them, in whatever row', async () => {
    const types = TYPES.map(({ type, values, asIs = [] }) => ({ type, values: [...values, ...asIs] }))
    const tasks = await someTasks(FILES)
    const batch = await copied(types)
    const turned = await tasks.run(same[0]!, columnsFor(types), batch.rows)
    expect(byType(types, RowBatch.ofRows(turned.toReversed()))).toEqual(byType(types, batch))
    const back = await tasks.run(same, columnsFor(types), batch.rows)
    expect(byType(types, RowBatch.ofRows(back))).toEqual(byType(types, batch))
  })

  it('mean the same to the database when they were created by the function', async () => {
    const types = TYPES.filter(({ values }) => values.length > 0)
    const tasks = await someTasks(FILES)
    const batch = await copied(types)
    const made = await tasks.run(fresh, columnsFor(types), batch.rows)
    expect(byType(types, await readBack(types, RowBatch.ofRows(made)))).toEqual(byType(types, batch))
  })
})

const ARRIVES: readonly [type: string, value: string, python: string, typescript: string][] = [
  ['boolean', 'true', 'bool', 'Boolean'],
  ['integer', '5', 'int', 'Number'],
  ['bigint', '5', 'int', 'BigInt'],
  ['numeric', '5', 'Decimal', 'String'],
  ['double precision', '5', 'float', 'Number'],
  ['text', "'x'", 'str', 'String'],
  ['uuid', "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", 'UUID', 'String'],
  ['date', "'2024-01-01'", 'date', 'String'],
  ['time without time zone', "'10:00'", 'time', 'String'],
  ['timestamp with time zone', "'2024-01-01'", 'datetime', 'String'],
  ['timestamp with time zone', "'infinity'", 'str', 'String'],
  ['interval', "'1 day'", 'str', 'String'],
  ['bytea', "'\\x00'", 'bytes', 'Uint8Array'],
  ['jsonb', `'{"a": 1}'`, 'dict', 'Object'],
  ['jsonb', `'null'`, '_JsonNull', 'Symbol'],
  ['integer[]', `'{1}'`, 'list', 'Array'],
  ['integer', 'NULL', 'NoneType', ''],
  ['content.mood', "'sad'", 'str', 'String'],
]

describe('the types that arrive', () => {
  it('are those that the guide promises', async () => {
    const tasks = await someTasks(FILES)
    const types = ARRIVES.map(([type, value]) => ({ type, values: [value] }))
    const { rows } = await copied(types)
    await tasks.run(['py_types', 'ts_types'], columnsFor(types), rows)
    expect(tasks.said).toEqual([
      `py_types: ${ARRIVES.map(([, , python]) => python).join(' ')}`,
      `ts_types: ${ARRIVES.map(([, , , typescript]) => typescript).join(' ')}`,
    ])
  })
})

describe('numbers for a numeric column', () => {
  it('are written without an exponent, which not every target reads', async () => {
    const tasks = await someTasks({
      'python/numbers.py': `from decimal import Decimal
from vitrina import task
VALUES = [1e-7, -1.5e22, Decimal("100").normalize(), "1E+2", Decimal("-1.20E-3")]
@task("py_numbers")
def py_numbers(rows): return [{"n": value} for value in VALUES]`,
      'typescript/numbers.ts': `import { task } from 'vitrina'
task('ts_numbers', () => [1e-7, -1.5e22, 1e2, '1E+2', '-1.20E-3'].map((n) => ({ n })))`,
    })
    for (const name of ['py_numbers', 'ts_numbers'])
      expect(await tasks.run(name, columnsOf('n numeric'), [['1']])).toEqual([
        ['0.0000001'],
        ['-15000000000000000000000'],
        ['100'],
        ['100'],
        ['-0.00120'],
      ])
  })
})
