import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { aDatabase, type TestDatabase } from '../../tests/support/database.js'
import { readDemoPipelines } from '../main/demo-data.js'
import { Session } from '../postgres/session.js'
import { borrowed } from './corpus/borrowed.js'
import { isKnownTo } from './corpus/first-version.js'
import { FIXTURES } from './corpus/fixtures.js'
import { HONEST } from './corpus/honest.js'
import { HOSTILE } from './corpus/hostile.js'
import { SqlGuard } from './index.js'

const SHIPPED = (await readDemoPipelines()).map(({ query }) => query)
const { major } = inject('server')
const ACCEPTED = [...SHIPPED, ...HONEST].filter((sql) => isKnownTo(major, sql))
const TOO_NEW = HONEST.filter((sql) => !isKnownTo(major, sql))
const guard = new SqlGuard({ sourceSchemas: ['content', 'ugc'] })
let database: TestDatabase
let reader: Session
let administrator: Session

beforeAll(async () => {
  database = await aDatabase({ cinema: true })
  await database.query(FIXTURES)
  const never = new AbortController().signal
  reader = await Session.open(database.loginUrl('reader'), 'vitrina-guard', never)
  administrator = await Session.open(database.url, 'vitrina-guard', never)
})

afterAll(async () => {
  await reader.close()
  await administrator.close()
})

/** Names of tests are lines, not pages, and hold nothing that a terminal would act on. */
function short(sql: string): string {
  return JSON.stringify(sql.length > 100 ? `${sql.slice(0, 100)}…` : sql)
}

describe('refuses', () => {
  for (const { tries, sql } of HOSTILE) {
    it(`${tries}: ${short(sql)}`, async () => {
      const verdict = await guard.check(sql, borrowed(reader))
      expect(verdict).toMatchObject({ ok: false })
      if (verdict.ok) return
      for (const { message, hint } of verdict.problems) {
        expect(message).toMatch(/\S.*\.$/s)
        expect(hint).toMatch(/\S.*\.$/s)
      }
    })
  }

  it('the same texts for a superuser, except those that only the privileges of the reader forbid', async () => {
    const passed: string[] = []
    for (const { sql } of HOSTILE) {
      const verdict = await guard.check(sql, borrowed(administrator))
      if (verdict.ok) passed.push(sql)
    }
    expect(passed).toEqual(['SELECT * FROM content.hidden'])
  })
})

describe.runIf(TOO_NEW.length > 0)('reports the error of an older server, with its place, for', () => {
  it.each(TOO_NEW.map((sql) => [short(sql), sql] as const))('%s', async (_, sql) => {
    expect(await guard.check(sql, borrowed(reader))).toMatchObject({
      ok: false,
      problems: [{ code: 'SOURCE_QUERY_FAILED', position: { line: expect.any(Number) } }],
    })
  })
})

describe('accepts', () => {
  for (const sql of ACCEPTED) {
    it(short(sql), async () => {
      const verdict = await guard.check(sql, borrowed(reader))
      expect(verdict).toMatchObject({ ok: true })
      if (!verdict.ok) return
      await reader.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL search_path = ''")
      try {
        const fields = await reader.fields(`SELECT * FROM (\n${verdict.canonical}\n) AS source LIMIT 3`)
        expect(fields.map((field) => field.name)).toEqual(verdict.columns.map((column) => column.name))
      } finally {
        await reader.run('ROLLBACK')
      }
    })
  }

  it('the canonical text of each of them, with the same columns', async () => {
    const different: string[] = []
    for (const sql of ACCEPTED) {
      const once = await guard.check(sql, borrowed(reader))
      const twice = once.ok ? await guard.check(once.canonical, borrowed(reader)) : once
      if (!once.ok || !twice.ok || !isDeepStrictEqual(once.columns, twice.columns)) different.push(sql)
    }
    // A type that came with a column, not with the author: he could not have written public.colour himself.
    expect(different).toEqual([expect.stringContaining("colour = 'red'")])
  })
})
