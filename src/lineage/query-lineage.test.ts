import { describe, expect, it } from 'vitest'
import { parseSql } from '../guard/index.js'
import type { QueryLineage } from '../model/lineage.js'
import { lineageOf } from './query-lineage.js'

const COLUMNS: Readonly<Record<string, readonly string[]>> = {
  'content.film_work': ['id', 'title', 'rating', 'modified'],
  'content.genre': ['id', 'name'],
  'ugc.ratings': ['id', 'film_id', 'rating'],
}

async function read(sql: string): Promise<QueryLineage> {
  const parsed = await parseSql(sql)
  if (parsed.kind !== 'tree') throw new Error(`${parsed.kind}: ${sql}`)
  return lineageOf(
    sql,
    parsed.statements[0]!.stmt as never,
    (schema, table) => COLUMNS[`${schema}.${table}`] ?? null,
  )
}

/** `name kind [sources] expression`, as one line. */
async function described(sql: string): Promise<string[]> {
  const { columns } = await read(sql)
  return columns.map(({ name, kind, sources, expression, reason }) => {
    const from = sources.map(({ schema, table, column }) => `${schema}.${table}.${column}`)
    return [name, kind, `[${from.join(' ')}]`, reason ?? expression ?? ''].join(' ').trim()
  })
}

describe('how a column is computed', () => {
  it('is shown with the names of the sources in place of aliases', async () => {
    const sql = `
      SELECT f.id AS film_id, upper(f.title) || '!' shout, avg(r.rating) AS rating, count(*) AS votes, 'x' AS mark
        FROM content.film_work f LEFT JOIN ugc.ratings r ON r.film_id = f.id GROUP BY f.id`
    expect(await described(sql)).toEqual([
      'film_id direct [content.film_work.id]',
      "shout expression [content.film_work.title] upper(content.film_work.title) || '!'",
      'rating aggregate [ugc.ratings.rating] avg(ugc.ratings.rating)',
      'votes aggregate [] count(*)',
      "mark constant [] 'x'",
    ])
  })

  it('goes through subqueries and WITH, including what they compute', async () => {
    const sql = `
      WITH score AS (SELECT film_id, avg(rating) AS mean FROM ugc.ratings GROUP BY 1)
      SELECT f.title, coalesce(s.mean, 0) AS rating, s.mean + f.rating AS mixed
        FROM content.film_work f LEFT JOIN score s ON s.film_id = f.id`
    expect(await described(sql)).toEqual([
      'title direct [content.film_work.title]',
      'rating aggregate [ugc.ratings.rating] coalesce(avg(ugc.ratings.rating), 0)',
      'mixed aggregate [ugc.ratings.rating content.film_work.rating] avg(ugc.ratings.rating) + content.film_work.rating',
    ])
  })

  it('takes both sides of a UNION, and only the left one of an EXCEPT', async () => {
    expect(
      await described('SELECT title FROM content.film_work UNION SELECT name FROM content.genre'),
    ).toEqual(['title direct [content.film_work.title content.genre.name]'])
    const except = 'SELECT id FROM content.film_work EXCEPT SELECT film_id FROM ugc.ratings'
    expect(await described(except)).toEqual(['id direct [content.film_work.id]'])
    expect((await read(except)).shaping).toMatchObject([
      { column: 'id', uses: ['filter'] },
      { column: 'film_id', uses: ['filter'] },
    ])
  })

  it('keeps comments and quotes of the text apart', async () => {
    const sql = `SELECT title || ' -- no,  comment' /* but, this */ || $q$, FROM$q$ -- and this
      AS t, "rating" IS DISTINCT FROM 5 AS d, 'кино' || title AS k FROM content.film_work`
    expect((await read(sql)).columns.map(({ expression }) => expression)).toEqual([
      "content.film_work.title || ' -- no,  comment' || $q$, FROM$q$",
      'content.film_work.rating IS DISTINCT FROM 5',
      "'кино' || content.film_work.title",
    ])
  })

  it('reports which columns determine the rows', async () => {
    const sql = `SELECT f.title FROM content.film_work f JOIN ugc.ratings r ON r.film_id = f.id
      WHERE f.modified > now() GROUP BY f.title ORDER BY max(r.rating)`
    expect((await read(sql)).shaping.map(({ column, uses }) => `${column} ${uses}`)).toEqual([
      'film_id join',
      'id join',
      'modified filter',
      'title group',
      'rating sort',
    ])
  })
})

describe('what cannot be determined', () => {
  it('is unresolved with the reason, and the rest is resolved', async () => {
    const sql =
      'SELECT f.title, note, m.text, upper(note) AS n FROM content.film_work f, content.mystery m ORDER BY 1'
    const unknown = 'the columns of content.mystery are not known'
    expect(await described(sql)).toEqual([
      'title direct [content.film_work.title]',
      `note unresolved [] ${unknown}`,
      'text direct [content.mystery.text]',
      `n unresolved [] ${unknown}`,
    ])
  })

  it('leaves the list of columns open where the width of a star is unknown', async () => {
    expect(await read('SELECT 1 AS one, m.* FROM content.mystery m')).toMatchObject({
      columns: [{ name: 'one' }],
      open: 'the columns of content.mystery are not known',
    })
    // Which of them would be the second?
    expect(await described('SELECT b FROM (SELECT m.*, 1 AS one FROM content.mystery m) s(a, b)')).toEqual([
      'b unresolved [] the columns of content.mystery are not known',
    ])
  })

  it.each([
    ['nope', 'SELECT nope FROM content.genre'],
    ['other.id', 'SELECT other.id FROM content.genre'],
    ['ambiguous', 'SELECT id FROM content.genre, content.film_work'],
    ['has no column', 'SELECT g.nope FROM content.genre g'],
    ['is not known', 'SELECT x FROM missing'],
  ])('as in %s of a query that the server would refuse', async (reason, sql) => {
    expect((await read(sql)).columns).toMatchObject([
      { kind: 'unresolved', sources: [], reason: expect.stringContaining(reason) },
    ])
  })

  it('rejects a query that grows with every line or is nested too deeply', async () => {
    const doubling = Array.from(
      { length: 24 },
      (_, n) => `, t${n + 1} AS (SELECT a.*, b.* FROM t${n} a, t${n} b)`,
    )
    const grows = `WITH t0 AS (SELECT * FROM content.genre)${doubling.join('')} SELECT * FROM t24`
    const sums = Array.from({ length: 60 }, (_, n) => `, s${n + 1} AS (SELECT x + x AS x FROM s${n})`)
    const deep = `SELECT ${'('.repeat(150)}SELECT title FROM content.film_work LIMIT 1${')'.repeat(150)} AS t`
    expect((await read(grows)).open).toMatch(/too long or nested too deeply/)
    const [sum] = (
      await read(`WITH s0 AS (SELECT rating AS x FROM ugc.ratings)${sums.join('')} SELECT x FROM s60`)
    ).columns
    expect(sum).toMatchObject({ kind: 'expression', sources: [{ column: 'rating' }] })
    expect(sum!.expression!.length).toBeLessThan(700)
    expect((await read(deep)).columns).toMatchObject([{ sources: [{ column: 'title' }] }])
  })
})
