import { expect, it } from 'vitest'
import { aDatabase } from '../../../tests/support/database.js'
import { Session } from '../../postgres/session.js'
import { describeQuery } from '../../sources/postgres/describe.js'
import { NO_WATERMARK, type Progression } from '../progression.js'
import { LoadedPages } from './paged.js'

const WHOLE: Progression = {
  after: null,
  unfinished: false,
  beforeRead: async () => NO_WATERMARK,
  moved: () => Promise.reject(new Error('not used')),
}

/** How many rows and bytes each portion of a table has, and the keys of all of them. */
async function portionsOf(rows: string, limit: number, batchBytes: number) {
  const database = await aDatabase({ migrated: false })
  await database.query(
    `CREATE SCHEMA content; CREATE TABLE content.t AS ${rows}; CREATE INDEX ON content.t (id)`,
  )
  const source = await Session.open(database.url, 'test', new AbortController().signal)
  const query = 'SELECT id, body FROM content.t'
  const columns = await describeQuery(source, query)
  const order = { columns: [columns[0]!] }
  const reader = new LoadedPages(
    { source, query, columns, order, relations: ['content.t'] },
    WHOLE,
    batchBytes,
  )
  const portions: { count: number; bytes: number }[] = []
  const keys: string[] = []
  for (let portion = await reader.next(limit); portion !== null; portion = await reader.next(limit)) {
    portions.push({ count: portion.count!, bytes: portion.rows.bytes.length })
    keys.push(...portion.rows.rows.map(([id]) => id!))
    expect(portion.rows.count).toBe(portion.count)
    expect(portion.isLast).toBe(keys.length === 1000)
  }
  await source.close()
  return { portions, keys }
}

const EACH_ONCE = Array.from({ length: 1000 }, (_, n) => String(n + 1))
const body = (width: string) =>
  `SELECT n AS id, repeat('x', ${width}) AS body FROM generate_series(1, 1000) AS n`

it('a page that is larger than a batch in memory is read again as several', async () => {
  for (const width of [
    '1000',
    'CASE WHEN n > 500 THEN 1000 ELSE 1 END',
    'CASE WHEN n > 990 THEN 30000 ELSE 1 END',
  ]) {
    const { portions, keys } = await portionsOf(body(width), 1000, 50_000)
    expect(keys).toEqual(EACH_ONCE)
    for (const { bytes, count } of portions) expect(count === 1 || bytes <= 100_000).toBe(true)
    expect(portions.length).toBeLessThan(60)
  }
})

it('rows that are small are read in pages of the wanted size', async () => {
  const { portions, keys } = await portionsOf(body('1'), 400, 50_000)
  expect(keys).toEqual(EACH_ONCE)
  expect(portions.map(({ count }) => count)).toEqual([400, 400, 200])
})

it('rows with the same key are one page, however large', async () => {
  const { portions, keys } = await portionsOf(
    "SELECT CASE WHEN n > 500 THEN 501 ELSE n END AS id, repeat('x', 1000) AS body FROM generate_series(1, 1000) AS n",
    1000,
    50_000,
  )
  expect(keys).toEqual([...EACH_ONCE.slice(0, 500), ...Array(500).fill('501')])
  expect(portions.at(-1)!.count).toBeGreaterThanOrEqual(500)
})
