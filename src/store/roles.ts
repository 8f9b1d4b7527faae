import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto'
import type pg from 'pg'
import { CAPTURE_LOGIN, embeddedCaptureUrl, LOGINS, type Login, loginPassword } from '../model/logins.js'
import { LimitedClient } from '../postgres/client.js'
import { lostOr } from '../postgres/errors.js'
import { quoteIdentifier, quoteLiteral } from '../sql/identifiers.js'
import {
  excessOf,
  grantTemporary,
  type LoginSchemas,
  readerSettings,
  revokeSources,
  strayGrants,
} from './login-limits.js'

export interface RoleOptions {
  readonly administratorUrl: string
  /** Those that an operator chose. The others are derived from the administrator's. */
  readonly passwords?: Readonly<Partial<Record<Login, string>>>
  /** What a source query may read. */
  readonly sourceSchemas: readonly string[]
  /** Schemas that hold marts, from ALLOWED_TARGET_TABLES. */
  readonly targetSchemas: readonly string[]
  /** Connections that each login may have; by default four fifths of what the server accepts. */
  readonly connectionLimit?: number | undefined
}

const DEFAULT_CONNECTION_LIMIT = "SELECT current_setting('max_connections')::int * 4 / 5 AS connections"

/**
 * The three least-privilege logins. Safe to repeat; `vitrina migrate` does so each time, because schemas and tables
 * may have come since.
 *   reader  reads the source schemas, nothing else; sees when other transactions began (the horizon needs it)
 *   writer  the runner: reads the sources, writes marts and staging, moves runs and checkpoints; cannot edit configuration
 *   meta    the API: configuration and history; reads marts to compare them; neither reads sources nor writes marts
 * Returns what could not be granted, and what they have beyond it, in words.
 */
export async function grantRoles(given: RoleOptions): Promise<string[]> {
  // A source in another database may have a schema of this name. Here it holds tokens, sessions and captured rows.
  const options = { ...given, sourceSchemas: given.sourceSchemas.filter((name) => name !== 'etl') }
  const client = new LimitedClient({
    connectionString: options.administratorUrl,
    application_name: 'vitrina-migrate',
    connectionTimeoutMillis: 10_000,
  })
  try {
    await client.connect()
    const kept = await createLogins(client, options)
    await retryConcurrent(() => client.query(grantsOnMetaStore()))
    await retryConcurrent(() => client.query(readerSettings()))
    await retryConcurrent(() => revokeSources(client, options.sourceSchemas))
    await retryConcurrent(() => grantSources(client, options.sourceSchemas))
    await retryConcurrent(() => joinWriter(client))
    await retryConcurrent(() => grantMarts(client, options.targetSchemas))
    await retryConcurrent(() => grantNewMarts(client, options))
    return [
      ...kept,
      ...(await grantStatistics(client)),
      ...(await retryConcurrent(() => grantTemporary(client))),
      ...(await excessOf(client)),
      ...(await strayGrants(client, schemasOf(options))),
    ]
  } catch (error) {
    throw lostOr(error)
  } finally {
    await client.end().catch(() => {})
  }
}

function schemasOf({ sourceSchemas, targetSchemas }: RoleOptions): LoginSchemas {
  const owned = ['etl', ...targetSchemas]
  return { reader: sourceSchemas, writer: owned, meta: owned }
}

/**
 * The login that captures changes on a server that belongs to Vitrina. It can do nothing else there; on other servers
 * REPLICATION is the administrator's to give.
 */
export async function createCaptureLogin(administratorUrl: string): Promise<void> {
  const client = new LimitedClient({
    connectionString: administratorUrl,
    application_name: 'vitrina-migrate',
    connectionTimeoutMillis: 10_000,
  })
  try {
    await client.connect()
    await createLogin(client, CAPTURE_LOGIN)
    const { password } = new URL(embeddedCaptureUrl(administratorUrl))
    const secret = await passwordClause(client, CAPTURE_LOGIN, decodeURIComponent(password))
    await client.query(`ALTER ROLE ${CAPTURE_LOGIN} LOGIN REPLICATION ${secret}`)
  } catch (error) {
    throw lostOr(error)
  } finally {
    await client.end().catch(() => {})
  }
}

/** Marks a login whose password an operator chose. */
const CHOSEN = 'vitrina: password chosen by an operator'

