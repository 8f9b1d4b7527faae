import { afterEach, beforeAll, describe, expect, inject, it } from 'vitest'
import { aDatabase, type TestDatabase } from '../../tests/support/database.js'
import { throughPgBouncer } from '../../tests/support/pgbouncer.js'
import { waitFor } from '../../tests/support/wait.js'
import { KeptSessions } from './kept-sessions.js'
import { kept as keptStatement } from './kept-statements.js'
import type { Session } from './session.js'

const { signal } = new AbortController()
let database: TestDatabase
let kept: KeptSessions

beforeAll(async () => {
  database = await aDatabase({ migrated: false })
})

afterEach(() => kept.close())

async function pidOf(session: Session): Promise<string> {
  const [row] = await session.rows('SELECT pg_backend_pid()::text AS pid')
  return row!.pid!
}

/** Uses a session, leaves its connection, and returns its process. */
async function used(work: (session: Session) => Promise<unknown>): Promise<string> {
  const session = await kept.open(database.url, { name: 'vitrina-run a/1', purpose: 'target' }, signal)
  const pid = await pidOf(session)
  await work(session)
  await session.close()
  await kept.settled()
  return pid
}

async function next(): Promise<{ pid: string; session: Session }> {
  const session = await kept.open(database.url, { name: 'vitrina-run b/1', purpose: 'target' }, signal)
  return { pid: await pidOf(session), session }
}

describe('a connection that a run has left', () => {
  it('serves the next run, with nothing of the last one', async () => {
    kept = new KeptSessions()
    const pid = await used(async (session) => {
      await session.run(
        "SET search_path = public; SET work_mem = '1MB'; SET ROLE pg_monitor; LISTEN something",
      )
      await session.run('RESET ROLE; CREATE TEMP TABLE left_over (id int)')
      await session.run('SELECT pg_advisory_lock(7)')
      await session.run('SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY')
    })
    const { pid: again, session } = await next()
    expect(again).toBe(pid)
    const [left] = await session.rows(
      `SELECT current_setting('search_path') AS path, current_setting('work_mem') AS memory, current_user::text AS login,
              current_setting('default_transaction_read_only') AS read_only, current_setting('application_name') AS name,
              to_regclass('pg_temp.left_over')::text AS temporary, (SELECT count(*) FROM pg_prepared_statements)::text AS prepared,
              (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid())::text AS locks,
              (SELECT count(*) FROM pg_listening_channels())::text AS channels`,
    )
    expect(left).toEqual({
      path: '""',
      memory: '128MB',
      login: expect.not.stringContaining('pg_monitor'),
      read_only: 'off',
      name: 'vitrina-run b/1',
      temporary: null,
      prepared: '0',
      locks: '0',
      channels: '0',
    })
    await session.close()
  })

  it('keeps the statements of this program, and prepares them once', async () => {
    kept = new KeptSessions()
    const text = keptStatement('SELECT $1::int + 1 AS n')
    const pid = await used((session) => session.rows(text, [1]))
    const { pid: again, session } = await next()
    expect(again).toBe(pid)
    expect(await session.rows(text, [2])).toEqual([{ n: '3' }])
    const prepared = await session.rows(
      'SELECT (generic_plans + custom_plans)::text AS uses FROM pg_prepared_statements',
    )
    expect(prepared).toEqual([{ uses: '2' }])
    await session.close()
  })

  it('serves sessions with the same purpose only', async () => {
    kept = new KeptSessions()
    const pid = await used(async () => {})
    const log = await kept.open(database.url, { name: 'vitrina-changes', purpose: 'log' }, signal)
    const other = await pidOf(log)
    expect(other).not.toBe(pid)
    await log.close()
    await kept.settled()
    const { pid: again, session } = await next()
    expect(again).toBe(pid)
    await session.close()
  })

  it('is not used with statements that someone else has prepared', async () => {
    kept = new KeptSessions()
    const pid = await used((session) => session.run('PREPARE left_over AS SELECT 1'))
    const { pid: other, session } = await next()
    expect(other).not.toBe(pid)
    await session.close()
  })

  it('is not used with an open transaction', async () => {
    kept = new KeptSessions()
    const pid = await used((session) => session.run('BEGIN'))
    const { pid: other, session } = await next()
    expect(other).not.toBe(pid)
    await session.close()
  })

  it('is replaced if the server has ended it', async () => {
    kept = new KeptSessions()
    const pid = await used(async () => {})
    await database.query('SELECT pg_terminate_backend($1, 5000)', [pid])
    const { pid: other, session } = await next()
    expect(other).not.toBe(pid)
    await session.close()
  })

  it('is not kept after an abort', async () => {
    kept = new KeptSessions()
    const abort = new AbortController()
    const session = await kept.open(
      database.url,
      { name: 'vitrina-run a/1', purpose: 'target' },
      abort.signal,
    )
    const pid = await pidOf(session)
    abort.abort()
    await session.close()
    const { pid: other, session: another } = await next()
    expect(other).not.toBe(pid)
    await another.close()
  })

  it('cannot be used by the session that left it', async () => {
    kept = new KeptSessions()
    const session = await kept.open(database.url, { name: 'vitrina-run a/1', purpose: 'target' }, signal)
    await session.close()
    await expect(session.rows('SELECT 1')).rejects.toThrow('the session is closed')
  })

  it('is ended when no run has used it for a while', async () => {
    kept = new KeptSessions({ idleMs: 50 })
    const pid = await used(async () => {})
    await waitFor(
      async () => (await database.query('SELECT FROM pg_stat_activity WHERE pid = $1', [pid])).length === 0,
      { what: 'the idle connection to end' },
    )
  })

  it('is ended with the process that kept it', async () => {
    kept = new KeptSessions()
    const pid = await used(async () => {})
    await kept.close()
    await waitFor(
      async () => (await database.query('SELECT FROM pg_stat_activity WHERE pid = $1', [pid])).length === 0,
      { what: 'the connection to end' },
    )
  })
})

it('keeps nothing behind a pooler', async ({ skip }) => {
  const found = inject('pgbouncer')
  if ('missing' in found) return skip(found.missing)
  kept = new KeptSessions()
  const url = await throughPgBouncer(database.url, { program: found.path, poolMode: 'session', poolSize: 1 })
  for (let round = 0; round < 2; round++) {
    // The pool has one session: a connection that is kept would hold it.
    const other = new KeptSessions()
    const session = await other.open(url, { name: 'vitrina-run a/1', purpose: 'target' }, signal)
    await session.close()
    await other.close()
    const own = await kept.open(url, { name: 'vitrina-run a/1', purpose: 'target' }, signal)
    await own.close()
  }
})
