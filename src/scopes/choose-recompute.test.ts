import { afterAll, beforeAll, expect, it } from 'vitest'
import { aDatabase } from '../../tests/support/database.js'
import { Session } from '../postgres/session.js'
import { LAB, LAB_ROWS } from './corpus/lab.js'
import {
  chooseRecompute,
  keyQueryCost,
  MOST_LOG_ENTRIES,
  readQueryFacts,
  type Traced,
  traceScopes,
} from './index.js'

let session: Session

beforeAll(async () => {
  const database = await aDatabase({ migrated: false })
  await database.query(LAB + LAB_ROWS)
  await database.query('VACUUM ANALYZE')
  session = await Session.open(database.url, 'vitrina-choice', new AbortController().signal)
})
afterAll(() => session.close())

async function traced(sql: string, ...key: string[]): Promise<Traced> {
  const found = traceScopes(await readQueryFacts(session, sql), key)
  if (!found.traced) throw new Error(found.reason)
  return found
}

const STATS = 'SELECT f.id, count(*) AS n FROM lab.film f JOIN lab.rating r ON r.film_id = f.id GROUP BY f.id'
const ids = (count: number) => Array.from({ length: count }, (_, place) => String(place + 1))

it('chooses an incremental query for a few scopes and runs it with their values', async () => {
  const { recompute } = await traced(STATS, 'id')
  const choice = await chooseRecompute(session, recompute, { scopes: [ids(3)], entries: 3, keyQueryCost: 0 })
  expect(choice.way).not.toBe('full')
  expect(choice.costs.full).toBeGreaterThan(10 * choice.costs[choice.way]!)
  expect(await session.rows(choice.text, choice.values)).toHaveLength(3)
})

it('chooses LATERAL if the planner cannot push an array into a WITH query', async () => {
  const sql = `WITH r AS (SELECT film_id, avg(stars) AS a FROM lab.rating GROUP BY film_id) SELECT f.id, r.a FROM lab.film f JOIN r ON r.film_id = f.id`
  const { recompute } = await traced(sql, 'id')
  const choice = await chooseRecompute(session, recompute, { scopes: [ids(3)], entries: 3, keyQueryCost: 0 })
  expect(choice.way).toBe('lateral')
})

it('chooses the full query if nearly every scope is affected', async () => {
  const { recompute } = await traced(STATS, 'id')
  const choice = await chooseRecompute(session, recompute, {
    scopes: [ids(10_000)],
    entries: 10_000,
    keyQueryCost: 100,
  })
  expect(choice.way).toBe('full')
  expect(choice.values).toEqual([])
})

it('chooses the full query if the key queries alone cost more', async () => {
  const { recompute } = await traced(STATS, 'id')
  const choice = await chooseRecompute(session, recompute, {
    scopes: [ids(3)],
    entries: 3,
    keyQueryCost: 1e9,
  })
  expect(choice.way).toBe('full')
})

it('does not ask the planner beyond the limit of entries', async () => {
  const { recompute } = await traced(STATS, 'id')
  const choice = await chooseRecompute(session, recompute, {
    scopes: [ids(3)],
    entries: MOST_LOG_ENTRIES + 1,
    keyQueryCost: 0,
  })
  expect(choice).toMatchObject({ way: 'full', costs: {} })
})

it('estimates a low cost for a key query with an index, although it joins old images', async () => {
  const sql =
    'SELECT p.id, count(*) AS n FROM lab.person p JOIN lab.film_person fp ON fp.person_id = p.id JOIN lab.film f ON f.id = fp.film_id GROUP BY p.id'
  const { tables } = await traced(sql, 'id')
  const [film] = tables.find(({ table }) => table.table === 'film')!.occurrences
  if (film?.traced !== true) throw new Error('film is not traced')
  const values = film.keyQuery.parameters.map(({ images }) => (images === 'changed' ? ['1'] : []))
  const scan = JSON.parse(
    (await session.rows('EXPLAIN (FORMAT JSON) SELECT * FROM lab.film_person'))[0]!['QUERY PLAN']!,
  )
  expect(await keyQueryCost(session, film.keyQuery, values)).toBeLessThan(scan[0].Plan['Total Cost'] / 5)
})
