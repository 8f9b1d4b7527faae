import { randomBytes } from 'node:crypto'
import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { loadSample } from '../../src/cinema/index.js'
import { migrate } from '../../src/store/migrate.js'
import { grantRoles } from '../../src/store/roles.js'
import { makeMemoryFolder } from './memory-folder.js'
import { removePostgres, startPostgres } from './postgres-server.js'
import { postgresBin } from './postgres-versions.js'

/** What every test file knows about the one server of this run. */
export interface TestServer {
  /** The administrator's connection, to a database that is not copied. */
  readonly url: string
  /** Prefix of every database of this run, so that two runs may share a server. */
  readonly prefix: string
  /** 14 to 18. */
  readonly major: number
  /** Its programs, for tests that start their own server; null is the embedded server. */
  readonly bin: string | null
  /** Whether its data is in memory. Default false. */
  readonly isInMemory?: boolean
}

declare module 'vitest' {
  export interface ProvidedContext {
    server: TestServer
  }
}

/** A database of this run, by its last name. */
export function urlOf(server: TestServer, name: string): string {
  const url = new URL(server.url)
  url.pathname = `/${server.prefix}${name}`
  return url.href
}

/** Run by vitest once, before all files: one server, and the templates that aDatabase() copies. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  await warnWhenStale()
  const { stop, ...started } = await startServer()
  const major = await majorOf(started.url)
  const server: TestServer = { ...started, major, prefix: `test_${randomBytes(4).toString('hex')}_` }
  try {
    await makeTemplates(server)
  } catch (error) {
    await stop()
    throw error
  }
  project.provide('server', server)
  return async () => {
    await dropAll(server)
    await stop()
  }
}

export async function majorOf(url: string): Promise<number> {
  const { rows } = await withClient(url, (client) =>
    client.query<{ major: number }>("SELECT current_setting('server_version_num')::int / 10000 AS major"),
  )
  return rows[0]!.major
}

/** What aDatabase() copies. Tests that start their own server need them there too. */
export async function makeTemplates(server: TestServer): Promise<void> {
  await makeTemplate(server, 'migrated', async () => {})
  await makeTemplate(server, 'cinema', async (client) => void (await loadSample(client)))
}

/** Vitest started directly builds nothing; `npm test` does. */
async function warnWhenStale(): Promise<void> {
  const script = new URL('../../scripts/lib/build.mjs', import.meta.url).href
  const { isBuilt } = (await import(script)) as { isBuilt(): boolean }
  if (!isBuilt())
    process.stderr.write(
      'dist/ is older than src/: tests that start processes use the old program. Run "npm run build".\n',
    )
}

/** VITRINA_TEST_POSTGRES is the version: 14 to 18, or the folder with the programs of a server. */
async function startServer(): Promise<Omit<TestServer, 'prefix' | 'major'> & { stop(): Promise<void> }> {
  const existing = process.env.VITRINA_TEST_DATABASE_URL
  if (existing) return { url: existing, bin: null, stop: async () => {} }
  const bin = await postgresBin(process.env.VITRINA_TEST_POSTGRES || '18')
  const { path: home, isInMemory } = makeMemoryFolder('vitrina-test')
  try {
    const server = await startPostgres({
      home,
      bin,
      settings: { max_connections: '300', max_prepared_transactions: '10' },
    })
    const stop = async () => {
      await server.stop()
      await removePostgres(home)
    }
    return { url: server.url, bin, isInMemory, stop }
  } catch (error) {
    await removePostgres(home)
    throw error
  }
}

async function makeTemplate(
  server: TestServer,
  name: string,
  fill: (client: pg.Client) => Promise<void>,
): Promise<void> {
  await withClient(server.url, (client) => client.query(`CREATE DATABASE ${server.prefix}${name}`))
  const url = urlOf(server, name)
  await withClient(url, fill)
  await migrate(url)
  await grantRoles({ administratorUrl: url, sourceSchemas: ['content', 'ugc'], targetSchemas: ['analytics'] })
  // PostgreSQL copies only a database without connections.
  await withClient(server.url, (client) =>
    client.query(`ALTER DATABASE ${server.prefix}${name} ALLOW_CONNECTIONS false`),
  )
}

async function dropAll(server: TestServer): Promise<void> {
  await withClient(server.url, async (client) => {
    const { rows } = await client.query<{ datname: string }>(
      'SELECT datname FROM pg_database WHERE starts_with(datname, $1)',
      [server.prefix],
    )
    for (const { datname } of rows) await client.query(`DROP DATABASE IF EXISTS ${datname} WITH (FORCE)`)
  })
}

export async function withClient<T>(url: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, application_name: 'test' })
  await client.connect()
  try {
    return await use(client)
  } finally {
    await client.end()
  }
}
