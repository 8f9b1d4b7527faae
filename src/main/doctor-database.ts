import type pg from 'pg'
import { loginUrl } from '../config/settings.js'
import { LOGINS, type Login } from '../model/logins.js'
import { targetSchemas } from '../model/target.js'
import { checkServer } from '../postgres/server-check.js'
import { untestedVersion } from '../postgres/server-version.js'
import { requireMigrated } from '../store/migrate.js'
import { asVitrinaError } from './as-vitrina-error.js'
import { withClient } from './connect.js'
import { type DoctorResult, failed, ok, warning } from './doctor-result.js'
import type { MainSettings } from './environment.js'
import { shownAddress } from './probe.js'

const MIGRATE = 'Run "vitrina migrate".'

export async function examineDatabase(settings: MainSettings): Promise<DoctorResult[]> {
  try {
    return await withClient(settings.DATABASE_URL, async (client) => {
      const findings = [
        ok('database', `responds at ${shownAddress(settings.DATABASE_URL)}`),
        ...(await examineServer(client, settings.DATABASE_URL)),
        await examineMigrations(client),
      ]
      for (const login of Object.keys(LOGINS) as Login[]) findings.push(await examineLogin(settings, login))
      findings.push(await examineStatistics(client))
      for (const schema of settings.ALLOWED_SOURCE_SCHEMAS) findings.push(await examineSource(client, schema))
      for (const schema of targetSchemas({ tables: settings.ALLOWED_TARGET_TABLES }))
        findings.push(await examineTarget(client, schema))
      return findings
    })
  } catch (error) {
    const { message, hint } = asVitrinaError(error)
    return [failed('database', message, hint)]
  }
}

async function examineServer(client: pg.Client, url: string): Promise<DoctorResult[]> {
  try {
    const server = await checkServer(client, url)
    const untested = untestedVersion(server)
    const major = Math.floor(server.number / 10_000)
    return [
      untested === null ? ok('version', `PostgreSQL ${major}`) : warning('version', untested),
      ...(server.isPooled ? [ok('pooler', 'keeps a server session for each connection')] : []),
    ]
  } catch (error) {
    const { code, message, hint } = asVitrinaError(error)
    return [failed(code === 'POOLER_UNSUITABLE' ? 'pooler' : 'version', message, hint)]
  }
}

async function examineMigrations(client: pg.Client): Promise<DoctorResult> {
  try {
    await requireMigrated(async (sql) => (await client.query(sql)).rows)
    return ok('migrations', 'the meta store is up to date')
  } catch (error) {
    const { message, hint } = asVitrinaError(error)
    return failed('migrations', message, hint)
  }
}

async function examineLogin(settings: MainSettings, login: Login): Promise<DoctorResult> {
  const check = `login ${login}`
  try {
    const name = await withClient(
      loginUrl(settings, login),
      async (client) => (await one<{ current_user: string }>(client, 'SELECT current_user')).current_user,
    )
    return ok(check, `${name} can connect`)
  } catch (error) {
    return failed(check, asVitrinaError(error).message, MIGRATE)
  }
}

async function examineStatistics(client: pg.Client): Promise<DoctorResult> {
  const granted = await one<{ ok: boolean }>(
    client,
    `SELECT coalesce(bool_and(pg_has_role(rolname, 'pg_read_all_stats', 'USAGE')), false) AS ok FROM pg_roles WHERE rolname = ANY ($1)`,
    [[LOGINS.reader, LOGINS.writer]],
  )
  if (granted.ok) return ok('statistics', 'reader and writer see when other transactions began')
  return failed(
    'statistics',
    'reader or writer lacks pg_read_all_stats: incremental pipelines would miss rows',
    `As an administrator: GRANT pg_read_all_stats TO ${LOGINS.reader}, ${LOGINS.writer}`,
  )
}

async function examineSource(client: pg.Client, schema: string): Promise<DoctorResult> {
  const check = `source ${schema}`
  if (!(await hasSchema(client, schema)))
    return failed(
      check,
      'the schema does not exist',
      'Create it, load the sample with "vitrina demo", or change ALLOWED_SOURCE_SCHEMAS.',
    )
  if (!(await hasLogin(client, 'reader')))
    return failed(check, 'the login reader does not exist yet', MIGRATE)
  const { tables, readable } = await one<{ tables: number; readable: number }>(
    client,
    `SELECT count(*)::int AS tables,
            count(*) FILTER (WHERE has_schema_privilege($2::text, relnamespace, 'USAGE') AND has_table_privilege($2::text, c.oid, 'SELECT'))::int AS readable
       FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = $1 AND relkind IN ('r', 'p', 'v', 'm', 'f')`,
    [schema, LOGINS.reader],
  )
  if (readable === tables) return ok(check, `${tables} tables, all readable`)
  return failed(check, `${tables - readable} of ${tables} tables cannot be read by ${LOGINS.reader}`, MIGRATE)
}

async function examineTarget(client: pg.Client, schema: string): Promise<DoctorResult> {
  const check = `target ${schema}`
  if (!(await hasSchema(client, schema)))
    return failed(
      check,
      'the schema does not exist',
      `Create it, then run "vitrina migrate"; or change ALLOWED_TARGET_TABLES.`,
    )
  if (!(await hasLogin(client, 'writer')))
    return failed(check, 'the login writer does not exist yet', MIGRATE)
  const granted = await one<{ ok: boolean }>(
    client,
    `SELECT has_schema_privilege($1::text, $2::text, 'USAGE, CREATE') AS ok`,
    [LOGINS.writer, schema],
  )
  return granted.ok
    ? ok(check, 'marts can be created and filled')
    : failed(check, `${LOGINS.writer} cannot create tables in it`, MIGRATE)
}

async function hasSchema(client: pg.Client, schema: string): Promise<boolean> {
  return (
    await one<{ found: boolean }>(
      client,
      'SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1) AS found',
      [schema],
    )
  ).found
}

async function hasLogin(client: pg.Client, login: Login): Promise<boolean> {
  return (
    await one<{ found: boolean }>(
      client,
      'SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1) AS found',
      [LOGINS[login]],
    )
  ).found
}

async function one<R extends pg.QueryResultRow>(
  client: pg.Client,
  sql: string,
  values: unknown[] = [],
): Promise<R> {
  const { rows } = await client.query<R>(sql, values)
  return rows[0]!
}
