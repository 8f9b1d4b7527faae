import type pg from 'pg'
import { VitrinaError } from '../model/errors.js'
import { LimitedClient, socketOf } from './client.js'
import { requireSupportedVersion, type ServerVersion } from './server-version.js'

export interface CheckedServer extends ServerVersion {
  /** Whether a pooler is between this process and the server. */
  readonly isPooled: boolean
}

/** Enough for a pooler with a free session. Without one, a second client would wait for minutes. */
const SECOND_CLIENT_MS = 3_000

/** One comparison shows a pooler in transaction mode that has nothing else to do; a busy one may need more. */
const ROUNDS = 3

/**
 * Rejects a server that is too old, and a pooler that does not keep one server session for the connection:
 * settings and temporary tables of a run would end up in the sessions of other clients.
 */
export async function checkServer(client: pg.Client, url: string): Promise<CheckedServer> {
  const { pid, ...version } = await askServer(client)
  requireSupportedVersion(version)
  // The pid that PostgreSQL sends at login is that of the session. A pooler sends another number.
  const isPooled = pid !== (client as unknown as { processID: number | null }).processID
  if (isPooled && !(await isSessionKept(client, url))) throw sessionNotKept()
  return { ...version, isPooled }
}

async function askServer(client: pg.Client): Promise<ServerVersion & { pid: number }> {
  const { rows } = await client.query<{ pid: string; number: string; text: string }>(
    `SELECT pg_backend_pid()::text AS pid, current_setting('server_version_num') AS number,
            current_setting('server_version') AS text`,
  )
  const { pid, number, text } = rows[0]!
  return { pid: Number(pid), number: Number(number), text }
}

/**
 * Two clients that are connected at the same time never share a server session, and neither changes it, unless sessions
 * return to the pool after each transaction.
 */
async function isSessionKept(client: pg.Client, url: string): Promise<boolean> {
  const own = await pidOf(client)
  const other = secondClient(url)
  try {
    await other.connect()
    for (let round = 0; round < ROUNDS; round++)
      if ((await pidOf(other)) === own || (await pidOf(client)) !== own) return false
    return true
  } catch {
    // A pool that has no session for a second client, and still has ours, keeps it.
    return (await pidOf(client)) === own
  } finally {
    // Not end(): the pooler does not respond while the client waits for a session.
    socketOf(other).destroy()
  }
}

function secondClient(url: string): pg.Client {
  const client = new LimitedClient({
    connectionString: url,
    application_name: 'vitrina-pooler-check',
    connectionTimeoutMillis: SECOND_CLIENT_MS,
    query_timeout: SECOND_CLIENT_MS,
  })
  return client.on('error', () => {})
}

async function pidOf(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: string }>('SELECT pg_backend_pid()::text AS pid')
  return Number(rows[0]!.pid)
}

function sessionNotKept(): VitrinaError {
  return new VitrinaError(
    'POOLER_UNSUITABLE',
    'The connection goes through a pooler in transaction or statement mode: consecutive statements reach different sessions of the server.',
    'Connect to PostgreSQL directly, or set the pooler to session mode for this database (PgBouncer: pool_mode=session in its line of [databases]).',
  )
}
