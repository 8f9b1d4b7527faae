/** Other ways from PostgreSQL to Elasticsearch, and what they need. Each gives a function, or says why it is missing. */
import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync } from 'node:fs'
import { mkdir, open, rename, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { runGuarded } from '../../dist/embedded/guarded.js'
import { cacheFolder, freePort } from './server.mjs'

const run = promisify(execFile)
const script = (name) => fileURLToPath(new URL(name, import.meta.url))

/** Started by `nice` like everything else here; the last line of the output is the seconds. */
async function seconds(python, args, options = {}) {
  const { stdout } = await run(python, args, { maxBuffer: 256 * 1024 * 1024, ...options })
  return Number(stdout.trim().split('\n').at(-1))
}

export async function parallelBulk({ database, search, query }) {
  const python = await environment(['elasticsearch==8.19.2', 'psycopg[binary]==3.2.9'])
  if ('missing' in python) return python
  return {
    run: (index, { threads, chunk, operation }) =>
      seconds(
        python.path,
        [script('parallel_bulk.py'), database, search, index, query, threads, chunk, operation].map(String),
      ),
    stop: async () => {},
  }
}

export async function pgsync({ database, search, columns }) {
  if (!(await fetch(search)).ok)
    return {
      missing: 'its client asks GET / of the server, which this build lacks: --full fetches another (900 MB)',
    }
  const python = await environment(['pgsync==7.3.0'])
  if ('missing' in python) return python
  const redis = await startRedis()
  if ('missing' in redis) return redis
  return {
    run: (index) => pull({ python: python.path, database, search, columns, redis: redis.url, index }),
    stop: redis.stop,
  }
}

async function pull({ python, database, search, columns, redis, index }) {
  const folder = mkdtempSync(join(tmpdir(), 'vitrina-bench-pgsync-'))
  const url = new URL(database)
  const config = join(folder, 'schema.json')
  const nodes = { table: 'ratings', schema: 'ugc', columns }
  await writeFile(config, JSON.stringify([{ database: url.pathname.slice(1), index, nodes }]))
  const env = {
    ...process.env,
    PG_URL: database.replace(/^postgres:/, 'postgresql:'),
    PG_DATABASE: url.pathname.slice(1),
    ELASTICSEARCH_URL: search,
    ELASTICSEARCH_TIMEOUT: '120',
    REDIS_URL: redis,
    CHECKPOINT_PATH: folder,
  }
  const step = (name) => seconds(python, [script('pgsync_pull.py'), config, name], { cwd: folder, env })
  try {
    return await step('pull')
  } finally {
    await step('teardown').catch((error) => console.log(`pgsync teardown: ${lastLine(error)}`))
    await rm(folder, { recursive: true, force: true })
  }
}

/** A venv for these packages, made once for all runs on this machine. */
async function environment(packages) {
  const folder = join(cacheFolder(), `bench-${packages.join('-').replace(/[^\w.]+/g, '-')}`)
  const path = join(folder, 'bin/python')
  if (existsSync(path)) return { path }
  try {
    await mkdir(cacheFolder(), { recursive: true })
    await rm(`${folder}.new`, { recursive: true, force: true })
    await run('python3', ['-m', 'venv', `${folder}.new`])
    await run(join(`${folder}.new`, 'bin/python'), [
      '-m',
      'pip',
      'install',
      '--quiet',
      '--no-input',
      ...packages,
    ])
    await rename(`${folder}.new`, folder)
    return { path }
  } catch (error) {
    return { missing: `${packages.join(', ')} could not be installed: ${lastLine(error)}` }
  }
}

async function startRedis() {
  const port = await freePort()
  const home = mkdtempSync(join(tmpdir(), 'vitrina-bench-redis-'))
  const log = await open(join(home, 'output.log'), 'a')
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', home, '--save', '']
  const command = { file: '/usr/bin/env', args: ['redis-server', ...args], cwd: home, account: null }
  const server = runGuarded({ ...command, logFd: log.fd })
  const stop = async () => {
    await server.stop()
    await log.close()
    await rm(home, { recursive: true, force: true })
  }
  while (server.exitCode === null && !(await accepts(port)))
    await new Promise((resolve) => setTimeout(resolve, 50))
  if (server.exitCode === null) return { url: `redis://127.0.0.1:${port}/0`, stop }
  await stop()
  return { missing: 'redis-server does not start; is it installed?' }
}

function accepts(port) {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}

const lastLine = (error) =>
  String(error.stderr || error.message)
    .trim()
    .split('\n')
    .at(-1)
