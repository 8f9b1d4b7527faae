import { Readable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aDatabase, type TestDatabase } from '../../tests/support/database.js'
import { columnsOfTexts, someTasks } from '../../tests/support/tasks.js'
import { PASS_ON, TYPES } from '../../tests/support/value-types.js'
import { Session } from '../postgres/session.js'
import { RowBatch } from '../sql/row-batch.js'

const FILES = {
  'python/pass.py': PASS_ON,
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
  return columnsOfTexts(...types.map(({ type }, n) => `c${n} ${type}`))
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
  it('are returned byte for byte if the function did not change them, in any row', async () => {
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
    expect(tasks.output).toEqual([
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
      expect(await tasks.run(name, columnsOfTexts('n numeric'), [['1']])).toEqual([
        ['0.0000001'],
        ['-15000000000000000000000'],
        ['100'],
        ['100'],
        ['-0.00120'],
      ])
  })
})
