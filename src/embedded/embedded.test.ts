import { type ChildProcess, spawn } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type PreparedHome, prepareHome } from '../../tests/support/prepared-home.js'
import { chooseAccount } from './account.js'
import { type EmbeddedOptions, type EmbeddedServer, removeEmbedded, startEmbedded } from './index.js'
import { areWeRoot, identityOf } from './process-identity.js'

const LONG = 60_000

let prepared: PreparedHome
let folder: string
let home: string
const homes = new Set<string>()
const servers: EmbeddedServer[] = []
const strangers: ChildProcess[] = []

beforeAll(async () => {
  prepared = await prepareHome()
})
afterAll(() => prepared?.remove())

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'vitrina-embedded-'))
  await chmod(folder, 0o755)
  home = join(folder, '.vitrina')
})

afterEach(async () => {
  for (const stranger of strangers.splice(0)) stranger.kill('SIGKILL')
  for (const server of servers.splice(0)) await server.stop()
  for (const used of homes) await removeEmbedded(used)
  homes.clear()
  await rm(folder, { recursive: true, force: true })
})

/** Like `start` in a home that has a cluster. */
async function startPrepared(options: Partial<EmbeddedOptions> = {}): Promise<EmbeddedServer> {
  await prepared.copyTo(home)
  return await start(options)
}

async function start(options: Partial<EmbeddedOptions> = {}): Promise<EmbeddedServer> {
  homes.add(home)
  const server = await startEmbedded({ home, durable: false, ...options })
  servers.push(server)
  return server
}

async function query(server: EmbeddedServer, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: server.url })
  await client.connect()
  try {
    return (await client.query({ text: sql, rowMode: 'array' })).rows.flat()
  } finally {
    await client.end()
  }
}

async function failure(
  options: Partial<EmbeddedOptions> = {},
): Promise<{ code: string; message: string; hint: string }> {
  return await start(options).then(
    () => expect.fail('it started'),
    (error) => error,
  )
}

