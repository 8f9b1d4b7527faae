import type { Client } from 'pg'
import { beforeAll, describe, expect, it } from 'vitest'
import { aDatabase } from '../../tests/support/database.js'
import { createCinemaSchema, generate, loadSample, TABLE_NAMES } from './index.js'
import { countRows } from './schema.js'

const SMALL = { films: 60, ratings: 1500, seed: 7 }
/** More than 20,000 ratings: loaded without indexes, which then come back. */
const LARGE = { films: 300, ratings: 25_000, seed: 7 }

async function anEmptyDatabase(): Promise<Client> {
  return (await aDatabase({ migrated: false })).client()
}

/** One hash a table, over all rows in the order of their ids. */
async function signature(client: Client): Promise<Record<string, string>> {
  const hashes = TABLE_NAMES.map(
    (table) => `(SELECT md5(string_agg(r::text, E'\\n' ORDER BY r.id)) FROM ${table} r) AS "${table}"`,
  )
  await client.query(`SET timezone = 'UTC'`)
  return (await client.query(`SELECT ${hashes.join(', ')}`)).rows[0]
}

async function numberOf(client: Client, query: string): Promise<number> {
  return Number((await client.query(`SELECT count(*) FROM (${query}) q`)).rows[0].count)
}

/** Rows of ugc that reference a missing film or user: no foreign key protects them. */
async function strays(client: Client): Promise<number> {
  const tables = ['ratings', 'reviews', 'likes', 'views'].map(
    (table) => `SELECT 1 FROM ugc.${table} t
      WHERE NOT EXISTS (SELECT FROM content.film_work f WHERE f.id = t.film_id)
         OR NOT EXISTS (SELECT FROM auth.users u WHERE u.id = t.user_id)`,
  )
  return numberOf(client, tables.join(' UNION ALL '))
}

/** Keys, indexes, checks and triggers, by name and text. */
async function rules(client: Client): Promise<string[]> {
  const { rows } = await client.query(`
    SELECT conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) AS rule
      FROM pg_constraint WHERE connamespace IN ('content'::regnamespace, 'ugc'::regnamespace, 'auth'::regnamespace)
    UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname IN ('content', 'ugc', 'auth')
    UNION ALL SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
    ORDER BY 1`)
  return rows.map(({ rule }) => rule)
}

describe('the sample (R1.1, R1.5)', () => {
  let client: Client
  beforeAll(async () => {
    client = await anEmptyDatabase()
    await loadSample(client)
  })

  it('has the size that the demo expects', async () => {
    expect(await countRows(client)).toMatchObject({
      'content.film_work': 71,
      'content.genre': 14,
      'content.person': 289,
      'auth.users': 200,
      'ugc.ratings': 4000,
      'ugc.reviews': 400,
      'ugc.likes': 1500,
      'ugc.views': 5000,
    })
  })

  it('has the films of both space sagas', async () => {
    const { rows } = await client.query(`SELECT title FROM content.film_work WHERE type = 'movie'`)
    const titles: string[] = rows.map(({ title }) => title)
    expect(titles.filter((title) => /^Star Wars: Episode [IVX]+ - /.test(title))).toHaveLength(9)
    expect(titles.filter((title) => title.startsWith('Star Trek'))).toHaveLength(13)
    expect(titles).toEqual(expect.arrayContaining(['Solaris', 'Stalker', 'Кин-дза-дза!', 'WALL·E']))
  })

  it('gives every film a genre, a director and an actor, and has no dangling references', async () => {
    const poor = `SELECT FROM content.film_work f
      WHERE NOT EXISTS (SELECT FROM content.genre_film_work g WHERE g.film_work_id = f.id)
         OR 2 > (SELECT count(DISTINCT role) FROM content.person_film_work p
                  WHERE p.film_work_id = f.id AND role IN ('director', 'actor'))`
    expect(await numberOf(client, poor)).toBe(0)
    expect(await strays(client)).toBe(0)
  })

  it('changes nothing when it is loaded again', async () => {
    const before = await signature(client)
    const counts = await loadSample(client)
    expect(await signature(client)).toEqual(before)
    expect(counts).toEqual(await countRows(client))
  })

  it('is loaded once when two processes start together', async () => {
    const database = await aDatabase({ migrated: false })
    const [one, two] = [await database.client(), await database.client()]
    const [first, second] = await Promise.all([loadSample(one), loadSample(two)])
    expect(second).toEqual(first)
    expect(await signature(one)).toEqual(await signature(client))
  })
})

