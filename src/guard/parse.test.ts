import { describe, expect, it } from 'vitest'
import { checkQueryText } from './parse.js'

const RULES = { sourceSchemas: ['content', 'ugc'] }

async function problems(sql: string) {
  const verdict = await checkQueryText(sql, RULES)
  return verdict.ok ? [] : verdict.problems
}

describe('checkText', () => {
  it('names every table once, in the order of the text', async () => {
    const sql = 'WITH g AS (SELECT 1 AS a) SELECT * FROM ugc.likes, g,\n content.genre x, content.genre y'
    expect(await checkQueryText(sql, RULES)).toEqual({
      ok: true,
      relations: [
        { schema: 'ugc', table: 'likes', position: { offset: 40, line: 1, column: 41 } },
        { schema: 'content', table: 'genre', position: { offset: 55, line: 2, column: 2 } },
      ],
    })
  })

  it('reports all problems at once, each with its place', async () => {
    const found = await problems('SELECT pg_sleep(1),\n  version()\nFROM auth.users, film_work')
    expect(found.map(({ position, message }) => [position?.line, position?.column, message])).toEqual([
      [1, 8, 'pg_sleep() may not be called: it only makes the server wait.'],
      [2, 3, 'version() may not be called: it shows the server or the session, not data.'],
      [3, 6, 'auth.users may not be read.'],
      [3, 18, '"film_work" is neither a WITH query nor a table with its schema.'],
    ])
    expect(found[2]?.hint).toBe(
      'A source query may read content.* and ugc.*: ALLOWED_SOURCE_SCHEMAS=content,ugc.',
    )
    expect(found[3]?.hint).toBe('Write schema.table, for example content.film_work.')
  })

  it('counts characters, not bytes, before a place', async () => {
    const [refused] = await problems("SELECT '😀 кино', version()")
    expect(refused?.position).toEqual({ offset: 18, line: 1, column: 18 })
    const [wrong] = await problems("SELECT '😀 кино',\n 'é' x y")
    expect(wrong).toMatchObject({ code: 'SOURCE_QUERY_FAILED', position: { line: 2, column: 8 } })
  })

  it('points at the second of two statements', async () => {
    const [problem] = await problems('SELECT 1 AS a;\n\n  DELETE FROM content.genre')
    expect(problem).toMatchObject({
      message: 'The text contains 2 statements.',
      position: { line: 3, column: 3 },
    })
  })

  it('points at the table that would be written or locked', async () => {
    const places = await Promise.all(
      [
        'SELECT id\n  INTO content.copy FROM content.genre',
        'SELECT id FROM (\n  SELECT id FROM content.genre FOR UPDATE) s',
        'SELECT id FROM content.genre, ugc.likes l\n FOR SHARE OF l',
      ].map(async (sql) => (await problems(sql))[0]?.position),
    )
    expect(places.map((place) => [place?.line, place?.column])).toEqual([
      [2, 8],
      [2, 18],
      [2, 15],
    ])
  })

  it('places thousands of tables as fast as one', async () => {
    const tables = Array.from({ length: 1_900 }, (_, n) => `ugc."é${n}"`)
    const verdict = await checkQueryText(
      `SELECT 1 AS a FROM\n${tables.join(',\n')}${' '.repeat(200_000)}`,
      RULES,
    )
    const lines = verdict.ok ? verdict.relations.map(({ position }) => position.line) : []
    expect(lines).toEqual(tables.map((_, n) => n + 2))
  })

  it('reports an invisible character that was pasted from a document', async () => {
    const [problem] = await problems('SELECT id\u00a0FROM content.genre x y')
    expect(problem?.hint).toContain('U+00A0')
  })

  it('reads no system schema even when it is allowed', async () => {
    const rules = { sourceSchemas: ['pg_catalog', 'information_schema', 'pg_temp'] }
    for (const table of ['pg_catalog.pg_authid', 'information_schema.tables', 'pg_temp.x', 'pg_authid'])
      expect(await checkQueryText(`SELECT * FROM ${table}`, rules)).toMatchObject({ ok: false })
  })

  it('rejects everything when nothing is allowed, and still computes', async () => {
    expect(await checkQueryText('SELECT * FROM content.genre', { sourceSchemas: [] })).toMatchObject({
      ok: false,
    })
    expect(await checkQueryText('SELECT 1 AS a', { sourceSchemas: [] })).toMatchObject({ ok: true })
  })
})

describe('the parser', () => {
  it('keeps working after texts that overflow its stack', async () => {
    // Without a fresh thread each time, the 29th of them breaks the parser for everybody.
    for (let time = 0; time < 40; time++) {
      const sql = `SELECT 1${'+1'.repeat(20_000)}, ${time}`
      expect((await problems(sql))[0]?.message).toContain('nested too deeply')
    }
    expect(await checkQueryText('SELECT id FROM content.genre', RULES)).toMatchObject({ ok: true })
  })

  it('rejects a text whose tree would keep the event loop busy', async () => {
    const constants = (count: number) => `SELECT ${'1,'.repeat(count)}1`
    expect((await problems(constants(120_000)))[0]?.message).toContain('too large')
    expect(await problems(constants(60_000))).toEqual([])
  })

  it('checks many texts at once, each with its own result', async () => {
    const texts = Array.from({ length: 50 }, (_, n) =>
      n % 2 === 0 ? `SELECT ${n} AS a` : `SELECT pg_sleep(${n})`,
    )
    const verdicts = await Promise.all(texts.map((sql) => checkQueryText(sql, RULES)))
    expect(verdicts.map(({ ok }) => ok)).toEqual(texts.map((_, n) => n % 2 === 0))
  })
})
