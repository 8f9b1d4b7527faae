import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aDatabase, type TestDatabase } from '../../tests/support/database.js'
import { Session } from '../postgres/session.js'
import { borrowed } from './corpus/borrowed.js'
import { SqlGuard } from './index.js'
import { longNames } from './long-names.js'

const LONG = 'x'.repeat(64)
const guard = new SqlGuard({ sourceSchemas: ['content', 'ugc'] })
let database: TestDatabase
let session: Session

beforeAll(async () => {
  database = await aDatabase({ cinema: true })
  session = await Session.open(database.loginUrl('reader'), 'vitrina-guard', new AbortController().signal)
})
afterAll(() => session.close())

const check = (sql: string) => guard.check(sql, borrowed(session))

describe('names that PostgreSQL would cut off', () => {
  it('are refused in a query, each at its place', async () => {
    const verdict = await check(`SELECT id AS ${LONG},\n title AS "${LONG}y" FROM content.film_work`)
    expect(verdict).toMatchObject({
      ok: false,
      problems: [
        { code: 'SOURCE_REFUSED', position: { line: 1, column: 14 }, hint: 'Choose a shorter name.' },
        { position: { line: 2, column: 11 } },
      ],
    })
    expect(verdict.ok ? '' : verdict.problems[1]?.message).toBe(
      `The name "${LONG}y" has 65 bytes; PostgreSQL keeps only the first 63.`,
    )
  })

  it('are counted in bytes, up to the last one that fits', async () => {
    const fits = 'я'.repeat(31)
    expect(
      (await check(`SELECT id AS ${fits}z, title AS "${'z'.repeat(63)}" FROM content.film_work`)).ok,
    ).toBe(true)
    expect((await check(`SELECT id AS ${fits}яz FROM content.film_work`)).ok).toBe(false)
  })

  it.each([
    [`SELECT '${LONG}'`],
    [`SELECT E'it\\'s ${LONG}'`],
    [`SELECT 'it''s ${LONG}'`],
    [`SELECT $$ ${LONG} $$, $tag$ "${LONG}" $tag$`],
    [`SELECT 1 -- ${LONG}`],
    [`SELECT 1 /* ${LONG} /* nested */ ${LONG} ' */ AS a`],
    [`SELECT U&"${'\\0441'.repeat(20)}"`],
    [`SELECT ${'1'.repeat(80)}`],
  ])('are not looked for where no name is: %s', (sql) => {
    expect(longNames(sql)).toEqual([])
  })

  it('are found after exotic literals and comments', () => {
    const sql = `SELECT 'it''s' /* /* */ */ AS ${LONG}, $a$ ' $a$ AS "${LONG}""", U&"${'\\0441'.repeat(64)}"`
    expect(longNames(sql).map(({ name }) => name.length)).toEqual([64, 65, 64])
  })
})

describe('a table that does not exist', () => {
  it.each([
    ['content.film_wrok', 'Did you mean content.film_work?'],
    ['content."Film_Work"', 'Did you mean content.film_work?'],
    ['content.rating', 'Did you mean ugc.ratings?'],
    ['content.invoices_of_2019', 'Check the name, or create the table before the first run.'],
  ])('is reported with the most similar one: %s', async (table, hint) => {
    expect(await check(`SELECT * FROM ugc.likes, ${table}`)).toMatchObject({
      ok: false,
      problems: [{ code: 'SOURCE_QUERY_FAILED', hint, mayPass: true }],
    })
  })

  it('does not change the session', async () => {
    await check('SELECT * FROM content.film_wrok')
    expect((await check('SELECT id FROM content.film_work')).ok).toBe(true)
  })
})
