import { beforeEach, expect, it } from 'vitest'
import { aDatabase, type TestDatabase } from '../../tests/support/database.js'
import { waitFor } from '../../tests/support/wait.js'
import { Session } from '../postgres/session.js'
import { KeptSessions, SqlGuard } from './index.js'

const guard = new SqlGuard({ sourceSchemas: ['content'] })
let database: TestDatabase
let opened: number

beforeEach(async () => {
  database = await aDatabase({ migrated: false })
  opened = 0
})

function open(): Promise<Session> {
  opened += 1
  return Session.open(database.url, 'vitrina-guard', new AbortController().signal)
}

async function livingSessions(): Promise<number> {
  const rows = await database.query(
    "SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'vitrina-guard'",
  )
  return rows.length
}

it('runs several checks on one session, rejected or not', async () => {
  const sessions = new KeptSessions(open)
  for (const sql of ['SELECT 1 AS a', 'SELECT no_such_column', 'SELECT 2 AS a'])
    await guard.check(sql, sessions.borrow)
  expect(opened).toBe(1)
  await sessions.end()
})

it('never lends one session twice at the same time', async () => {
  const sessions = new KeptSessions(open)
  const verdicts = await Promise.all([1, 2, 3].map((n) => guard.check(`SELECT ${n} AS a`, sessions.borrow)))
  expect(verdicts.map(({ ok }) => ok)).toEqual([true, true, true])
  expect(opened).toBe(3)
  await sessions.end()
})

it('opens another when the server ended the one it kept', async () => {
  const sessions = new KeptSessions(open)
  await guard.check('SELECT 1 AS a', sessions.borrow)
  await database.query(
    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'vitrina-guard'",
  )
  expect(await guard.check('SELECT 1 AS a', sessions.borrow)).toMatchObject({ ok: true })
  expect(opened).toBe(2)
  await sessions.end()
})

it('closes idle sessions after a while, and all of them in the end', async () => {
  const sessions = new KeptSessions(open, { idleMs: 50 })
  await guard.check('SELECT 1 AS a', sessions.borrow)
  await waitFor(async () => (await livingSessions()) === 0, { what: 'the idle session to be closed' })
  const late = await sessions.borrow()
  await sessions.end()
  await late.close()
  await waitFor(async () => (await livingSessions()) === 0, { what: 'the last session to be closed' })
})
