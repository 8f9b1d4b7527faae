import { describe, expect, it } from 'vitest'
import { aDatabase } from '../../../tests/support/database.js'
import { Session } from '../../postgres/session.js'
import { describeQuery, planFacts } from '../../sources/postgres/describe.js'
import type { Examined } from '../examine.js'
import { cutRanges, queryOfRange, rangeOrder } from './key-ranges.js'

/** Keys of a table that is mostly old, with a long thin tail: ranges of equal width would have all rows but a few in one. */
const SKEWED = 'CASE WHEN n % 1000 = 0 THEN n * 1000000::bigint ELSE n END'

async function rangesOf(setup: string, key: readonly string[], { rows }: { rows?: number } = {}) {
  const database = await aDatabase({ migrated: false })
  await database.query(`CREATE SCHEMA content; ${setup}; ANALYZE content.t`)
  const session = await Session.open(database.url, 'test', new AbortController().signal)
  const query = 'SELECT * FROM content.t'
  const columns = await describeQuery(session, query)
  const order = { columns: key.map((name) => columns.find((column) => column.name === name)!) }
  const facts = await planFacts(session, query)
  const examined = {
    query,
    columns,
    order,
    facts: { ...facts, rows: rows ?? facts.rows },
  } as unknown as Examined
  const ranges = await cutRanges(session, examined, 4)
  const counts: number[] = []
  for (const range of ranges) {
    const [row] = await session.rows(
      `SELECT count(*) AS n FROM (${queryOfRange(examined, rangeOrder(examined), range)}) AS part`,
    )
    counts.push(Number(row!.n))
  }
  await session.close()
  return { ranges, counts, total: counts.reduce((a, b) => a + b, 0) }
}

describe('ranges of keys', () => {
  it.each([
    ['skewed integers', `SELECT ${SKEWED} AS a FROM generate_series(1, 40000) AS n`, ['a'], 'a'],
    ['uuid', 'SELECT md5(n::text)::uuid AS a FROM generate_series(1, 40000) AS n', ['a'], 'a'],
    ['text', "SELECT repeat('я', n % 7) || n AS a FROM generate_series(1, 40000) AS n", ['a'], 'a'],
    [
      'timestamps',
      "SELECT now() + n * n * interval '1 second' AS a FROM generate_series(1, 40000) AS n",
      ['a'],
      'a',
    ],
    [
      'two columns, the first with few values',
      'SELECT n % 3 AS a, n AS b FROM generate_series(1, 40000) AS n',
      ['a', 'b'],
      'a, b',
    ],
  ] as const)('of %s have about the same number of rows', async (_, select, key, primary) => {
    const setup = `CREATE TABLE content.t AS ${select}; ALTER TABLE content.t ADD PRIMARY KEY (${primary})`
    const { counts, total } = await rangesOf(setup, key)
    expect(total).toBe(40_000)
    for (const count of counts) expect(Math.abs(count - 10_000)).toBeLessThan(500)
  })

  it('are found in a sample of a large table', async () => {
    const setup = `CREATE TABLE content.t AS SELECT ${SKEWED} AS a FROM generate_series(1, 400000) AS n; ALTER TABLE content.t ADD PRIMARY KEY (a)`
    const { counts, total } = await rangesOf(setup, ['a'])
    expect(total).toBe(400_000)
    for (const count of counts) expect(Math.abs(count - 100_000)).toBeLessThan(30_000)
  })

  it('contain rows whose key is NULL once', async () => {
    const setup = `CREATE TABLE content.t AS SELECT nullif(n % 10, 3) + n * 10 AS a, n AS b FROM generate_series(1, 1000) AS n`
    const { counts, total } = await rangesOf(setup, ['a', 'b'])
    expect(counts).toHaveLength(4)
    expect(total).toBe(1_000)
  })

  it('are fewer if there are fewer keys', async () => {
    const setup = 'CREATE TABLE content.t AS SELECT n % 2 AS a FROM generate_series(1, 1000) AS n'
    const { ranges, total } = await rangesOf(setup, ['a'])
    expect(ranges.length).toBeLessThan(4)
    expect(total).toBe(1_000)
    expect((await rangesOf('CREATE TABLE content.t (a integer)', ['a'])).ranges).toEqual([
      { lo: null, hi: null },
    ])
  })
})
