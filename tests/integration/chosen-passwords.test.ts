import { randomBytes } from 'node:crypto'
import { connect, createServer } from 'node:net'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type EmbeddedServer, startEmbedded } from '../../src/embedded/index.js'
import { LOGINS, type Login } from '../../src/model/logins.js'
import { runCommand } from '../support/commands.js'
import { aFolder } from '../support/folders.js'
import { makeMemoryFolder } from '../support/memory-folder.js'
import { freePorts } from '../support/ports.js'
import { removePostgres } from '../support/postgres-server.js'
import { spawnVitrina } from '../support/processes.js'
import { withClient } from '../support/server.js'

const VARIABLES = {
  meta: 'VITRINA_API_DATABASE_URL',
  writer: 'VITRINA_RUNNER_DATABASE_URL',
  reader: 'VITRINA_READER_DATABASE_URL',
} as const satisfies Record<Login, string>

/** A separate one: logins belong to the whole server, and the other tests rely on derived passwords. */
let server: EmbeddedServer
let home: string

beforeAll(async () => {
  home = makeMemoryFolder('vitrina-logins').path
  server = await startEmbedded({ home, durable: false, settings: { max_connections: '40' } })
})
afterAll(async () => {
  await server?.stop()
  await removePostgres(home)
})

/** An empty database on the server, without our logins. Both end with the test. */
async function anEmptyDatabase(): Promise<{ url: string; port: number }> {
  const name = `chosen_${randomBytes(4).toString('hex')}`
  await withClient(server.url, (client) => client.query(`CREATE DATABASE ${name}`))
  onTestFinished(() =>
    withClient(server.url, async (client) => {
      await client.query(`DROP DATABASE ${name} WITH (FORCE)`)
      const { rows } = await client.query<{ role: string }>(
        'SELECT quote_ident(rolname) AS role FROM pg_roles WHERE rolname = ANY($1)',
        [['other', ...Object.values(LOGINS)]],
      )
      for (const { role } of rows) await client.query(`DROP ROLE ${role}`)
    }),
  )
  const url = new URL(server.url)
  url.pathname = `/${name}`
  return { url: url.href, port: server.port }
}

function urlFor(administratorUrl: string, login: Login, password: string): string {
  const url = new URL(administratorUrl)
  url.username = LOGINS[login]
  url.password = encodeURIComponent(password)
  return url.href
}

function urlsWith(administratorUrl: string, password: string): Record<string, string> {
  const logins = Object.keys(VARIABLES) as Login[]
  return Object.fromEntries(
    logins.map((login) => [VARIABLES[login], urlFor(administratorUrl, login, `${password} ${login}`)]),
  )
}

async function migrated(env: Record<string, string>): Promise<string> {
  const { code, stderr } = await runCommand(['migrate'], env, { cwd: await aFolder() })
  expect(code, stderr).toBe(0)
  return stderr
}

/** The login of each URL, or why it fails. */
function signIn(urls: Record<string, string>): Promise<string[]> {
  return Promise.all(
    Object.values(urls).map((url) =>
      withClient(
        url,
        async (client) => (await client.query('SELECT current_user')).rows[0].current_user,
      ).catch((error: { code?: string }) => String(error.code)),
    ),
  )
}

function connectionLimits(url: string): Promise<number[]> {
  const sql = 'SELECT rolconnlimit FROM pg_roles WHERE rolname = ANY($1)'
  const names = Object.values(LOGINS)
  return withClient(url, async (client) =>
    (await client.query(sql, [names])).rows.map((row) => row.rolconnlimit),
  )
}

const ALL = ['vitrina_meta', 'vitrina_writer', 'vitrina_reader']

