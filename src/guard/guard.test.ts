import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aDatabase, type TestDatabase } from '../../tests/support/database.js'
import { Session } from '../postgres/session.js'
import { FIXTURES } from './corpus/fixtures.js'
import { HONEST } from './corpus/honest.js'
import { HOSTILE } from './corpus/hostile.js'
import { SqlGuard } from './index.js'

const RULES = { sourceSchemas: ['content', 'ugc'] }
const guard = new SqlGuard(RULES)
let database: TestDatabase
let session: Session
const never = new AbortController().signal

beforeAll(async () => {
  database = await aDatabase({ cinema: true })
  await database.query(FIXTURES)
  session = await Session.open(database.loginUrl('reader'), 'vitrina-guard', never)
})
afterAll(() => session?.close())

/** The guard closes what it is given; these tests ask hundreds of times. */
const open = async () =>
  ({
    run: (text: string) => session.run(text),
    rows: (text: string, values?: unknown[]) => session.rows(text, values),
    close: async () => {},
  }) as never

describe('corpus', () => {
  it('refuses', async () => {
    const passed: string[] = []
    let l1 = 0
    for (const { tries, sql } of HOSTILE) {
      const t = await guard.check(sql)
      if (!t.ok) l1++
      const verdict = t.ok ? await guard.check(sql, open) : t
      if (verdict.ok) passed.push(`${tries}: ${sql.slice(0, 200)}\n   -> ${verdict.canonical}`)
      if (process.env.SHOW && !verdict.ok)
        console.log(
          sql.slice(0, 90).replace(/\n/g, ' '),
          '\n     ->',
          t.ok ? 'L2' : 'L1',
          verdict.problems
            .map((p) => p.message + ' | ' + p.hint + ' @' + p.position?.line + ':' + p.position?.column)
            .join('\n        '),
        )
    }
    console.log(HOSTILE.length, 'by text', l1)
    expect(passed).toEqual([])
  })
  it('accepts', async () => {
    const refusedOnes: string[] = []
    const times: number[] = []
    for (const sql of HONEST) {
      const s = performance.now()
      const verdict = await guard
        .check(sql, open)
        .catch((e) => ({ ok: false as const, problems: [{ message: 'THROWN ' + e }] }))
      times.push(performance.now() - s)
      if (!verdict.ok)
        refusedOnes.push(`${sql.slice(0, 300)}\n   -> ${verdict.problems.map((p) => p.message).join('; ')}`)
    }
    times.sort((a, b) => a - b)
    console.log(
      HONEST.length,
      'p50',
      times[times.length >> 1],
      'p95',
      times[Math.floor(times.length * 0.95)],
      'max',
      times.at(-1),
    )
    expect(refusedOnes).toEqual([])
  })
})