/** Creates those that are missing, sets passwords and limits. Returns which passwords were left alone, in words. */
async function createLogins(client: pg.Client, options: RoleOptions): Promise<string[]> {
  const { administratorUrl, passwords } = options
  const connections = options.connectionLimit ?? (await defaultConnectionLimit(client))
  const kept: string[] = []
  for (const login of Object.keys(LOGINS) as Login[]) {
    const derived = loginPassword(administratorUrl, login)
    const password = passwords?.[login] ?? derived
    const isChosen = password !== derived
    const comment = await createLogin(client, LOGINS[login])
    // A second program that knows the administrator's URL only must not lock out those that log in with the chosen one.
    const isKept = comment === CHOSEN && !isChosen
    if (isKept) kept.push(LOGINS[login])
    await alterLogin(client, LOGINS[login], { connections, password: isKept ? null : password })
    if (comment === null && isChosen) await commentOn(client, LOGINS[login])
  }
  if (kept.length === 0) return []
  return [
    `${kept.join(', ')} ${kept.length === 1 ? 'keeps its password' : 'keep their passwords'}: an operator chose ${kept.length === 1 ? 'it' : 'them'}. To change them, run this with the URLs of the logins set; to derive them again, first COMMENT ON ROLE … IS NULL.`,
  ]
}

/** Returns its comment. */
async function createLogin(client: pg.Client, name: string): Promise<string | null> {
  const { rows } = await client.query<{ comment: string | null }>(
    "SELECT shobj_description(oid, 'pg_authid') AS comment FROM pg_roles WHERE rolname = $1",
    [name],
  )
  // Two databases of one server may be migrated at the same moment: the loser finds the role there, and continues.
  if (rows.length === 0)
    await client.query(`CREATE ROLE ${quoteIdentifier(name)} LOGIN NOINHERIT`).catch(ignoreDuplicate)
  return rows[0]?.comment ?? null
}

/** A password of null is left as it is. */
async function alterLogin(
  client: pg.Client,
  name: string,
  { connections, password }: { connections: number; password: string | null },
): Promise<void> {
  const secret = password === null ? '' : await passwordClause(client, name, password)
  // One login that takes all connections would keep the others out, including the administrator.
  const limit = `CONNECTION LIMIT ${connections}`
  await retryConcurrent(() =>
    client.query(`ALTER ROLE ${quoteIdentifier(name)} LOGIN INHERIT ${secret} ${limit}`),
  )
}

/**
 * Empty if the login has this password already: a pooler that signs in with a copy of its verifier must not be locked
 * out because `migrate` was repeated. An administrator who may not read verifiers sets the password each time.
 */
async function passwordClause(client: pg.Client, name: string, password: string): Promise<string> {
  const stored = await storedVerifier(client, name)
  const [, iterations, salt] = stored?.match(/^SCRAM-SHA-256\$(\d+):([^$]+)\$/) ?? []
  const isSet =
    salt !== undefined && stored === scramVerifier(password, Buffer.from(salt, 'base64'), Number(iterations))
  return isSet ? '' : `PASSWORD ${quoteLiteral(scramVerifier(password))}`
}

async function storedVerifier(client: pg.Client, name: string): Promise<string | null> {
  const { rows } = await client.query<{ readable: boolean }>(
    "SELECT has_table_privilege('pg_catalog.pg_authid', 'SELECT') AS readable",
  )
  if (!rows[0]!.readable) return null
  const { rows: logins } = await client.query<{ verifier: string | null }>(
    'SELECT rolpassword AS verifier FROM pg_catalog.pg_authid WHERE rolname = $1',
    [name],
  )
  return logins[0]?.verifier ?? null
}

async function commentOn(client: pg.Client, name: string): Promise<void> {
  await retryConcurrent(() =>
    client.query(`COMMENT ON ROLE ${quoteIdentifier(name)} IS ${quoteLiteral(CHOSEN)}`),
  )
}

async function defaultConnectionLimit(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ connections: number }>(DEFAULT_CONNECTION_LIMIT)
  return rows[0]!.connections
}

function ignoreDuplicate(error: { code?: string }): void {
  if (error.code !== '42710' && error.code !== '23505') throw error
}

/**
 * Roles are shared by all databases of a server, and concurrent ALTER ROLE or GRANT statements fail with "tuple
 * concurrently updated".
 */
