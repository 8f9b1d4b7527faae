import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { chooseAccount } from '../../src/embedded/account.js'
import { LOGINS, type Login, loginPassword } from '../../src/model/logins.js'
import type { Found } from './found.js'
import { freePorts } from './ports.js'
import { waitFor } from './wait.js'

const SCRIPT = new URL('../../scripts/lib/pgbouncer.mjs', import.meta.url).href

/** What `npm test` installed before the first test. */
export async function findPgBouncer(): Promise<Found> {
  const { findPgBouncer: find } = (await import(SCRIPT)) as { findPgBouncer(): Found }
  return find()
}

export interface PgBouncerOptions {
  readonly program: string
  readonly poolMode: 'session' | 'transaction' | 'statement'
  /** Server sessions for each login and database. Default 20, as in PgBouncer. */
  readonly poolSize?: number
}

/** The address of the database behind its own PgBouncer, which stops with the test. */
export async function throughPgBouncer(databaseUrl: string, options: PgBouncerOptions): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'vitrina-pgbouncer-'))
  // PgBouncer does not run as root.
  const account = await chooseAccount(join(folder, 'no data'))
  const [port = 0] = await freePorts(1)
  await chmod(folder, 0o755)
  await writeFile(join(folder, 'users.txt'), logins(databaseUrl))
  await writeFile(join(folder, 'pgbouncer.ini'), configuration(databaseUrl, { ...options, folder, port }))
  const child = spawn(options.program, [join(folder, 'pgbouncer.ini')], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
    ...(account === null ? {} : { uid: account.uid, gid: account.gid }),
  })
  let log = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text
  })
  const exited = once(child, 'exit')
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await exited
    await rm(folder, { recursive: true, force: true })
  })
  await waitFor(() => accepts(port), { what: 'PgBouncer to listen' }).catch((error) => {
    throw new Error(`${error.message}\n${log}`)
  })
  const url = new URL(databaseUrl)
  url.port = String(port)
  return url.href
}

function configuration(
  databaseUrl: string,
  { folder, port, poolMode, poolSize = 20 }: PgBouncerOptions & { folder: string; port: number },
): string {
  const server = new URL(databaseUrl)
  // Every other setting has its default value, as in the package.
  return `[databases]
* = host=127.0.0.1 port=${server.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${join(folder, 'users.txt')}
pool_mode = ${poolMode}
default_pool_size = ${poolSize}
`
}

function logins(databaseUrl: string): string {
  const { username, password } = new URL(databaseUrl)
  const ours = (Object.keys(LOGINS) as Login[]).map((login): [string, string] => [
    LOGINS[login],
    loginPassword(databaseUrl, login),
  ])
  const all: [string, string][] = [[decodeURIComponent(username), decodeURIComponent(password)], ...ours]
  return all.map(([name, secret]) => `"${name}" "${secret}"\n`).join('')
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}
