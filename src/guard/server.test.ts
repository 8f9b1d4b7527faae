import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { aDatabase, type TestDatabase } from '../../tests/support/database.js'
import { Session } from '../postgres/session.js'
import { borrowed } from './corpus/borrowed.js'
import { FIXTURES } from './corpus/fixtures.js'
import { SqlGuard } from './index.js'

const guard = new SqlGuard({ sourceSchemas: ['content', 'ugc'] })
let database: TestDatabase
let session: Session

beforeAll(async () => {
  database = await aDatabase({ cinema: true })
  await database.query(FIXTURES)
})

beforeEach(async () => {
  session = await Session.open(database.loginUrl('reader'), 'vitrina-guard', new AbortController().signal)
})

afterEach(() => session.close())

const check = (sql: string) => guard.check(sql, borrowed(session))

describe('the server', () => {
  it('returns the columns with their types, and the text to run', async () => {
    const sql = 'SELECT f.*, mood, score, now() AS at FROM content.film_short f, content.document -- all\n;'
    expect(await check(sql)).toMatchObject({
      ok: true,
      relations: [
        { schema: 'content', table: 'film_short' },
        { schema: 'content', table: 'document' },
      ],
      columns: [
        { name: 'id', type: 'uuid' },
        { name: 'title', type: 'text' },
        { name: 'rating', type: 'numeric(3,1)' },
        { name: 'mood', type: 'content.mood' },
        { name: 'score', type: 'content.score' },
        { name: 'at', type: 'timestamp with time zone' },
      ],
      canonical: expect.stringMatching(
        /^SELECT f\.id,[^;]*FROM content\.film_short f,\s+content\.document$/s,
      ),
    })
  })

  it('rejects a query that is too large to parse once every star is written out', async () => {
    const wide = Array.from({ length: 1_600 }, (_, n) => `${n} AS c${n}`).join(', ')
    const exists = Array.from({ length: 200 }, (_, n) => `EXISTS (SELECT * FROM w) AS e${n}`).join(', ')
    expect(await check(`WITH w AS (SELECT ${wide}) SELECT ${exists}`)).toMatchObject({
      ok: false,
      problems: [
        { message: expect.stringContaining('longer than 1 MiB'), hint: expect.stringContaining('Replace *') },
      ],
    })
    expect(await check(`WITH w AS (SELECT ${wide}) SELECT * FROM w`)).toMatchObject({ ok: true })
  })

  it('follows views and partitions to the tables that they reach', async () => {
    const verdict = await check('SELECT s.id FROM content.film_shorter s, content.event e')
    const names = verdict.ok ? verdict.reached.map(({ schema, table }) => `${schema}.${table}`).sort() : []
    expect(names).toEqual([
      'content.event',
      'content.event_2025',
      'content.film_short',
      'content.film_shorter',
      'content.film_work',
    ])
  })

  it('points at the view through which a forbidden table would be read', async () => {
    expect(await check('SELECT 1 AS a\n  FROM content.leaky_twice')).toEqual({
      ok: false,
      problems: [
        {
          code: 'SOURCE_REFUSED',
          message: 'auth.users, which content.leaky reads, may not be read.',
          hint: 'A source query may read content.* and ugc.*: ALLOWED_SOURCE_SCHEMAS=content,ugc.',
          position: { offset: 21, line: 2, column: 8 },
        },
      ],
    })
  })

  it('points at the place of the text with the syntax error', async () => {
    const verdict = await check("SELECT '😀' AS a,\n  no_such_column FROM content.genre")
    expect(verdict).toMatchObject({
      ok: false,
      problems: [{ code: 'SOURCE_QUERY_FAILED', position: { line: 2, column: 3 } }],
    })
  })

  it('asks for names when two columns are called the same', async () => {
    const verdict = await check('SELECT 1 AS a, 2 AS a')
    expect(verdict).toMatchObject({ ok: false, problems: [{ hint: expect.stringContaining('with AS') }] })
  })

  it('checks the privilege to read the columns that are used, and no others', async () => {
    await database.query(
      'CREATE TABLE content.partly (open int, secret int); REVOKE ALL ON content.partly FROM vitrina_reader; GRANT SELECT (open) ON content.partly TO vitrina_reader',
    )
    expect(await check('SELECT open FROM content.partly')).toMatchObject({ ok: true })
    expect(await check('SELECT secret FROM content.partly')).toMatchObject({
      ok: false,
      problems: [{ message: 'The reader has no privilege to read content.partly.' }],
    })
  })

  it('changes neither the session nor the database', async () => {
    await session.run('SET search_path = ugc, public')
    await check('SELECT id FROM content.genre')
    await check('SELECT no FROM content.genre')
    const [state] = await session.rows(
      `SELECT current_setting('search_path') AS path, (SELECT count(*) FROM pg_class WHERE relname = 'vitrina_guard') AS views,
              current_setting('transaction_read_only') AS read_only, pg_current_xact_id_if_assigned() AS xid`,
    )
    expect(state).toEqual({ path: 'ugc, public', views: '0', read_only: 'on', xid: null })
  })

  it('reads strings as in standard SQL, whatever the settings of the login', async () => {
    await session.run(
      'SET standard_conforming_strings = off; SET escape_string_warning = off; SET default_transaction_read_only = on; SET search_path = auth, pg_catalog',
    )
    const verdict = await check("SELECT 'C:\\' AS path")
    expect(verdict).toMatchObject({ ok: true, canonical: "SELECT 'C:\\'::text AS path" })
  })
})

describe('a server that cannot be queried', () => {
  it('is distinguished from an invalid query', async () => {
    const own = await aDatabase({ cinema: true })
    const name = new URL(own.url).pathname.slice(1)
    await own.query(`REVOKE TEMPORARY ON DATABASE ${name} FROM PUBLIC, vitrina_reader`)
    const other = await Session.open(own.loginUrl('reader'), 'vitrina-guard', new AbortController().signal)
    try {
      await expect(guard.check('SELECT id FROM content.genre', borrowed(other))).rejects.toMatchObject({
        code: 'SOURCE_REFUSED',
        hint: expect.stringContaining('GRANT TEMPORARY'),
      })
    } finally {
      await other.close()
    }
  })

  it('is distinguished when the connection is lost', async () => {
    const lost = await Session.open(
      database.loginUrl('reader'),
      'vitrina-guard',
      new AbortController().signal,
    )
    const [{ pid } = { pid: null }] = await lost.rows('SELECT pg_backend_pid() AS pid')
    await database.query('SELECT pg_terminate_backend($1, 5000)', [pid])
    await expect(guard.check('SELECT id FROM content.genre', borrowed(lost))).rejects.toMatchObject({
      code: 'DATABASE_UNAVAILABLE',
    })
    await lost.close()
  })

  it('closes the session it opened in any case', async () => {
    let closed = 0
    const open = async () => ({ ...(await borrowed(session)()), close: async () => void closed++ })
    await guard.check('SELECT id FROM content.genre', open)
    await guard.check('SELECT no FROM content.genre', open)
    await guard.check('DELETE FROM content.genre', open)
    expect(closed).toBe(2)
  })
})
