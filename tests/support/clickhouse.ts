import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeEach } from 'vitest'
import { isAlive } from './proc.js'
import { spawnProgram } from './processes.js'
import { waitFor } from './wait.js'

/** 543 MB, so that it is no dependency of the project but comes when a test wants it, and stays in the user's cache. */
const ENGINE = 'chdb@3.4.0'
const FRONT = fileURLToPath(new URL('clickhouse-front.mjs', import.meta.url))

export interface Fault {
  /** The statement that it waits for. */
  readonly pattern: string
  readonly times: number
  /** What the server refuses it with, and how that is called. */
  readonly code?: number
  readonly type?: string
  /** It is done, but nobody is told. */
  readonly lose?: boolean
}

/** The engine of ClickHouse behind a small HTTP front of our own; a database of its own for each test is up to the test. */
export interface TestClickHouse {
  /** With user and password. */
  readonly url: string
  rows(sql: string): Promise<string[][]>
  fail(...faults: Fault[]): Promise<void>
  /** What came in since the last time this was asked. */
  requests(): Promise<{ sql: string; settings: Record<string, string> }[]>
}

/**
 * For one file: `const clickhouse = await aClickHouse()` at its top. Where the engine cannot be had every test of the
 * file is skipped, with the reason.
 */
export async function aClickHouse(): Promise<TestClickHouse> {
  const found = await install()
  if ('reason' in found) {
    beforeEach((context) => context.skip(found.reason))
    return unreachable(found.reason)
  }
  const front = spawnProgram([process.execPath, FRONT, found.folder], {})
  const [, port] = await front.waitForOutput(/listening on (\d+)/)
  return new Front(`127.0.0.1:${port}`)
}

class Front implements TestClickHouse {
  readonly url: string
  readonly #origin: string

  constructor(host: string) {
    this.url = `http://etl:a%20secret@${host}`
    this.#origin = `http://${host}`
  }

  async rows(sql: string): Promise<string[][]> {
    const text = await this.#post('/', sql)
    return text === ''
      ? []
      : text
          .slice(0, -1)
          .split('\n')
          .map((line) => line.split('\t'))
  }

  async fail(...faults: Fault[]): Promise<void> {
    await this.#post('/faults', JSON.stringify(faults))
  }

  async requests(): Promise<{ sql: string; settings: Record<string, string> }[]> {
    return JSON.parse(await this.#post('/requests', ''))
  }

  async #post(path: string, body: string): Promise<string> {
    const authorization = `Basic ${Buffer.from('etl:a secret').toString('base64')}`
    const response = await fetch(this.#origin + path, { method: 'POST', body, headers: { authorization } })
    const text = await response.text()
    if (!response.ok) throw new Error(text)
    return text
  }
}

function unreachable(reason: string): TestClickHouse {
  const refuse = async () => {
    throw new Error(reason)
  }
  return { url: 'http://127.0.0.1:1', rows: refuse, fail: refuse, requests: refuse }
}

type Found = { readonly folder: string } | { readonly reason: string }

async function install(): Promise<Found> {
  if (process.platform !== 'linux' || process.arch !== 'x64')
    return { reason: `${ENGINE} has no library for ${process.platform} ${process.arch}` }
  const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'vitrina')
  const folder = join(cache, ENGINE.replace('@', '-'))
  const done = join(folder, 'installed')
  if (existsSync(done)) return { folder }
  await mkdir(folder, { recursive: true })
  return alone(join(folder, 'installing'), async () => {
    if (existsSync(done)) return { folder }
    const problem = await npmInstall(folder)
    if (problem !== null) return { reason: `${ENGINE} could not be installed: ${problem}` }
    await writeFile(done, '')
    return { folder }
  })
}

/** Several files may want it at the same moment; one that died while it installed is no obstacle. */
async function alone<T>(lock: string, use: () => Promise<T>): Promise<T> {
  const take = async () => {
    const holder = Number(await readFile(lock, 'utf8').catch(() => 0))
    if (holder !== 0 && !isAlive(holder)) await rm(lock, { force: true })
    await writeFile(lock, String(process.pid), { flag: 'wx' })
    return true
  }
  await waitFor(take, { what: `another test file to install ${ENGINE}`, timeoutMs: 110_000 })
  try {
    return await use()
  } finally {
    await rm(lock, { force: true })
  }
}

/** Null when it worked. */
async function npmInstall(folder: string): Promise<string | null> {
  await writeFile(join(folder, 'package.json'), '{"private": true}')
  const args = ['install', '--prefix', folder, '--no-audit', '--no-fund', '--fetch-retries=1', ENGINE]
  const child = spawn('npm', args, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  const code = await new Promise<number | null>((resolve) => {
    child.once('error', () => resolve(null))
    child.once('close', resolve)
  })
  if (code === 0) return null
  return /npm error (?!code)(.+)/.exec(said)?.[1] ?? `npm ended with ${code}`
}