async function retryConcurrent<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work()
    } catch (error) {
      const { code, message } = error as { code?: string; message: string }
      const isMeeting = code === '23505' || /concurrently updated/.test(message)
      if (tries === 10 || !isMeeting) throw error
    }
  }
}

/** Sent instead of the password, so that the server's log never sees it. */
function scramVerifier(password: string, salt = randomBytes(16), iterations = 4096): string {
  const salted = pbkdf2Sync(saslPrep(password), salt, iterations, 32, 'sha256')
  const key = (name: string) => createHmac('sha256', salted).update(name).digest()
  const stored = createHash('sha256').update(key('Client Key')).digest('base64')
  return `SCRAM-SHA-256$${iterations}:${salt.toString('base64')}$${stored}:${key('Server Key').toString('base64')}`
}

/** RFC 4013 as clients apply it before they sign in: without it a password with such characters never matches. */
function saslPrep(password: string): string {
  return password
    .replace(/[\u00A0\u1680\u2000-\u200B\u202F\u205F\u3000]/g, ' ')
    .replace(/\u00AD|\u034F|\u1806|[\u180B-\u180D]|\u200C|\u200D|\u2060|[\uFE00-\uFE0F]|\uFEFF/g, '')
    .normalize('NFKC')
}

function grantsOnMetaStore(): string {
  return `
    GRANT ${LOGINS.reader} TO ${LOGINS.writer};
    GRANT USAGE ON SCHEMA etl TO ${LOGINS.writer}, ${LOGINS.meta};
    GRANT SELECT ON ALL TABLES IN SCHEMA etl TO ${LOGINS.writer}, ${LOGINS.meta};
    REVOKE SELECT ON etl.etl_changes FROM ${LOGINS.meta};

    GRANT UPDATE (status, fence, lease_owner, lease_until, next_run_at) ON etl.etl_pipelines TO ${LOGINS.writer};
    GRANT INSERT, UPDATE ON etl.etl_state, etl.etl_runs, etl.etl_run_batches, etl.etl_run_parts, etl.etl_quarantine, etl.etl_check_results, etl.etl_runners TO ${LOGINS.writer};
    GRANT DELETE ON etl.etl_runners, etl.etl_run_parts TO ${LOGINS.writer};
    GRANT INSERT ON etl.etl_run_log, etl.etl_known_reads TO ${LOGINS.writer};
    GRANT UPDATE (repaired_at) ON etl.etl_repairs TO ${LOGINS.writer};
    GRANT INSERT, UPDATE, DELETE ON etl.etl_change_heads, etl.etl_changes, etl.etl_change_positions TO ${LOGINS.writer};
    GRANT INSERT ON etl.etl_repairs TO ${LOGINS.meta};
    GRANT INSERT, UPDATE ON etl.etl_comparisons, etl.etl_profiles, etl.etl_openlineage TO ${LOGINS.meta};
    GRANT INSERT, DELETE ON etl.etl_check_results TO ${LOGINS.meta};

    GRANT INSERT, UPDATE, DELETE ON etl.etl_pipelines, etl.etl_pipeline_tasks, etl.etl_state, etl.etl_runs, etl.etl_quarantine TO ${LOGINS.meta};

    REVOKE SELECT ON etl.etl_tokens, etl.etl_sessions, etl.etl_audit, etl.etl_idempotency FROM ${LOGINS.writer};
    GRANT INSERT ON etl.etl_audit TO ${LOGINS.meta};
    GRANT INSERT, UPDATE ON etl.etl_tokens TO ${LOGINS.meta};
    GRANT INSERT, UPDATE, DELETE ON etl.etl_sessions TO ${LOGINS.meta};
    GRANT INSERT, UPDATE, DELETE ON etl.etl_idempotency TO ${LOGINS.meta};
    GRANT UPDATE (seq), DELETE ON etl.etl_events TO ${LOGINS.meta};
    GRANT INSERT, UPDATE, DELETE ON etl.etl_notification_rules, etl.etl_notification_messages TO ${LOGINS.meta};
    GRANT UPDATE (message_id, dropped), DELETE ON etl.etl_outbox TO ${LOGINS.meta};
    GRANT UPDATE (breached_at, cause) ON etl.etl_freshness TO ${LOGINS.meta};

    GRANT EXECUTE ON FUNCTION etl.request_due_runs(), etl.note_reads(uuid, text[], text[], text[], boolean) TO ${LOGINS.writer}, ${LOGINS.meta};
    GRANT EXECUTE ON FUNCTION etl.mark_followers(uuid, timestamptz, uuid) TO ${LOGINS.writer};
    GRANT EXECUTE ON FUNCTION etl.inherit_freshness() TO ${LOGINS.writer}, ${LOGINS.meta};
    GRANT EXECUTE ON FUNCTION etl.plan_wave(uuid, text), etl.know_reads(uuid, bigint) TO ${LOGINS.meta};`
}