describe('a start', { timeout: LONG }, () => {
  it('keeps data, password and port from one start to the next', async () => {
    const first = await startPrepared({ durable: true })
    await query(first, 'create table film as select 1 as id')
    await first.stop()
    await first.stop()
    const second = await start({ durable: true })
    expect(second.url).toBe(first.url)
    expect(await query(second, 'select id from film')).toEqual([1])
  })

  it('creates a UTF-8 cluster with the built-in C.UTF-8, in UTC, reachable from this machine only', async () => {
    const server = await start({ database: 'films & "more"', settings: { wal_level: 'logical' } })
    const facts = `select current_database(), datlocprovider::text, datlocale, current_setting('server_encoding'),
      current_setting('timezone'), current_setting('listen_addresses'), current_setting('unix_socket_directories'),
      current_setting('wal_level') from pg_database where datname = current_database()`
    const utc = ['films & "more"', 'b', 'C.UTF-8', 'UTF8', 'UTC', '127.0.0.1', '', 'logical']
    expect(await query(server, facts)).toEqual(utc)
    expect((await stat(join(home, 'postgres/credentials.json'))).mode & 0o777).toBe(0o600)
  })

  it('works in a path with spaces, non-ASCII letters and shell metacharacters', async () => {
    for (const name of ['two words витрина', `$HOME \`id\` "quoted" 'it''s'`]) {
      home = join(folder, name)
      expect(await query(await start(), 'select 1')).toEqual([1])
    }
  })

  it('as root, keeps files outside a home folder that the server could not read', async (context) => {
    if (!areWeRoot()) context.skip('only as root does the server run under another account')
    await chmod(folder, 0o700)
    const first = await start()
    await query(first, 'create table film as select 1 as id')
    await first.stop()
    expect(first.dataDir).toMatch(/^\/var\/tmp\/vitrina-/)
    expect((await stat(folder)).mode & 0o777).toBe(0o700)
    const second = await start()
    expect(await query(second, 'select id from film')).toEqual([1])
    await expect(removeEmbedded(home)).rejects.toMatchObject({ code: 'EMBEDDED_IN_USE' })
    await second.stop()
    await removeEmbedded(home)
    await expect(stat(dirname(first.dataDir))).rejects.toThrow('ENOENT')
  })

  it('uses another port when the last one is in use', async () => {
    const first = await startPrepared()
    await first.stop()
    const taken = createServer()
    await new Promise<void>((resolve) => taken.listen(first.port, '127.0.0.1', resolve))
    const second = await start()
    expect(second.port).not.toBe(first.port)
    await new Promise((resolve) => taken.close(resolve))
  })

  it('is rejected while another one runs, naming its process and its address but not its password', async () => {
    const { url, port } = await startPrepared()
    const error = await failure()
    expect(error).toMatchObject({
      code: 'EMBEDDED_IN_USE',
      message: expect.stringContaining(`process ${process.pid}`),
    })
    expect(error.message).toContain(`@127.0.0.1:${port}/vitrina`)
    expect(error.message).not.toContain(new URL(url).password)
  })

  it('removes incomplete files of a killed start, and older runtimes', async () => {
    const names = ['.init-1/data/base', '.runtime-1/bin', 'runtime-17.0.0/bin']
    await prepared.copyTo(home)
    for (const name of names) await mkdir(join(home, 'postgres', name), { recursive: true })
    await start()
    expect((await readdir(join(home, 'postgres'))).sort()).toEqual([
      'credentials.json',
      'data',
      'owner.2.json',
      expect.stringMatching(/^runtime-18\./),
      'server.log',
    ])
  })

  it('leaves no process and no incomplete folder when it is aborted while it creates the cluster', async () => {
    const abort = new AbortController()
    const reason = new Error('enough')
    const onProgress = (message: string) => {
      if (message.startsWith('Creating')) setImmediate(() => abort.abort(reason))
    }
    await expect(start({ signal: abort.signal, onProgress })).rejects.toBe(reason)
    const left = await readdir(join(home, 'postgres'))
    expect(left.filter((name) => name === 'data' || name.startsWith('.'))).toEqual([])
    expect(await query(await start(), 'select 1')).toEqual([1])
  })
})

describe('a data folder', { timeout: LONG }, () => {
  it('of another major version is reported and left as it is', async () => {
    const { dataDir } = await startPrepared()
    await servers[0]?.stop()
    await writeFile(join(dataDir, 'PG_VERSION'), '17\n')
    const error = await failure()
    expect(error).toMatchObject({
      code: 'EMBEDDED_FAILED',
      message: expect.stringContaining('created by PostgreSQL 17'),
    })
    expect(error.hint).toContain('DATABASE_URL')
    expect(await readFile(join(dataDir, 'PG_VERSION'), 'utf8')).toBe('17\n')
  })

  it('that is damaged is reported with the log of the server', async () => {
    const { dataDir } = await startPrepared()
    await servers[0]?.stop()
    await rm(join(dataDir, 'global/pg_control'))
    const error = await failure()
    expect(error).toMatchObject({ code: 'EMBEDDED_FAILED', message: expect.stringContaining('pg_control') })
    expect(error.hint).toContain('Set DATABASE_URL=postgres://')
  })

  it('opens although its pid file names an unrelated process', async () => {
    const { dataDir } = await startPrepared()
    await servers[0]?.stop()
    const account = await chooseAccount(dataDir)
    const stranger = spawn('sleep', ['1000'], { uid: account?.uid, gid: account?.gid })
    strangers.push(stranger)
    await writeFile(
      join(dataDir, 'postmaster.pid'),
      `${stranger.pid}\n${dataDir}\n1\n5432\n\n\n  1 1\nready   \n`,
    )
    expect(await query(await start(), 'select 1')).toEqual([1])
    expect(identityOf(stranger.pid ?? 0)).not.toBeNull()
  })
})