describe('passwords that an operator chose for the three logins', () => {
  it('are set by migrate from their URLs, whatever characters they have, and changed by the next one', async () => {
    const { url } = await anEmptyDatabase()
    // A space, characters that URLs escape, and one that SASLprep replaces.
    const first = urlsWith(url, 'p@s/s:%ï¬\u00a0ﬁ')
    await migrated({ DATABASE_URL: url, ...first })
    expect(await signIn(first)).toEqual(ALL)
    const second = urlsWith(url, 'another')
    expect(await migrated({ DATABASE_URL: url, ...second })).not.toContain('keep their passwords')
    expect(await signIn(second)).toEqual(ALL)
    expect(await signIn(first)).toEqual(['28P01', '28P01', '28P01'])
  })

  it('are kept, with a notice, when a program migrates that knows only the administrator', async () => {
    const { url } = await anEmptyDatabase()
    const urls = urlsWith(url, 'chosen')
    await migrated({ DATABASE_URL: url, ...urls })
    expect(await migrated({ DATABASE_URL: url, VITRINA_LOGIN_SESSIONS: '9' })).toContain(
      'vitrina_reader, vitrina_writer, vitrina_meta keep their passwords: an operator chose them.',
    )
    expect(await signIn(urls)).toEqual(ALL)
    // Only the passwords are kept; the limit is set as for every login.
    expect(await connectionLimits(url)).toEqual([9, 9, 9])
  })

  it('are rejected with a message if the URL cannot be decoded', async () => {
    const env = { [VARIABLES.reader]: 'postgres://vitrina_reader:100%@127.0.0.1:1/cinema' }
    const { code, stderr } = await runCommand(['migrate'], env, { cwd: await aFolder() })
    expect(code).toBe(1)
    expect(stderr).toContain('VITRINA_READER_DATABASE_URL has a % that is not part of an escape')
  })

  it('let API and runner work without the administrator, also when they start before the first migration', async () => {
    const { url } = await anEmptyDatabase()
    const { [VARIABLES.meta]: meta = '', [VARIABLES.writer]: writer = '', ...reader } = urlsWith(url, 'own')
    const cwd = await aFolder()
    const token = { VITRINA_API_TOKEN: 'a-token-for-this-test', VITRINA_PORT: '0' }
    const wait = ['--wait', '10m']
    const api = spawnVitrina(['api', ...wait], { ...token, ...reader, [VARIABLES.meta]: meta }, { cwd })
    const runner = spawnVitrina(['runner', ...wait], { ...reader, [VARIABLES.writer]: writer }, { cwd })
    for (const program of [api, runner])
      await program.waitForOutput(/Waiting for the database and its migrations/, 60_000)
    await migrated({ DATABASE_URL: url, [VARIABLES.meta]: meta, [VARIABLES.writer]: writer, ...reader })
    await api.waitForOutput(/API\s+http/, 60_000)
    await runner.waitForOutput(/Runner started/, 60_000)
  }, 200_000)

  it('are derived if a URL has another login', async () => {
    const { url } = await anEmptyDatabase()
    await withClient(url, (client) => client.query("CREATE ROLE other LOGIN PASSWORD 'secret'"))
    const other = new URL(url)
    other.username = 'other'
    other.password = 'secret'
    await migrated({ DATABASE_URL: url, [VARIABLES.reader]: other.href })
    expect(await signIn({ reader: urlFor(url, 'reader', 'secret') })).toEqual(['28P01'])
  })
})

describe('vitrina migrate --wait', () => {
  it('waits for a server that does not listen yet', async () => {
    const server = await anEmptyDatabase()
    const [port = 0] = await freePorts(1)
    const url = new URL(server.url)
    url.port = String(port)
    const migrate = spawnVitrina(
      ['migrate', '--wait', '10m'],
      { DATABASE_URL: url.href },
      { cwd: await aFolder() },
    )
    await migrate.waitForOutput(/Waiting for the database/, 60_000)
    const door = createServer((socket) => {
      const through = connect(server.port, '127.0.0.1')
      for (const [from, to] of [
        [socket, through],
        [through, socket],
      ] as const)
        from.pipe(to).on('error', () => from.destroy())
    })
    await new Promise<void>((resolve) => door.listen(port, '127.0.0.1', resolve))
    onTestFinished(() => void door.close())
    expect(await migrate.exited, migrate.stderr).toBe(0)
  })

  it('does not wait for what the server rejects, and without the option for nothing', async () => {
    const { url } = await anEmptyDatabase()
    const wrong = new URL(url)
    wrong.password = 'wrong'
    const [port = 0] = await freePorts(1)
    const nothing = new URL(url)
    nothing.port = String(port)
    const cwd = await aFolder()
    for (const [args, address, sentence] of [
      [['--wait', '10m'], wrong, 'password authentication failed'],
      [[], nothing, 'ECONNREFUSED'],
    ] as const) {
      const { code, stderr } = await runCommand(['migrate', ...args], { DATABASE_URL: address.href }, { cwd })
      expect(code).toBe(1)
      expect(stderr).toContain(sentence)
    }
  })
})
