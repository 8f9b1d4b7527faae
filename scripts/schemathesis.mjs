import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { ensureBuilt } from './lib/build.mjs'
import { ensureInstalled } from './lib/install.mjs'
import { endWithNpm } from './lib/parent.mjs'
import { failure, main, ROOT, runHere, runQuietly, say } from './lib/run.mjs'

const VERSION = '4.32.5'
const VENV = join(tmpdir(), `vitrina-schemathesis-${VERSION}`)
const TIMEOUT_MS = 180_000

/** Sends valid and invalid requests, generated from its description, to a live API: as administrator, as viewer, anonymously. */
endWithNpm()
await main(async () => {
  await ensureInstalled()
  await ensureBuilt()
  await ensureSchemathesis()
  return withStand(async ({ url, token, home }) => {
    const viewer = await makeToken(url, token)
    let worst = 0
    for (const [who, bearer] of [
      ['a viewer', viewer],
      ['nobody', null],
      ['an administrator', token],
    ]) {
      say(`• As ${who}`)
      worst = Math.max(worst, await attack(url, bearer, home))
    }
    return worst === 0 ? 0 : 1
  })
})

async function ensureSchemathesis() {
  if (existsSync(join(VENV, 'bin/schemathesis'))) return
  say(`• Installing schemathesis ${VERSION} into ${VENV}`)
  await must('python3', ['-m', 'venv', VENV], 'Install Python 3 with its module venv.')
  await must(
    join(VENV, 'bin/pip'),
    ['install', '--quiet', `schemathesis==${VERSION}`],
    'See whether this machine reaches the Python package index.',
  )
}

async function must(file, args, hint) {
  const { code, output } = await runQuietly(file, args)
  if (code !== 0) throw failure(`${file} ${args.join(' ')} failed:\n${output.trimEnd()}`, hint)
}

/** The demo in a separate folder, so that requests find data. */
async function withStand(use) {
  const home = mkdtempSync(join(tmpdir(), 'vitrina-schemathesis-'))
  const token = randomBytes(24).toString('hex')
  const port = await freePort()
  const child = spawn(process.execPath, [join(ROOT, 'bin/vitrina.js'), 'demo'], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      ...process.env,
      VITRINA_HOME: home,
      VITRINA_PORT: String(port),
      VITRINA_API_TOKEN: token,
      API_RATE_LIMIT: '10000000',
      LOG_LEVEL: 'error',
    },
  })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  // Stay alive until everything is cleaned up, regardless of the process that ends us.
  const stop = () => child.kill('SIGTERM')
  process.on('SIGINT', stop).on('SIGTERM', stop)
  const work = async (url) => {
    await untilMartsAreBuilt(url, token)
    return use({ url, token, home })
  }
  try {
    return await Promise.race([work(`http://127.0.0.1:${port}`), ended.then(demoEnded)])
  } finally {
    stop()
    await ended
    await removeAll(home)
  }
}

/** Root's database stands elsewhere, where the account that runs it may enter. */
async function removeAll(home) {
  const { removeEmbedded } = await import(pathToFileURL(join(ROOT, 'dist/embedded/index.js')).href)
  await removeEmbedded(home)
  rmSync(home, { recursive: true, force: true })
}

function demoEnded() {
  throw failure('The demo ended before the work was done.', 'Its last lines say why.')
}

async function untilMartsAreBuilt(url, token) {
  const deadline = performance.now() + TIMEOUT_MS
  while (performance.now() < deadline) {
    const { items = [] } = await ask({ url, token }, '/runs?status=SUCCESS').catch(() => ({}))
    if (items.length >= 3) return
    await delay(250)
  }
  throw failure('The demo did not build its marts in time.', 'Try "npm run demo" by itself.')
}

async function makeToken(url, token) {
  const made = await ask({ url, token }, '/tokens', { name: 'schemathesis', role: 'viewer' })
  return made.token
}

async function ask({ url, token }, path, body) {
  const response = await fetch(`${url}/api/v1${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: body === undefined ? undefined : JSON.stringify(body),
  })
  return response.json()
}

/** Returns its exit code. /events never ends, and has separate tests. The files that it creates are in `folder`. */
function attack(url, bearer, folder) {
  const [config, given] = [join(ROOT, 'scripts/schemathesis.toml'), process.argv.slice(2)]
  const header = bearer === null ? [] : ['--header', `Authorization: Bearer ${bearer}`]
  const args = [
    ...[
      '--config-file',
      config,
      'run',
      `${url}/openapi.json`,
      '--checks',
      'all',
      '--exclude-path',
      '/events',
    ],
    ...['--request-timeout', '70', '--generation-database', 'none', ...header, ...given],
  ]
  return runHere(join(VENV, 'bin/schemathesis'), args, { cwd: folder })
}

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })
}
