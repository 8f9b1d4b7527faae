import { randomBytes } from 'node:crypto'
import type pg from 'pg'
import { beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest'
import { aPipeline } from '../../tests/support/builders.js'
import { closeAtEnd } from '../../tests/support/close-at-end.js'
import { aDatabase, type TestDatabase } from '../../tests/support/database.js'
import { makeMemoryFolder } from '../../tests/support/memory-folder.js'
import { removePostgres, startPostgres } from '../../tests/support/postgres-server.js'
import { withClient } from '../../tests/support/server.js'
import { LOGINS, type Login } from '../model/logins.js'
import { excessOf } from './login-limits.js'
import { migrate } from './migrate.js'
import { grantRoles, type RoleOptions } from './roles.js'

const REFUSED = '42501'

let database: TestDatabase
let pipelineId: string
const clients = {} as Record<Login, pg.Client>

beforeAll(async () => {
  database = await aDatabase({ cinema: true })
  pipelineId = (await aPipeline(database)).id
  for (const login of Object.keys(LOGINS) as Login[])
    clients[login] = await database.client(database.loginUrl(login))
  await clients.writer.query(
    'CREATE TABLE analytics.mart AS SELECT id AS film_id, title FROM content.film_work',
  )
})

/** In a transaction that is rolled back: the grants of one test must not affect the next. */
async function attempt(login: Login, sql: string): Promise<'done' | string> {
  const client = clients[login]
  // The sessions of the reader start read-only, which a session may change: this is about privileges.
  await client.query('BEGIN READ WRITE')
  try {
    await client.query(sql.replaceAll('$pipeline', `'${pipelineId}'`))
    return 'done'
  } catch (error) {
    return (error as { code?: string }).code ?? String(error)
  } finally {
    await client.query('ROLLBACK')
  }
}

const NOBODY_MAY = [
  'SELECT * FROM auth.users',
  'SELECT rolpassword FROM pg_authid',
  'CREATE SCHEMA mine',
  'CREATE TABLE etl.mine ()',
  'DROP TABLE etl.etl_runs',
  'ALTER TABLE etl.etl_pipelines DISABLE TRIGGER move_pipeline',
  "UPDATE etl.schema_migrations SET checksum = ''",
  'CREATE ROLE other',
  "COPY (SELECT 1) TO PROGRAM 'cat'",
  "INSERT INTO content.genre (id, name) VALUES (gen_random_uuid(), 'x')",
  "UPDATE content.film_work SET title = ''",
  'DELETE FROM ugc.ratings',
  'TRUNCATE ugc.ratings',
  'CREATE TABLE content.mine ()',
]

const CANNOT: Record<Login, readonly string[]> = {
  reader: [
    ...NOBODY_MAY,
    'SELECT * FROM etl.etl_pipelines',
    'SELECT * FROM etl.etl_quarantine',
    'SELECT * FROM etl.etl_changes',
    'SELECT * FROM etl.etl_change_heads',
    'SELECT * FROM analytics.mart',
    'INSERT INTO analytics.mart VALUES (gen_random_uuid())',
    'CREATE TABLE analytics.mine ()',
    `SET ROLE ${LOGINS.writer}`,
    `SET ROLE ${LOGINS.meta}`,
  ],
  writer: [
    ...NOBODY_MAY,
    "UPDATE etl.etl_pipelines SET source_query = 'SELECT 1' WHERE id = $pipeline",
    "UPDATE etl.etl_pipelines SET target_table = 'analytics.other' WHERE id = $pipeline",
    'UPDATE etl.etl_pipelines SET enabled = false WHERE id = $pipeline',
    "INSERT INTO etl.etl_pipelines (name, target_table) VALUES ('x', 'analytics.x')",
    'DELETE FROM etl.etl_pipelines',
    "INSERT INTO etl.etl_pipeline_tasks (pipeline_id, order_index, task_type, body) VALUES ($pipeline, 1, 'SQL', 'SELECT 1')",
    'DELETE FROM etl.etl_runs',
    'DELETE FROM etl.etl_state',
    'DELETE FROM etl.etl_quarantine',
    `SET ROLE ${LOGINS.meta}`,
  ],
  meta: [
    ...NOBODY_MAY,
    'SELECT * FROM content.film_work',
    'SELECT * FROM ugc.ratings',
    'INSERT INTO analytics.mart VALUES (gen_random_uuid())',
    'UPDATE analytics.mart SET title = NULL',
    'DELETE FROM analytics.mart',
    'DROP TABLE analytics.mart',
    'CREATE TABLE analytics.mine ()',
    'UPDATE etl.etl_change_heads SET upto = upto',
    'SELECT * FROM etl.etl_changes',
    'DELETE FROM etl.etl_changes',
    'DELETE FROM etl.etl_change_positions',
    `SET ROLE ${LOGINS.reader}`,
    `SET ROLE ${LOGINS.writer}`,
  ],
}

const CAN: Record<Login, readonly string[]> = {
  reader: ['SELECT * FROM content.film_work', 'SELECT * FROM ugc.ratings'],
  writer: [
    'SELECT * FROM content.film_work',
    'SELECT * FROM etl.etl_pipelines',
    "UPDATE etl.etl_pipelines SET status = 'RUN_REQUESTED' WHERE id = $pipeline",
    'CREATE TABLE analytics.mine ()',
    'INSERT INTO analytics.mart VALUES (gen_random_uuid())',
    "INSERT INTO etl.etl_change_heads (connection, slot, publication) VALUES ('x', 'vitrina_x', 'vitrina_x')",
    'DELETE FROM etl.etl_changes',
    'DELETE FROM etl.etl_change_positions',
  ],
  meta: [
    'SELECT * FROM etl.etl_change_heads',
    'SELECT * FROM analytics.mart',
    "UPDATE etl.etl_pipelines SET source_query = 'SELECT 1' WHERE id = $pipeline",
    "UPDATE etl.etl_pipelines SET status = 'RUN_REQUESTED' WHERE id = $pipeline",
    "INSERT INTO etl.etl_pipelines (name, target_table) VALUES ('x', 'analytics.x')",
    'DELETE FROM etl.etl_pipelines WHERE id = $pipeline',
  ],
}

describe('R6.2 least privilege', () => {
  for (const login of Object.keys(LOGINS) as Login[]) {
    it.each(CANNOT[login])(`${login} cannot: %s`, async (sql) => {
      expect(await attempt(login, sql)).toBe(REFUSED)
    })
    it.each(CAN[login])(`${login} can: %s`, async (sql) => {
      expect(await attempt(login, sql)).toBe('done')
    })
  }

  it('grants no login a power over the server', async () => {
    const roles = await database.query(
      `SELECT rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls FROM pg_roles WHERE rolname = ANY ($1)`,
      [Object.values(LOGINS)],
    )
    const nothing = {
      rolsuper: false,
      rolcreaterole: false,
      rolcreatedb: false,
      rolreplication: false,
      rolbypassrls: false,
    }
    expect(roles).toEqual([nothing, nothing, nothing])
  })

  it.each(['reader', 'writer'] as const)('lets %s see when transactions of others began', async (login) => {
    const other = await database.client()
    await other.query('BEGIN; SELECT 1')
    const seen = await clients[login].query(
      "SELECT xact_start IS NOT NULL AS seen FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'",
    )
    expect(seen.rows).toEqual([{ seen: true }])
    await other.query('ROLLBACK')
  })

  it('makes tables created later as readable as the others', async () => {
    await database.query(
      'CREATE TABLE content.later AS SELECT 1 AS id; CREATE TABLE analytics.later AS SELECT 1 AS id',
    )
    expect(await attempt('reader', 'SELECT * FROM content.later')).toBe('done')
    expect(await attempt('writer', 'DELETE FROM analytics.later')).toBe('done')
    expect(await attempt('meta', 'SELECT * FROM analytics.later')).toBe('done')
  })
})

describe('granting', () => {
  it('can be repeated, also for several databases of one server at once', async () => {
    const others = await Promise.all([1, 2, 3].map(() => aDatabase({ migrated: false })))
    const grant = async ({ url }: TestDatabase) => {
      await migrate(url)
      return grantRoles({
        administratorUrl: url,
        sourceSchemas: ['content', 'missing'],
        targetSchemas: ['analytics'],
      })
    }
    const notices = await Promise.all([...others, ...others].map(grant))
    expect(notices.flat()).toEqual([])
  })

  describe('on a server of its own', () => {
    // Roles belong to the server: on the shared one, another file may grant at the same moment.
    let url: string

    beforeAll(async () => {
      const { path: home } = makeMemoryFolder('vitrina-roles')
      const { bin } = inject('server')
      const server = await startPostgres({ home, bin, settings: { max_connections: '50' } })
      closeAtEnd(async () => {
        await server.stop()
        await removePostgres(home)
      })
      url = server.url
      await migrate(url)
    })

    const grant = (options: Partial<RoleOptions> = {}) =>
      grantRoles({ administratorUrl: url, sourceSchemas: [], targetSchemas: ['analytics'], ...options })

    /** What a column of pg_authid has for each login. */
    async function ofLogins(column: string): Promise<Record<string, unknown>> {
      const { rows } = await withClient(url, (client) =>
        client.query<{ login: string; value: unknown }>(
          `SELECT rolname AS login, ${column} AS value FROM pg_authid WHERE rolname = ANY ($1)`,
          [Object.values(LOGINS)],
        ),
      )
      return Object.fromEntries(rows.map(({ login, value }) => [login, value]))
    }

    it('limits the connections of each login, by default to four fifths of what the server accepts', async () => {
      await grant({ connectionLimit: 12 })
      const limits = () => ofLogins('rolconnlimit')
      expect(await limits()).toEqual({ vitrina_reader: 12, vitrina_writer: 12, vitrina_meta: 12 })
      await grant()
      expect(await limits()).toEqual({ vitrina_reader: 40, vitrina_writer: 40, vitrina_meta: 40 })
    })

    it('keeps the verifiers of unchanged passwords, of which a pooler may have copies', async () => {
      await grant()
      const before = await ofLogins('rolpassword')
      await grant()
      expect(await ofLogins('rolpassword')).toEqual(before)
      await grant({ passwords: { reader: 'another one' } })
      const { vitrina_reader: reader, ...others } = await ofLogins('rolpassword')
      expect(before).toMatchObject(others)
      expect(reader).not.toBe(before.vitrina_reader)
      const readerUrl = new URL(url)
      Object.assign(readerUrl, { username: LOGINS.reader, password: encodeURIComponent('another one') })
      await withClient(readerUrl.href, (client) => client.query('SELECT 1'))
    })
  })

  /** Of a database in which the schemas content and ugc both exist. */
  async function granted(database: TestDatabase, sourceSchemas: readonly string[]): Promise<string[]> {
    return grantRoles({ administratorUrl: database.url, sourceSchemas, targetSchemas: ['analytics'] })
  }

  it('revokes what was allowed once and no longer is', async () => {
    const database = await aDatabase({ cinema: true })
    const reader = await database.client(database.loginUrl('reader'))
    expect((await reader.query('SELECT FROM ugc.ratings LIMIT 1')).rowCount).toBe(1)
    await granted(database, ['content'])
    await expect(reader.query('SELECT FROM ugc.ratings LIMIT 1')).rejects.toMatchObject({ code: REFUSED })
    expect((await reader.query('SELECT FROM content.genre LIMIT 1')).rowCount).toBe(1)
    await granted(database, ['content', 'ugc'])
    expect((await reader.query('SELECT FROM ugc.ratings LIMIT 1')).rowCount).toBe(1)
  })

  it('gives the reader nothing in the schema of Vitrina, even if it is listed as a source', async () => {
    const database = await aDatabase()
    await granted(database, ['content', 'etl'])
    const reader = await database.client(database.loginUrl('reader'))
    for (const table of ['etl_tokens', 'etl_changes', 'etl_quarantine'])
      await expect(reader.query(`SELECT FROM etl.${table}`)).rejects.toMatchObject({ code: REFUSED })
  })

  it('lets the logins check queries after TEMPORARY is revoked from PUBLIC', async () => {
    const database = await aDatabase({ cinema: true })
    const name = new URL(database.url).pathname.slice(1)
    await database.query(`REVOKE ALL ON DATABASE ${name} FROM PUBLIC`)
    expect(await granted(database, ['content', 'ugc'])).toEqual([])
    const reader = await database.client(database.loginUrl('reader'))
    await reader.query('BEGIN READ WRITE; CREATE TEMP VIEW mine AS SELECT 1 AS a; ROLLBACK')
  })

  it('reports a power that an administrator granted to a login', async () => {
    const administrator = await database.client()
    // Rolled back: roles belong to the whole server, and to the tests that run at the same time.
    await administrator.query(
      'BEGIN; GRANT pg_read_server_files TO vitrina_reader; ALTER ROLE vitrina_meta BYPASSRLS',
    )
    const warnings = await excessOf(administrator)
    await administrator.query('ROLLBACK')
    expect(warnings).toEqual([
      expect.stringMatching(/^vitrina_meta has BYPASSRLS, .*: ALTER ROLE vitrina_meta NOBYPASSRLS$/),
      expect.stringMatching(
        /^vitrina_reader has the role pg_read_server_files, .*: REVOKE pg_read_server_files FROM vitrina_reader$/,
      ),
    ])
  })

  it('reports privileges in other schemas, granted by hand or left from a target schema', async () => {
    const database = await aDatabase({ cinema: true })
    expect(await granted(database, ['content', 'ugc'])).toEqual([])
    await database.query(`
      CREATE SCHEMA by_hand; CREATE TABLE by_hand.t (); CREATE TABLE public.t (); CREATE SCHEMA "Former Marts";
      GRANT SELECT ON public.t TO vitrina_reader; GRANT USAGE ON SCHEMA by_hand TO vitrina_writer;
      GRANT INSERT ON content.genre TO vitrina_writer; GRANT INSERT ON by_hand.t TO vitrina_meta`)
    const administratorUrl = database.url
    const sourceSchemas = ['content', 'ugc']
    await grantRoles({ administratorUrl, sourceSchemas, targetSchemas: ['analytics', 'Former Marts'] })
    const pairs = (await granted(database, sourceSchemas)).map((warning) =>
      /^(\w+) has privileges in the schema (.*), which Vitrina does not use with this login\. .* run: REVOKE ALL ON SCHEMA ("[^"]+") FROM \1; /
        .exec(warning)
        ?.slice(1),
    )
    expect(pairs).toEqual([
      ['vitrina_meta', 'Former Marts', '"Former Marts"'],
      ['vitrina_meta', 'by_hand', '"by_hand"'],
      ['vitrina_reader', 'public', '"public"'],
      ['vitrina_writer', 'Former Marts', '"Former Marts"'],
      ['vitrina_writer', 'by_hand', '"by_hand"'],
      ['vitrina_writer', 'content', '"content"'],
    ])
  })

  it('sends verifiers of the passwords, so that no log of the server can contain one', async () => {
    const database = await aDatabase()
    const name = new URL(database.url).pathname.slice(1)
    // The server would hash a password itself, in this way.
    await database.query(`ALTER DATABASE ${name} SET password_encryption = 'md5'`)
    await granted(database, ['content'])
    const rows = await database.query<{ kind: string }>(
      "SELECT split_part(rolpassword, '$', 1) AS kind FROM pg_authid WHERE rolname = ANY ($1)",
      [Object.values(LOGINS)],
    )
    expect(rows.map(({ kind }) => kind)).toEqual(Array(3).fill('SCRAM-SHA-256'))
  })

  it('can be done by an administrator who may create roles and is not a superuser', async () => {
    const name = `administrator_${randomBytes(6).toString('hex')}`
    // Hooks run from the last to the first: the database that it owns is dropped before it.
    onTestFinished(() => database.query(`DROP OWNED BY ${name}; DROP ROLE ${name}`).then(() => {}))
    const own = await aDatabase({ migrated: false })
    const administrator = new URL(own.url)
    administrator.username = name
    // The password of the other administrator: the logins belong to the whole server, and their passwords are derived
    // from it.
    await own.query(`CREATE ROLE ${name} LOGIN CREATEROLE PASSWORD '${administrator.password}'`)
    // PostgreSQL 16 and later grant this to the creator of a role. Before, CREATEROLE alone is enough.
    if (inject('server').major >= 16)
      await own.query(
        `GRANT ${Object.values(LOGINS).join(', ')} TO ${name} WITH ADMIN TRUE, INHERIT FALSE, SET FALSE`,
      )
    await own.query(`ALTER DATABASE ${administrator.pathname.slice(1)} OWNER TO ${name}`)
    await migrate(administrator.href)
    const warnings = await grantRoles({
      administratorUrl: administrator.href,
      sourceSchemas: [],
      targetSchemas: ['analytics'],
    })
    // Only a superuser can grant pg_read_all_stats; on this server one has.
    expect(warnings).toEqual([])
    const writer = await own.client(own.loginUrl('writer'))
    await writer.query('CREATE TABLE analytics.mart (id integer)')
    const meta = await own.client(own.loginUrl('meta'))
    expect((await meta.query('SELECT FROM analytics.mart')).rowCount).toBe(0)
  })
})
