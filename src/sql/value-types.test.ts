import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aDatabase, type TestDatabase } from '../../tests/support/database.js'
import { formatArray, parseArray, valueType } from './value-types.js'

describe('valueType', () => {
  it.each([
    ['integer', { kind: 'int4' }],
    ['numeric', { kind: 'numeric', precision: null, scale: null }],
    ['numeric(10,2)', { kind: 'numeric', precision: 10, scale: 2 }],
    ['numeric(5)', { kind: 'numeric', precision: 5, scale: 0 }],
    ['timestamp(3) with time zone', { kind: 'timestamptz' }],
    ['character varying(20)', { kind: 'text' }],
    ['interval(3)', { kind: 'interval' }],
    ['content.mood', { kind: 'other' }],
    ['bigint[]', { kind: 'array', of: { kind: 'int8' } }],
    ['numeric(8,3)[]', { kind: 'array', of: { kind: 'numeric', precision: 8, scale: 3 } }],
  ])('reads %s', (type, expected) => {
    expect(valueType(type)).toEqual(expected)
  })
})

describe('arrays', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await aDatabase()
  })
  afterAll(() => database.drop?.())

  it.each([
    ["ARRAY['a', NULL, 'NULL', 'null', '', ' ', 'a,b', '{', '}', '\"', '\\', E'new\\nline', 'ключ']"],
    ["ARRAY[ARRAY['1', '2'], ARRAY['3', NULL]]"],
    ["'[5:6]={x,y}'::text[]"],
    ["'{}'::text[]"],
  ])('reads %s as the database means it, and writes it back', async (sql) => {
    const [row] = await database.query<{ text: string; json: unknown }>(
      `SELECT (${sql})::text AS text, to_json(${sql}) AS json`,
    )
    expect(parseArray(row!.text)).toEqual(row!.json)
    const [again] = await database.query<{ same: boolean }>(
      `SELECT to_json($1::text[])::text = to_json(${sql})::text AS same`,
      [formatArray(parseArray(row!.text))],
    )
    expect(again!.same).toBe(true)
  })
})
