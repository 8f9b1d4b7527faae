import pg from 'pg'
import { LimitedClient } from '../postgres/client.js'
import { ADMIN } from './credentials.js'
import { embeddedFailed } from './embedded-failure.js'
import { hasCode } from './files.js'

const CONNECT_MS = 5_000
const WRONG_PASSWORD = '28P01'

/** Errors of a server that is starting up or shutting down. */
const NOT_YET = ['57P03', '57P01', '53300', 'ECONNREFUSED', 'ECONNRESET']

export interface ServerLogin {
  readonly port: number
  readonly password: string
}

/** Returns false while the server is not ready. */
export async function canConnect(login: ServerLogin): Promise<boolean> {
  try {
    await withClient(login, async (client) => await client.query('select 1'))
    return true
  } catch (error) {
    if (hasCode(error, WRONG_PASSWORD))
      throw embeddedFailed('the password in credentials.json does not match the data folder', {
        remedy: 'Restore the file that belongs to the data, or move the data folder elsewhere.',
        cause: error,
      })
    if (hasCode(error, ...NOT_YET) || isTimeout(error)) return false
    throw error
  }
}

export async function ensureDatabase(login: ServerLogin, name: string): Promise<void> {
  await withClient(login, async (client) => {
    const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [name])
    if (rowCount === 0) await client.query(`create database ${pg.escapeIdentifier(name)}`)
  })
}

async function withClient<T>(
  { port, password }: ServerLogin,
  use: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new LimitedClient({
    host: '127.0.0.1',
    port,
    user: ADMIN,
    password,
    database: 'postgres',
    ssl: false,
    connectionTimeoutMillis: CONNECT_MS,
  })
  // Without a listener, a server that dies now would end our process too.
  client.on('error', () => {})
  try {
    await client.connect()
    return await use(client)
  } finally {
    await client.end().catch(() => {})
  }
}

function isTimeout(error: unknown): boolean {
  return error instanceof Error && /timeout|terminated unexpectedly/i.test(error.message)
}
