import { createHash } from 'node:crypto'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { failure, ROOT, runQuietly, say, seconds } from './run.mjs'

const LOCK = join(ROOT, 'package-lock.json')
/** npm writes it last: where it is missing, an install was never finished. */
const INSTALLED = join(ROOT, 'node_modules/.package-lock.json')
const STAMP = join(ROOT, 'node_modules/.vitrina-installed')
const PROGRESS_MS = 3_000

/** Installs the packages of package-lock.json if they are missing. */
export async function ensureInstalled() {
  requireNode()
  const checksum = createHash('sha256').update(readFileSync(LOCK)).digest('hex')
  if (isInstalled(checksum)) return
  const since = performance.now()
  say('• Installing the packages with npm; the first time takes up to a minute')
  const progress = setInterval(() => say(`  … npm is still at work, ${seconds(since)}`), PROGRESS_MS)
  const done = await npm('ci').finally(() => clearInterval(progress))
  if (done.code !== 0) throw npmFailed(done)
  // npm does not touch its own file when nothing changed, and the lock would stay newer permanently.
  writeFileSync(STAMP, checksum)
  say(`  installed in ${seconds(since)}`)
}

function isInstalled(checksum) {
  if (!existsSync(INSTALLED)) return false
  if (existsSync(STAMP) && readFileSync(STAMP, 'utf8') === checksum) return true
  return statSync(INSTALLED).mtimeMs >= statSync(LOCK).mtimeMs
}

function npmFailed({ code, output }) {
  const lines = output.split('\n').filter((line) => !line.startsWith('npm warn'))
  return failure(
    `npm failed with code ${code}:\n${lines.join('\n').trimEnd()}`,
    'See whether this machine reaches the npm registry (npm ping), then start again.',
  )
}

/** The npm that started us, if one did: another one may be first in PATH. */
function npm(...args) {
  const own = process.env.npm_execpath
  const all = [...args, '--no-audit', '--no-fund']
  return own?.endsWith('.js') ? runQuietly(process.execPath, [own, ...all]) : runQuietly('npm', all)
}

function requireNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  if (major > 20 || (major === 20 && minor >= 19)) return
  throw failure(
    `Vitrina needs Node 20.19 or newer; this is Node ${process.versions.node}.`,
    'Install a newer Node from https://nodejs.org and start again.',
  )
}