describe('a generated cinema (R1.5)', () => {
  it('has exactly the requested films and ratings', async () => {
    const client = await anEmptyDatabase()
    const added = await generate(client, SMALL)
    expect(added).toMatchObject({ 'content.film_work': 60, 'ugc.ratings': 1500 })
    expect(await countRows(client)).toEqual(added)
    expect(await strays(client)).toBe(0)
  })

  it('is the same for the same seed and different for another seed', async () => {
    const [one, two] = [await anEmptyDatabase(), await anEmptyDatabase()]
    await generate(one, LARGE)
    await generate(two, LARGE)
    const first = await signature(one)
    expect(await signature(two)).toEqual(first)
    await generate(two, { ...LARGE, seed: 8, replace: true })
    const other = await signature(two)
    expect(TABLE_NAMES.filter((table) => other[table] === first[table])).toEqual(['content.genre'])
  })

  it('keeps every key, index, check and trigger through a large load', async () => {
    const client = await anEmptyDatabase()
    await createCinemaSchema(client)
    const before = await rules(client)
    await generate(client, LARGE)
    expect(await rules(client)).toEqual(before)
  })

  it('has at most one rating of a film by a user', async () => {
    const client = await anEmptyDatabase()
    await generate(client, { films: 7, users: 9, ratings: 63, seed: 1 })
    expect(await numberOf(client, 'SELECT DISTINCT film_id, user_id FROM ugc.ratings')).toBe(63)
  })

  it('has popular films, and dates that lie in the past and in order', async () => {
    const client = await anEmptyDatabase()
    await generate(client, LARGE)
    const { rows } = await client.query(
      'SELECT count(*)::int AS n FROM ugc.ratings GROUP BY film_id ORDER BY 1',
    )
    expect(rows.at(-1).n).toBeGreaterThan(10 * rows[Math.floor(rows.length / 4)].n)
    const odd = `SELECT FROM ugc.ratings WHERE modified < created OR modified >= '2026-01-01Z'`
    expect(await numberOf(client, odd)).toBe(0)
  })

  it('is added to the sample, and refuses to be added twice', async () => {
    const client = await anEmptyDatabase()
    await loadSample(client)
    await generate(client, SMALL)
    const before = await countRows(client)
    expect(before['content.film_work']).toBe(71 + 60)
    await expect(generate(client, SMALL)).rejects.toMatchObject({
      code: 'REQUEST_INVALID',
      message: expect.stringContaining('seed 7'),
    })
    expect(await countRows(client)).toEqual(before)
  })

  it.each([{ films: 0 }, { films: 2, users: 5, ratings: 11 }, { seed: -1 }, { ratings: 1.5 }])(
    'refuses %o before it touches the database',
    async (wrong) => {
      const client = await anEmptyDatabase()
      await expect(generate(client, { ...SMALL, ...wrong })).rejects.toMatchObject({
        code: 'REQUEST_INVALID',
      })
      expect(await numberOf(client, `SELECT FROM pg_namespace WHERE nspname = 'content'`)).toBe(0)
    },
  )

  it('leaves nothing behind when it is aborted', async () => {
    const client = await anEmptyDatabase()
    const abort = new AbortController()
    const breakOff = ({ table }: { table: string }) => {
      if (table === 'ugc.ratings') abort.abort()
    }
    await expect(generate(client, { ...LARGE, signal: abort.signal }, breakOff)).rejects.toThrow('aborted')
    expect(Object.values(await countRows(client)).every((count) => count === 0)).toBe(true)
  })
})

describe('the schema', () => {
  it('moves `modified` with an update, but not when the update sets it', async () => {
    const client = await anEmptyDatabase()
    await loadSample(client)
    const update = async (set: string) =>
      (await client.query(`UPDATE ugc.ratings SET ${set} RETURNING modified = now() AS touched`)).rows[0]
        .touched
    expect(await update('rating = 5')).toBe(true)
    expect(await update(`modified = '2020-01-01Z'`)).toBe(false)
  })
})
