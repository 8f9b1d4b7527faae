import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { aPipeline } from '../../tests/support/builders.js'
import { aDatabase, type TestDatabase } from '../../tests/support/database.js'
import { aRunner } from '../../tests/support/runner.js'
import { run } from '../../tests/support/runs.js'
import { FIXTURES } from '../guard/corpus/fixtures.js'
import { SqlGuard } from '../guard/index.js'
import { READ_ONLY, Session } from '../postgres/session.js'
import { sqlstateOf } from '../sql/sqlstate.js'

/*
 * What protects the database behind the guard: a query that got past it runs as the reader, in the session that the
 * runner opens for a source. And what does not: functions that everyone may call. There, only the guard protects.
 */

const NO_RIGHT = '42501'
const READ_ONLY_TRANSACTION = '25006'

let database: TestDatabase
let session: Session

beforeAll(async () => {
  database = await aDatabase({ cinema: true })
  await database.query(FIXTURES)
  session = await Session.open(database.loginUrl('reader'), 'vitrina-test', new AbortController().signal)
  await session.run(READ_ONLY)
})
afterAll(() => session?.close())

async function attempt(sql: string): Promise<string | null> {
  return session.rows(sql).then(
    () => null,
    (error) => sqlstateOf(error) ?? String(error),
  )
}

describe('the reader cannot', () => {
  it.each([
    ['read a file', "SELECT pg_read_file('/etc/passwd')", NO_RIGHT],
    ['list a folder', "SELECT pg_ls_dir('/')", NO_RIGHT],
    ['import a file', "SELECT lo_import('/etc/passwd')", NO_RIGHT],
    [
      'read another schema by name',
      "SELECT query_to_xml('SELECT * FROM auth.users', true, false, '')",
      NO_RIGHT,
    ],
    ['move a sequence', "SELECT nextval('content.counter')", NO_RIGHT],
    ['set a sequence', "SELECT setval('content.counter', 9)", NO_RIGHT],
    ['switch the log', 'SELECT pg_switch_wal()', NO_RIGHT],
    ['reload the settings', 'SELECT pg_reload_conf()', NO_RIGHT],
    ['reset the statistics', 'SELECT pg_stat_reset()', NO_RIGHT],
    ['create a replication slot', "SELECT pg_create_physical_replication_slot('x')", NO_RIGHT],
    [
      'terminate the session of another user',
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = (SELECT rolname FROM pg_roles WHERE oid = 10)',
      NO_RIGHT,
    ],
    ['become the writer', "SELECT set_config('role', 'vitrina_writer', false)", NO_RIGHT],
    [
      'write where it may read',
      "INSERT INTO content.genre (id, name) VALUES (gen_random_uuid(), 'x')",
      READ_ONLY_TRANSACTION,
    ],
    ['create a temporary table', 'CREATE TEMP TABLE mine (a int)', READ_ONLY_TRANSACTION],
    [
      'leave read-only mode in the middle',
      "SELECT set_config('transaction_read_only', 'off', true) FROM content.genre",
      '25001',
    ],
  ])('%s', async (_what, sql, state) => {
    expect(await attempt(sql)).toBe(state)
  })
})

describe('only the guard prevents the reader from', () => {
  it.each([
    ['making the server wait', 'SELECT pg_sleep(0)::text AS a'],
    ['taking an advisory lock', 'SELECT pg_try_advisory_xact_lock(1) AS a'],
    ['waking a listener', "SELECT pg_notify('vitrina_run_requested', '')::text AS a"],
    ['writing a message into the log', "SELECT pg_logical_emit_message(false, 'x', 'y') AS a"],
    ['consuming a transaction id', 'SELECT pg_current_xact_id()::text AS a'],
    ['changing its settings', "SELECT set_config('work_mem', '1GB', true) AS a"],
    ['reading the server version', 'SELECT version() AS a'],
  ])('%s', async (_what, sql) => {
    expect(await attempt(sql)).toBeNull()
    const guard = new SqlGuard({ sourceSchemas: ['content', 'ugc'] })
    await expect(guard.textToRun(sql, session)).rejects.toMatchObject({ code: 'SOURCE_REFUSED' })
  })
})

it('reads one snapshot, cannot write, resolves no unqualified names and does not wait indefinitely', async () => {
  const names = [
    'transaction_isolation',
    'transaction_read_only',
    'search_path',
    'lock_timeout',
    'statement_timeout',
    'idle_in_transaction_session_timeout',
  ]
  const values = ['repeatable read', 'on', '""', '30s', '1h', '5min']
  const settings = await session.rows(
    'SELECT current_setting(name) AS value FROM unnest($1::text[]) AS name',
    [names],
  )
  expect(settings.map(({ value }) => value)).toEqual(values)
  // The same except for the isolation level for a reader who logs in with psql.
  const client = await database.client(database.loginUrl('reader'))
  const { rows } = await client.query(
    'SELECT current_setting(name) AS value FROM unnest($1::text[]) AS name',
    [names],
  )
  expect(rows.map(({ value }) => value)).toEqual(['read committed', ...values.slice(1)])
})

it('cannot sleep, and pipelines still run, after an administrator follows SECURITY.md', async () => {
  const [, revoke = ''] = /```sql\n(REVOKE EXECUTE .*?)```/s.exec(readFileSync('SECURITY.md', 'utf8')) ?? []
  const own = await aDatabase({ cinema: true })
  // As the sentence below that statement says.
  await own.query(
    inject('server').major < 17 ? revoke.replace('text, text, boolean)', 'text, text)') : revoke,
  )
  const reader = await own.client(own.loginUrl('reader'))
  for (const sql of [
    'SELECT pg_sleep(0)',
    "SELECT pg_logical_emit_message(false, 'x', 'y')",
    'SELECT lo_create(0)',
  ])
    await expect(reader.query(sql)).rejects.toMatchObject({ code: NO_RIGHT })
  await aRunner(own)
  expect(await run(own, (await aPipeline(own)).id)).toMatchObject({ status: 'SUCCESS', error: null })
})
