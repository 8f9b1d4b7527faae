import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { failure, ROOT, runQuietly, say, seconds } from './run.mjs'

const DIST = join(ROOT, 'dist')
const CONSOLE = join(ROOT, 'console')
const STAMP = join(DIST, '.built.json')
/** tsc copies none of them, or only those that are imported. */
const COPIED = /\.(sql|json|mjs)$/

/** Compiles src/ to dist/, unless nothing changed since. */
export async function ensureBuilt() {
  const sources = fingerprint()
  const last = readStamp()
  if (last?.checksum === sources.checksum) return
  const since = performance.now()
  say('• Building')
  // A file that was removed or renamed would live on in dist/.
  if (last === null || last.files.some((file) => !sources.files.includes(file)))
    rmSync(DIST, { recursive: true, force: true })
  await compile()
  copyAssets()
  writeFileSync(STAMP, JSON.stringify(sources))
  say(`  built in ${seconds(since)}`)
}

/** Whether dist/ is what src/ says now. */
export function isBuilt() {
  return readStamp()?.checksum === fingerprint().checksum
}

/** Contents, not times: a fresh clone and a changed branch have new times for old files. */
function fingerprint() {
  const files = [
    ...filesBelow(join(ROOT, 'src')).filter((file) => !file.endsWith('.test.ts')),
    ...filesBelow(join(CONSOLE, 'src')),
    ...['tsconfig.json', 'tsconfig.build.json', 'package-lock.json', 'scripts/lib/build.mjs'].map((name) =>
      join(ROOT, name),
    ),
  ].map((file) => relative(ROOT, file))
  const hash = createHash('sha256')
  for (const file of files)
    hash
      .update(`${file}\0`)
      .update(readFileSync(join(ROOT, file)))
      .update('\0')
  return { checksum: hash.digest('hex'), files }
}

function readStamp() {
  try {
    return JSON.parse(readFileSync(STAMP, 'utf8'))
  } catch {
    return null
  }
}

async function compile() {
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
  const { code, output } = await runQuietly(process.execPath, [tsc, '-p', 'tsconfig.build.json'])
  if (code !== 0)
    throw failure(
      `TypeScript found mistakes:\n${output.trimEnd()}`,
      'Mend them, or take a version from git that has none.',
    )
}

function copyAssets() {
  for (const file of filesBelow(join(ROOT, 'src')).filter((name) => COPIED.test(name))) {
    const target = join(DIST, relative(join(ROOT, 'src'), file))
    mkdirSync(dirname(target), { recursive: true })
    cpSync(file, target)
  }
  rmSync(join(CONSOLE, 'dist'), { recursive: true, force: true })
  if (existsSync(join(CONSOLE, 'src')))
    cpSync(join(CONSOLE, 'src'), join(CONSOLE, 'dist'), { recursive: true })
}

function filesBelow(folder) {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
}
