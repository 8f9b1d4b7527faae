import { beforeAll, expect, inject, it } from 'vitest'
import { aDatabase, type TestDatabase } from '../../tests/support/database.js'
import { everythingIn } from '../../tests/support/everything.js'
import { READ_ONLY, Session } from '../postgres/session.js'
import { asRelation } from '../sql/selection.js'
import { FIXTURES } from './corpus/fixtures.js'
import { ENDLESS, HOSTILE } from './corpus/hostile.js'

let database: TestDatabase

beforeAll(async () => {
  database = await aDatabase({ cinema: true })
  await database.query(FIXTURES)
})

/** As the runner reads: the reader's login, one prepared statement around the text, a read-only transaction. */
async function execute(sql: string): Promise<void> {
  const session = await Session.open(
    database.loginUrl('reader'),
    'vitrina-runner',
    new AbortController().signal,
  )
  const steps = async () => {
    await session.run(`${READ_ONLY}; BEGIN; SET LOCAL statement_timeout = '100ms'`)
    await session.rows(`SELECT * FROM ${asRelation(sql)}`)
  }
  // Refused is as good as harmless.
  await steps().catch(() => {})
  await session.run('COMMIT').catch(() => {})
  await session.close()
}

it('changes nothing in the database even when a hostile text gets past the guard', async () => {
  // Before PostgreSQL 16 a read-only transaction can create large objects: SECURITY.md says how to forbid it.
  if (inject('server').major < 16)
    await database.query(
      'REVOKE EXECUTE ON FUNCTION lo_create(oid), lo_creat(integer), lo_from_bytea(oid, bytea) FROM PUBLIC',
    )
  const before = await everythingIn(database)
  // Those that only take time and memory need not be tried: no time-out stops the planner.
  const texts = HOSTILE.filter(({ tries }) => tries !== ENDLESS)
    .map(({ sql }) => sql)
    .filter((sql) => sql.length < 10_000)
  const lanes = Array.from({ length: 6 }, async () => {
    for (let sql = texts.pop(); sql !== undefined; sql = texts.pop()) await execute(sql)
  })
  await Promise.all(lanes)
  expect(await everythingIn(database)).toEqual(before)
})
