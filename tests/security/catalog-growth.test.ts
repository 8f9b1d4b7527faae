import { beforeAll, describe, expect, it } from 'vitest'
import { type ClosableGuardSession, SqlGuard } from '../../src/guard/index.js'
import { Session } from '../../src/postgres/session.js'
import { aPipeline } from '../support/builders.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { aRunner } from '../support/runner.js'
import { run } from '../support/runs.js'

const COLUMNS = Array.from({ length: 300 }, (_, n) => `c${n}`)

let database: TestDatabase
beforeAll(async () => {
  database = await aDatabase({ cinema: true })
  await database.query(`
    CREATE SCHEMA hidden; CREATE TABLE hidden.users (id int, login text);
    CREATE TABLE content.wide (${COLUMNS.map((name) => `${name} int`).join(', ')}, PRIMARY KEY (c0));
    CREATE TABLE content.plain (id int, name text);
    CREATE VIEW content.seen AS SELECT id, name FROM content.plain;
    CREATE TABLE content.parent (id int) PARTITION BY RANGE (id);
    CREATE TYPE content.mood AS ENUM ('good', 'bad');
    GRANT SELECT ON ALL TABLES IN SCHEMA content TO vitrina_reader;

    -- A sequence counts what is rolled back, too.
    CREATE SEQUENCE public.views_made MINVALUE 0 START 0; SELECT nextval('public.views_made');
    CREATE FUNCTION public.count_view() RETURNS event_trigger LANGUAGE plpgsql SECURITY DEFINER
      AS $$ BEGIN PERFORM nextval('public.views_made'); END $$;
    CREATE EVENT TRIGGER count_views ON ddl_command_end WHEN TAG IN ('CREATE VIEW') EXECUTE FUNCTION public.count_view()`)
})

async function viewsMade(): Promise<number> {
  const [row] = await database.query<{ last_value: string }>('SELECT last_value FROM public.views_made')
  return Number(row!.last_value)
}

const CATALOGS = ['pg_attribute', 'pg_depend', 'pg_class', 'pg_type', 'pg_rewrite']

/** Autovacuum would free the dead rows that the test counts, and later ones would take their place. */
async function keepDeadRows(): Promise<void> {
  const settings = CATALOGS.map((name) => `ALTER TABLE pg_catalog.${name} SET (autovacuum_enabled = false)`)
  await database.query(
    `SET allow_system_table_mods = on; ${settings.join('; ')}; RESET allow_system_table_mods`,
  )
}

const open = async (): Promise<ClosableGuardSession> =>
  Session.open(database.loginUrl('reader'), 'vitrina-inspect', new AbortController().signal)

/** Bytes of the catalogs that a temporary view is written to, with their indexes. */
async function catalogBytes(): Promise<number> {
  const [row] = await database.query<{ bytes: string }>(
    'SELECT sum(pg_total_relation_size(oid)) AS bytes FROM pg_class WHERE relname = ANY ($1)',
    [CATALOGS],
  )
  return Number(row!.bytes)
}

describe('checking a query again', () => {
  it('writes nothing to the catalogs of the source', async () => {
    const guard = new SqlGuard({ sourceSchemas: ['content'] })
    const sql = 'SELECT * FROM content.wide'
    await keepDeadRows()
    const first = await guard.check(sql, open)
    const before = await catalogBytes()
    for (let time = 0; time < 20; time++) expect(await guard.check(sql, open)).toEqual(first)
    expect(await catalogBytes()).toBe(before)
    // Another text has to be asked about: this is what each check would cost.
    for (let time = 0; time < 20; time++) await guard.check(`${sql} WHERE c0 > ${time}`, open)
    const perColumn = ((await catalogBytes()) - before) / 20 / COLUMNS.length
    // SECURITY.md says about 320 bytes.
    expect([perColumn > 250, perColumn < 400], `${perColumn} bytes`).toEqual([true, true])
  })

  it('is not needed by runs either', async () => {
    const { id } = await aPipeline(database, {
      sourceQuery: 'SELECT * FROM content.wide',
      targetTable: 'analytics.wide',
      keyColumns: ['c0'],
    })
    const runner = await aRunner(database)
    expect(await run(database, id)).toMatchObject({ status: 'SUCCESS' })
    const before = await viewsMade()
    expect(before).toBeGreaterThan(0)
    expect(await run(database, id)).toMatchObject({ status: 'SUCCESS' })
    expect(await viewsMade()).toBe(before)
    await runner.stop()
  })
})

