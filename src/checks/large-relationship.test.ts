import { beforeAll, describe, expect, it } from 'vitest'
import { aDatabase, type TestDatabase } from '../../tests/support/database.js'
import type { Check } from '../model/check.js'
import type { QueryGuard } from '../ports/query-guard.js'
import { compileChecks, type RowCheck } from './compile-checks.js'
import { failingRows, guardedRelation, isCheckFailure } from './row-checker.js'

let database: TestDatabase
beforeAll(async () => {
  database = await aDatabase()
  await database.query(`
    CREATE SCHEMA content;
    CREATE TABLE content.large (id integer PRIMARY KEY, plain integer);
    INSERT INTO content.large SELECT n, n FROM generate_series(1, 250000) n;
    CREATE TABLE content.small (id integer PRIMARY KEY);
    INSERT INTO content.small SELECT generate_series(1, 1000);
    CREATE TABLE content.parts (id integer PRIMARY KEY, n integer) PARTITION BY RANGE (id);
    CREATE TABLE content.parts_1 PARTITION OF content.parts FOR VALUES FROM (0) TO (200000);
    CREATE TABLE content.parts_2 PARTITION OF content.parts DEFAULT;
    INSERT INTO content.parts SELECT n, n FROM generate_series(1, 250000) n;
    CREATE TABLE content.batch (id integer PRIMARY KEY, large_id integer);
    INSERT INTO content.batch SELECT n, CASE WHEN n % 10 > 0 THEN n % 50 + 1 END FROM generate_series(1, 1000) n;
    ANALYZE content.large; ANALYZE content.small; ANALYZE content.parts; ANALYZE content.batch`)
})

async function compiled(to: string, column = 'id'): Promise<RowCheck> {
  const check: Check = {
    ...{
      name: 'related',
      type: 'relationship',
      column: 'large_id',
      to,
      to_column: column,
      on_failure: 'fail',
    },
  }
  const session = {
    rows: async (sql: string, values: readonly unknown[] = []) => {
      const rows = await database.query(sql, [...values])
      return rows.map((row) =>
        Object.fromEntries(Object.entries(row).map(([k, v]) => [k, v === null ? null : String(v)])),
      )
    },
  }
  const columns = ['id', 'large_id'].map((name) => ({ name, type: 'integer' }))
  const { rows } = await compileChecks(
    session as never,
    { checks: [check], columns },
    {
      guard: {} as QueryGuard,
      targets: { tables: [], kinds: [] },
      sourceSchemas: ['content'],
      isTable: true,
    },
  )
  return rows[0]!
}

async function planOf(one: RowCheck): Promise<string> {
  const relation = guardedRelation('(SELECT * FROM content.batch) AS batch', [one], ['id'])
  const rows = await database.query<{ 'QUERY PLAN': string }>(`EXPLAIN (COSTS OFF) SELECT * FROM ${relation}`)
  return rows.map((row) => row['QUERY PLAN']).join('\n')
}

describe('a relationship', () => {
  it.each(['content.large', 'content.parts'])(
    'with the large table %s does not read all of it for each batch',
    async (to) => {
      const plan = await planOf(await compiled(to))
      expect(plan).not.toMatch(/Seq Scan on (large|parts)/)
      expect(plan).toMatch(/Index (Only )?Scan/)
      // The rows come in the order of their key: no sort is needed before they are written.
      expect(plan).not.toContain('Sort')
    },
  )

  it.each([
    ['a small table', 'content.small', 'id'],
    ['a column without an index', 'content.large', 'plain'],
  ])('with %s is one pass over it', async (_, to, column) => {
    expect((await compiled(to, column)).condition.lookup).toBeNull()
  })

  it('finds the same rows either way: NULL passes, other values must exist', async () => {
    const one = await compiled('content.large')
    expect(one.condition.lookup).not.toBeNull()
    const failing = () =>
      database.query(`SELECT batch.id FROM ${failingRows(one, 'content.batch AS batch')} ORDER BY 1`)
    expect(await failing()).toEqual([])
    await database.query('UPDATE content.batch SET large_id = 250001 WHERE id IN (3, 7)')
    expect(await failing()).toEqual([{ id: 3 }, { id: 7 }])
    const guarded = guardedRelation('content.batch AS batch', [one], ['id'])
    const error = await database.query(`SELECT count(*) FROM ${guarded}`).catch((raised: unknown) => raised)
    expect(isCheckFailure(error)).toBe(true)
  })
})
