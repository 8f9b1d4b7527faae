import type pg from 'pg'
import { LOGINS, type Login } from '../model/logins.js'
import { quoteIdentifier } from '../sql/identifiers.js'

/*
 * Limits of the logins. Functions of pg_catalog cannot be revoked from one login: everyone may call them through
 * PUBLIC, and revoking them from PUBLIC would change the database for all users (docs/adr/0014).
 */

/**
 * How a session of the reader starts, whichever program opens it. A session may change these settings; the guard
 * allows no query to do so.
 */
const READER_SETTINGS = {
  default_transaction_read_only: 'on',
  search_path: '',
  lock_timeout: '30s',
  statement_timeout: '1h',
  idle_in_transaction_session_timeout: '5min',
}

export function readerSettings(): string {
  return Object.entries(READER_SETTINGS)
    .map(([name, value]) => `ALTER ROLE ${LOGINS.reader} SET ${name} = '${value}'`)
    .join('; ')
}

/**
 * Schemas that were allowed once and no longer are. Grants by other roles are kept: only the grantor can revoke them.
 */
export async function revokeSources(client: pg.Client, allowed: readonly string[]): Promise<void> {
  const { rows } = await client.query<{ nspname: string }>(
    `SELECT DISTINCT n.nspname FROM pg_namespace n, aclexplode(n.nspacl) a
      WHERE a.grantee = to_regrole($1) AND NOT n.nspname = ANY ($2)`,
    [LOGINS.reader, allowed],
  )
  for (const schema of rows.map(({ nspname }) => quoteIdentifier(nspname))) {
    await client.query(`
      REVOKE ALL ON SCHEMA ${schema} FROM ${LOGINS.reader};
      REVOKE ALL ON ALL TABLES IN SCHEMA ${schema} FROM ${LOGINS.reader};
      ALTER DEFAULT PRIVILEGES IN SCHEMA ${schema} REVOKE ALL ON TABLES FROM ${LOGINS.reader}`)
  }
}

/**
 * Checking a query creates a temporary view, a run creates temporary tables: granted explicitly, so that an
 * administrator may revoke TEMPORARY from PUBLIC. Returns warnings.
 */
export async function grantTemporary(client: pg.Client): Promise<string[]> {
  const logins = Object.values(LOGINS)
  const { rows } = await client.query<{ name: string }>('SELECT quote_ident(current_database()) AS name')
  await client
    .query(`GRANT CONNECT, TEMPORARY ON DATABASE ${rows[0]!.name} TO ${logins.join(', ')}`)
    .catch((error: { code?: string }) => {
      // Not the owner of the database. PUBLIC has the privilege unless it was revoked, which is checked below.
      if (error.code !== '42501') throw error
    })
  const missing = await client.query<{ rolname: string }>(
    `SELECT rolname FROM pg_roles WHERE rolname = ANY ($1) AND NOT has_database_privilege(oid, current_database(), 'TEMPORARY')`,
    [logins],
  )
  return missing.rows.map(
    ({ rolname }) =>
      `${rolname} may not create temporary tables, which are needed to check queries. Ask an administrator for: GRANT TEMPORARY ON DATABASE ${rows[0]!.name} TO ${rolname}`,
  )
}

const EXPECTED: readonly string[] = [
  `${LOGINS.reader} pg_read_all_stats`,
  `${LOGINS.writer} pg_read_all_stats`,
  `${LOGINS.writer} ${LOGINS.reader}`,
]

/**
 * Warnings about attributes that an administrator granted to a login. They are reported, not revoked, because they
 * may be intentional.
 */
export async function excessOf(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ login: string; power: string; revoke: string }>(
    `SELECT r.rolname AS login, p.power, format('ALTER ROLE %I NO%s', r.rolname, p.power) AS revoke
       FROM pg_roles r CROSS JOIN LATERAL (VALUES (r.rolsuper, 'SUPERUSER'), (r.rolcreaterole, 'CREATEROLE'), (r.rolcreatedb, 'CREATEDB'),
            (r.rolreplication, 'REPLICATION'), (r.rolbypassrls, 'BYPASSRLS')) AS p(has, power)
      WHERE r.rolname = ANY ($1) AND p.has
      UNION ALL
     SELECT r.rolname, 'the role ' || g.rolname, format('REVOKE %I FROM %I', g.rolname, r.rolname)
       FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.member JOIN pg_roles g ON g.oid = m.roleid
      WHERE r.rolname = ANY ($1) AND NOT r.rolname || ' ' || g.rolname = ANY ($2)
      ORDER BY 1, 2`,
    [Object.values(LOGINS), EXPECTED],
  )
  return rows.map(
    ({ login, power, revoke }) =>
      `${login} has ${power}, which Vitrina never grants: a query could do more than intended. Unless this is intentional, run: ${revoke}`,
  )
}

/** The schemas in which each login has privileges of its own; the writer also has those of the reader. */
export type LoginSchemas = Readonly<Record<Login, readonly string[]>>

/**
 * Warnings about privileges in other schemas, granted by hand or left from a schema that was once allowed. They are
 * reported, not revoked: the administrator may not be the grantor, and only a grantor can revoke.
 */
export async function strayGrants(client: pg.Client, allowed: LoginSchemas): Promise<string[]> {
  const { rows } = await client.query<{ login: string; schema: string }>(
    `SELECT DISTINCT r.rolname AS login, g.schema
       FROM (SELECT n.nspname AS schema, (aclexplode(n.nspacl)).grantee FROM pg_namespace n
             UNION SELECT n.nspname, (aclexplode(c.relacl)).grantee FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
              WHERE NOT c.relowner = ANY (SELECT oid FROM pg_roles WHERE rolname = ANY ($1))) AS g
       JOIN pg_roles r ON r.oid = g.grantee
       JOIN unnest($1::text[], $2::text[]) AS a (login, schemas) ON a.login = r.rolname
      WHERE g.schema !~ '^pg_' AND NOT g.schema = ANY (a.schemas::text[]) ORDER BY 1, 2`,
    [Object.values(LOGINS), (Object.keys(LOGINS) as Login[]).map((login) => arrayLiteral(allowed[login]))],
  )
  return rows.map(({ login, schema }) => {
    const name = quoteIdentifier(schema)
    return `${login} has privileges in the schema ${schema}, which Vitrina does not use with this login. Unless this is intentional, run: REVOKE ALL ON SCHEMA ${name} FROM ${login}; REVOKE ALL ON ALL TABLES IN SCHEMA ${name} FROM ${login}`
  })
}

/** An array of PostgreSQL as text: arrays of different lengths cannot be one parameter. */
function arrayLiteral(texts: readonly string[]): string {
  return `{${texts.map((text) => JSON.stringify(text)).join(',')}}`
}