describe('a cached result of the guard', () => {
  const REFUSED = { ok: false }
  const ACCEPTED = { ok: true }

  it.each([
    [
      'a view that reads a schema that is not allowed by now',
      'SELECT id FROM content.seen',
      'CREATE OR REPLACE VIEW content.seen AS SELECT id, login AS name FROM hidden.users',
    ],
    [
      'a table that was replaced by a view',
      'SELECT id FROM content.plain_two',
      'DROP TABLE content.plain_two; CREATE VIEW content.plain_two AS SELECT id FROM hidden.users; GRANT SELECT ON content.plain_two TO vitrina_reader',
    ],
    ['a column that is gone', 'SELECT name FROM content.changing', 'ALTER TABLE content.changing DROP name'],
    [
      'a right that is gone',
      'SELECT id FROM content.granted',
      'REVOKE SELECT ON content.granted FROM vitrina_reader',
    ],
    [
      'a partition in a schema that is not allowed',
      'SELECT id FROM content.parent',
      'CREATE TABLE hidden.part PARTITION OF content.parent FOR VALUES FROM (1) TO (9)',
    ],
    [
      'a function behind a view',
      'SELECT id FROM content.seen_two',
      'CREATE FUNCTION hidden.f() RETURNS int LANGUAGE sql AS $$ SELECT 1 $$; CREATE OR REPLACE VIEW content.seen_two AS SELECT hidden.f() AS id',
    ],
  ])('does not stand against %s', async (_what, sql, change) => {
    await database.query(`
      CREATE TABLE IF NOT EXISTS content.plain_two (id int); CREATE TABLE IF NOT EXISTS content.changing (id int, name text);
      CREATE TABLE IF NOT EXISTS content.granted (id int); CREATE OR REPLACE VIEW content.seen_two AS SELECT 1 AS id;
      GRANT SELECT ON content.plain_two, content.changing, content.granted, content.seen_two TO vitrina_reader`)
    const guard = new SqlGuard({ sourceSchemas: ['content'] })
    for (let time = 0; time < 2; time++) expect(await guard.check(sql, open)).toMatchObject(ACCEPTED)
    await database.query(change)
    expect(await guard.check(sql, open)).toMatchObject(REFUSED)
  })

  it('has the current columns', async () => {
    const guard = new SqlGuard({ sourceSchemas: ['content'] })
    await database.query(
      'CREATE TABLE content.retyped (id int, feeling content.mood); GRANT SELECT ON content.retyped TO vitrina_reader',
    )
    const sql = 'SELECT * FROM content.retyped'
    for (let time = 0; time < 2; time++)
      expect(await guard.check(sql, open)).toMatchObject({
        columns: [{ type: 'integer' }, { type: 'content.mood' }],
      })
    await database.query(
      'ALTER TABLE content.retyped ALTER id TYPE bigint; ALTER TYPE content.mood RENAME TO humour',
    )
    expect(await guard.check(sql, open)).toMatchObject({
      columns: [{ type: 'bigint' }, { type: 'content.humour' }],
    })
  })

  it('belongs to the database that it was determined in', async () => {
    const guard = new SqlGuard({ sourceSchemas: ['content'] })
    const other = await aDatabase({ cinema: true })
    const sql = 'SELECT id FROM content.film_work'
    expect(await guard.check(sql, open)).toMatchObject(ACCEPTED)
    await other.query('REVOKE SELECT ON content.film_work FROM vitrina_reader')
    const elsewhere = () =>
      Session.open(other.loginUrl('reader'), 'vitrina-inspect', new AbortController().signal)
    expect(await guard.check(sql, elsewhere)).toMatchObject(REFUSED)
    expect(await guard.check(sql, open)).toMatchObject(ACCEPTED)
  })
})
