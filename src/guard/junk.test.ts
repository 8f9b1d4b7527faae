import { afterAll, beforeAll, expect, it } from 'vitest'
import { aDatabase } from '../../tests/support/database.js'
import { Session } from '../postgres/session.js'
import { borrowed } from './corpus/borrowed.js'
import { FIXTURES } from './corpus/fixtures.js'
import { HONEST } from './corpus/honest.js'
import { HOSTILE } from './corpus/hostile.js'
import { SqlGuard } from './index.js'

const ROUNDS = Number(process.env.GUARD_JUNK_ROUNDS ?? 1_500)
const guard = new SqlGuard({ sourceSchemas: ['content', 'ugc'] })
let session: Session

beforeAll(async () => {
  const database = await aDatabase({ cinema: true })
  await database.query(FIXTURES)
  session = await Session.open(database.loginUrl('reader'), 'vitrina-guard', new AbortController().signal)
})

afterAll(() => session.close())

/** The same dice every time (mulberry32), so that a failure can be seen again. */
function dice(seed: number): (sides: number) => number {
  let state = seed
  return (sides) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % sides
  }
}

const TEXTS = [...HONEST, ...HOSTILE.map(({ sql }) => sql)].filter((sql) => sql.length < 2_000)
const WORDS = TEXTS.flatMap((sql) => sql.match(/\w+|\s+|[^\w\s]+/g) ?? [])
const STRANGE = [
  '\0',
  '\\',
  "'",
  '"',
  '$$',
  '/*',
  '*/',
  '--',
  ';',
  '(',
  ')',
  '\ud800',
  '\u00a0',
  '\ufeff',
  '😀',
  "E'",
  'U&"',
  '$1',
  '::',
  '\r',
  '\u2028',
]

function mutate(sql: string, roll: (sides: number) => number): string {
  const one = <T>(list: readonly T[]): T => list[roll(list.length)]!
  const at = roll(sql.length + 1)
  const to = at + roll(12)
  const other = one(TEXTS)
  const ways = [
    () => sql.slice(0, at) + one(STRANGE) + sql.slice(at),
    () => sql.slice(0, at) + sql.slice(to),
    () => sql.slice(0, at) + one(WORDS) + sql.slice(at),
    () => sql.slice(0, at) + one(WORDS) + sql.slice(to),
    () => sql.slice(0, at) + other.slice(roll(other.length + 1)),
    () => `${sql} UNION ALL ${other}`,
    () => `SELECT * FROM (${sql}) a, (${other}) b`,
    () => `WITH ${one(['a', 'users', 'film_work'])} AS (${sql}) ${other}`,
    () => [...sql].reverse().join(''),
    () => Array.from({ length: 5 + roll(20) }, () => one(WORDS)).join(' '),
  ]
  return one(ways)()
}

it(`returns a result for ${ROUNDS} mutilated texts, and accepts none that reads outside the allowed schemas`, async () => {
  const roll = dice(20_260_101)
  let accepted = 0
  for (let round = 0; round < ROUNDS; round++) {
    let sql = TEXTS[roll(TEXTS.length)]!
    for (let times = 1 + roll(3); times > 0; times--) sql = mutate(sql, roll)
    const verdict = await guard.check(sql, borrowed(session)).catch((error) => {
      throw new Error(`the guard threw at ${JSON.stringify(sql)}: ${error}`, { cause: error })
    })
    if (!verdict.ok) {
      expect(verdict.problems.length, sql).toBeGreaterThan(0)
      continue
    }
    accepted += 1
    for (const { schema } of verdict.reached) expect(['content', 'ugc'], sql).toContain(schema)
    const withoutStrings = verdict.canonical.replace(/'(?:[^']|'')*'/g, "''")
    expect(withoutStrings, sql).not.toMatch(/\b(pg_sleep|pg_read_file|nextval|set_config|auth\.users)\s*\(/)
  }
  // Junk that is always refused would show nothing.
  expect(accepted).toBeGreaterThan(ROUNDS / 100)
})