async function grantSources(client: pg.Client, schemas: readonly string[]): Promise<void> {
  for (const schema of await existing(client, schemas)) {
    await client.query(`
      GRANT USAGE ON SCHEMA ${schema} TO ${LOGINS.reader};
      GRANT SELECT ON ALL TABLES IN SCHEMA ${schema} TO ${LOGINS.reader};
      ALTER DEFAULT PRIVILEGES IN SCHEMA ${schema} GRANT SELECT ON TABLES TO ${LOGINS.reader}`)
  }
}

/**
 * An administrator who is not a superuser cannot set default privileges for a login unless they are a member of it.
 */
async function joinWriter(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ belongs: boolean }>(
    "SELECT pg_has_role($1::name, 'USAGE') AS belongs",
    [LOGINS.writer],
  )
  if (!rows[0]!.belongs) await client.query(`GRANT ${LOGINS.writer} TO CURRENT_USER`)
}

async function grantMarts(client: pg.Client, schemas: readonly string[]): Promise<void> {
  for (const schema of await existing(client, schemas)) {
    await client.query(`
      GRANT USAGE, CREATE ON SCHEMA ${schema} TO ${LOGINS.writer};
      GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${LOGINS.writer};
      ALTER DEFAULT PRIVILEGES IN SCHEMA ${schema} GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO ${LOGINS.writer};
      GRANT USAGE ON SCHEMA ${schema} TO ${LOGINS.meta};
      GRANT SELECT ON ALL TABLES IN SCHEMA ${schema} TO ${LOGINS.meta};
      ALTER DEFAULT PRIVILEGES IN SCHEMA ${schema} GRANT SELECT ON TABLES TO ${LOGINS.meta};
      ALTER DEFAULT PRIVILEGES FOR ROLE ${LOGINS.writer} IN SCHEMA ${schema} GRANT SELECT ON TABLES TO ${LOGINS.meta}`)
  }
}

/** Marts may be sources of other marts: the reader may read those that the writer will create, where it may read at all. */
async function grantNewMarts(
  client: pg.Client,
  { sourceSchemas, targetSchemas }: RoleOptions,
): Promise<void> {
  for (const schema of await existing(client, targetSchemas)) {
    const isSource = sourceSchemas.some((name) => quoteIdentifier(name) === schema)
    await client.query(
      `ALTER DEFAULT PRIVILEGES FOR ROLE ${LOGINS.writer} IN SCHEMA ${schema} ${isSource ? 'GRANT' : 'REVOKE'} SELECT ON TABLES ${isSource ? 'TO' : 'FROM'} ${LOGINS.reader}`,
    )
  }
}

async function existing(client: pg.Client, schemas: readonly string[]): Promise<string[]> {
  const { rows } = await client.query<{ nspname: string }>(
    'SELECT nspname FROM pg_namespace WHERE nspname = ANY($1)',
    [schemas],
  )
  return rows.map((row) => quoteIdentifier(row.nspname))
}

/** Without it a role sees NULL instead of the start of other transactions, and would lose rows without noticing. */
async function grantStatistics(client: pg.Client): Promise<string[]> {
  try {
    await retryConcurrent(() => client.query(`GRANT pg_read_all_stats TO ${LOGINS.reader}, ${LOGINS.writer}`))
    return []
  } catch (error) {
    if ((error as { code?: string }).code !== '42501') throw error
    // A user who may has already done it.
    const { rows } = await client.query<{ all: boolean }>(
      `SELECT bool_and(pg_has_role(rolname, 'pg_read_all_stats', 'USAGE')) AS all FROM pg_roles WHERE rolname = ANY ($1)`,
      [[LOGINS.reader, LOGINS.writer]],
    )
    if (rows[0]!.all) return []
    return [
      `pg_read_all_stats could not be granted (${(error as Error).message}): incremental pipelines with capture "key" need it. Ask an administrator for: GRANT pg_read_all_stats TO ${LOGINS.reader}, ${LOGINS.writer}`,
    ]
  }
}
