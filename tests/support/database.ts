import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { inject } from 'vitest'
import { LOGINS, type Login, loginPassword } from '../../src/model/logins.js'
import { closeAtEnd } from './close-at-end.js'
import { type TestServer, urlOf, withClient } from './server.js'
import { waitFor } from './wait.js'

/** A separate database for one test, or for one file if created in beforeAll. It drops itself. */
export interface TestDatabase {
  /** The administrator's connection. */
  readonly url: string
  /** The URL of one of the three least-privilege logins. */
  loginUrl(login: Login): string
  /** A connection as administrator, or with another URL; closed by drop(). */
  client(url?: string): Promise<pg.Client>
  /** One statement as administrator. */
  query<R extends pg.QueryResultRow>(text: string, values?: readonly unknown[]): Promise<R[]>
  /** Fails if a part of Vitrina is still connected. */
  drop(): Promise<void>
}

export interface TestDatabaseOptions {
  /** With the meta store and the three logins. Default true. */
  readonly migrated?: boolean
  /** With the sample cinema, and the meta store too. Default false. */
  readonly cinema?: boolean
  /** A copy of this one, which has no connections. */
  readonly like?: TestDatabase
  /** Default: the server of this run. */
  readonly server?: TestServer
}

export async function aDatabase({
  migrated = true,
  cinema = false,
  like,
  server = inject('server'),
}: TestDatabaseOptions = {}): Promise<TestDatabase> {
  const name = randomBytes(6).toString('hex')
  const made = cinema ? 'cinema' : migrated ? 'migrated' : null
  const template = like ? nameOf(like.url) : made === null ? 'template0' : server.prefix + made
  await withClient(server.url, async (client) => {
    // One copy of a template at a time.
    await client.query("SELECT pg_advisory_lock(hashtext('test template'))")
    await client.query(`CREATE DATABASE ${server.prefix}${name} TEMPLATE ${template}${strategyOf(server)}`)
  })
  const database = new OwnDatabase(urlOf(server, name), server.url)
  closeAtEnd(() => database.dropAtEnd())
  return database
}

/** In memory, copying the files costs half of what PostgreSQL's default does, which logs every page; on disk six times. */
function strategyOf({ isInMemory = false, major }: TestServer): string {
  return isInMemory && major >= 15 ? ' STRATEGY FILE_COPY' : ''
}

class OwnDatabase implements TestDatabase {
  readonly url: string
  readonly #serverUrl: string
  readonly #clients: pg.Client[] = []
  #shared: Promise<pg.Client> | null = null
  #dropped: Promise<void> | null = null
  /** The last of the queries on the shared client, which runs one at a time. */
  #last: Promise<unknown> = Promise.resolve()

  constructor(url: string, serverUrl: string) {
    this.url = url
    this.#serverUrl = serverUrl
  }

  loginUrl(login: Login): string {
    const url = new URL(this.url)
    url.username = LOGINS[login]
    url.password = loginPassword(this.url, login)
    return url.href
  }

  async client(url = this.url): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: url, application_name: 'test' })
    // A test may terminate the session on purpose; without a listener that would end the worker.
    client.on('error', () => {})
    await client.connect()
    this.#clients.push(client)
    return client
  }

  async query<R extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []): Promise<R[]> {
    this.#shared ??= this.client()
    const client = await this.#shared
    const answer = this.#last.then(() => client.query<R>(text, [...values]))
    this.#last = answer.catch(() => {})
    return (await answer).rows
  }

  drop(): Promise<void> {
    this.#dropped ??= this.#drop()
    return this.#dropped
  }

  /** A test that drops its database itself has seen what that reports. */
  dropAtEnd(): Promise<void> {
    return this.#dropped === null ? this.drop() : this.#dropped.catch(() => {})
  }

  async #drop(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.end().catch(() => {})))
    const name = nameOf(this.url)
    await withClient(this.#serverUrl, async (server) => {
      try {
        await waitUntilAlone(server, name)
      } finally {
        await server.query(`DROP DATABASE ${name} WITH (FORCE)`)
      }
    })
  }
}

function nameOf(url: string): string {
  return new URL(url).pathname.slice(1)
}

/** The server needs a moment to notice a closed connection; one that stays was forgotten. */
async function waitUntilAlone(server: pg.Client, name: string): Promise<void> {
  let left = ''
  const alone = async () => {
    const { rows } = await server.query<{ session: string }>(
      `SELECT format('%s as %s (pid %s, %s)', application_name, usename, pid, state) AS session
         FROM pg_stat_activity WHERE datname = $1 AND starts_with(application_name, 'vitrina')`,
      [name],
    )
    left = rows.map((row) => row.session).join(', ')
    return rows.length === 0
  }
  await waitFor(alone, { what: 'connections to be closed', timeoutMs: 3_000 }).catch(() => {
    throw new Error(`the test left connections open: ${left}`)
  })
}
