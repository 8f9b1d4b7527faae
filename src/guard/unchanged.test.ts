import { beforeAll, expect, it } from 'vitest'
import { aDatabase, type TestDatabase } from '../../tests/support/database.js'
import { Session } from '../postgres/session.js'
import { asRelation } from '../sql/selection.js'
import { FIXTURES } from './corpus/fixtures.js'
import { HOSTILE } from './corpus/hostile.js'

let database: TestDatabase

beforeAll(async () => {
  database = await aDatabase({ cinema: true })
  await database.query(FIXTURES)
})

/** Every row of every table, what exists, who may what, and where sequences stand. */
async function everything(): Promise<unknown> {
  const tables = await database.query<{ name: string }>(
    `SELECT format('%I.%I', n.nspname, c.relname) AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE c.relkind IN ('r', 'm', 'S') AND n.nspname IN ('content', 'ugc', 'auth', 'analytics', 'etl', 'public', 'archive') ORDER BY 1`,
  )
  const rows = []
  for (const { name } of tables)
    rows.push([
      name,
      ...(await database.query(
        `SELECT md5(string_agg(t::text, '|' ORDER BY t::text)) FROM (SELECT * FROM ${name}) t`,
      )),
    ])
  const catalog = await database.query(
    `SELECT (SELECT md5(string_agg(c.oid::text || c.relname || coalesce(c.relacl::text, ''), '|' ORDER BY c.oid)) FROM pg_class c WHERE relpersistence <> 't') AS relations,
            (SELECT md5(string_agg(p.oid::text, '|' ORDER BY p.oid)) FROM pg_proc p) AS functions,
            (SELECT md5(string_agg(r::text, '|' ORDER BY r.oid)) FROM pg_authid r) AS roles,
            (SELECT count(*) FROM pg_largeobject_metadata) AS objects, (SELECT count(*) FROM pg_replication_slots) AS slots,
            (SELECT count(*) FROM pg_extension) AS extensions, (SELECT md5(string_agg(s::text, '|')) FROM pg_db_role_setting s) AS settings`,
  )
  return { rows, catalog }
}

/** As the runner reads: the reader's login, one prepared statement around the text, a read-only transaction. */
async function execute(sql: string): Promise<void> {
  const session = await Session.open(
    database.loginUrl('reader'),
    'vitrina-runner',
    new AbortController().signal,
  )
  const steps = async () => {
    await session.run(
      "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = '100ms'",
    )
    await session.rows(`SELECT * FROM ${asRelation(sql)}`)
  }
  // Refused is as good as harmless.
  await steps().catch(() => {})
  await session.run('COMMIT').catch(() => {})
  await session.close()
}

it('changes nothing in the database even when a hostile text gets past the guard', async () => {
  const before = await everything()
  const texts = HOSTILE.map(({ sql }) => sql).filter((sql) => sql.length < 10_000)
  const lanes = Array.from({ length: 6 }, async () => {
    for (let sql = texts.pop(); sql !== undefined; sql = texts.pop()) await execute(sql)
  })
  await Promise.all(lanes)
  expect(await everything()).toEqual(before)
})
