import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { bundleProgram } from './bundle.mjs'
import { writeNotices } from './notices.mjs'
import { packFiles } from './pack.mjs'
import { failure, ROOT, runQuietly, say, seconds } from './run.mjs'

const DIST = join(ROOT, 'dist')
const CONSOLE = join(ROOT, 'console')
const STAMP = join(DIST, '.built.json')
/** tsc copies none of them, or only those that are imported. */
const COPIED = /\.(sql|json|mjs)$/

const BUILDERS = ['bill-of-materials.mjs', 'build.mjs', 'bundle.mjs', 'notices.mjs', 'pack.mjs'].map((name) =>
  join(ROOT, 'scripts/lib', name),
)
const DECLARATIONS = ['--declaration', '--emitDeclarationOnly', '--noCheck'].concat([
  '--target',
  'ES2023',
  '--module',
  'NodeNext',
  '--types',
  'node',
])
const CONSOLE_STAMP = join(CONSOLE, 'dist/.built.json')

/**
 * Compiles src/ to dist/ and the console to console/dist, each unless nothing changed since. Does not check types:
 * `npm run check` does, and the demonstration should not wait for it.
 */
export async function ensureBuilt() {
  const parts = [
    { what: 'the program', sources: programSources(), stamp: STAMP, build: buildProgram },
    { what: 'the console', sources: consoleSources(), stamp: CONSOLE_STAMP, build: buildConsole },
  ].filter(({ sources, stamp }) => readStamp(stamp)?.checksum !== sources.checksum)
  if (parts.length === 0) return
  const since = performance.now()
  say(`• Building ${parts.map(({ what }) => what).join(' and ')}`)
  await Promise.all(parts.map(({ sources, build }) => build(sources)))
  await writeLegalFiles()
  for (const { sources, stamp } of parts) writeFileSync(stamp, JSON.stringify(sources))
  say(`  built in ${seconds(since)}`)
}

/** About both: what is installed with the program, and what program and console bundle. */
async function writeLegalFiles() {
  writeNotices(join(DIST, 'THIRD-PARTY-NOTICES.txt'))
  // Not at the top: it needs a package, and this file is loaded before packages are installed.
  const { writeBill } = await import('./bill-of-materials.mjs')
  writeBill(join(DIST, 'sbom.cdx.json'))
}

/** Whether dist/ and console/dist are what the sources say now. */
export function isBuilt() {
  return (
    readStamp(STAMP)?.checksum === programSources().checksum &&
    readStamp(CONSOLE_STAMP)?.checksum === consoleSources().checksum
  )
}

async function buildProgram(sources) {
  const last = readStamp(STAMP)
  // A file that was removed or renamed would live on in dist/.
  if (last === null || last.files.some((file) => !sources.files.includes(file)))
    rmSync(DIST, { recursive: true, force: true })
  await compile()
  copyAssets()
  await bundleProgram()
}

async function buildConsole() {
  const vite = join(ROOT, 'node_modules/vite/bin/vite.js')
  const { code, output } = await runQuietly(process.execPath, [vite, 'build', CONSOLE, '--logLevel', 'warn'])
  if (code !== 0)
    throw failure(`The console could not be built:\n${output.trimEnd()}`, 'See what the lines above name.')
  await packFiles(join(CONSOLE, 'dist'))
}

function programSources() {
  return fingerprint([
    ...filesBelow(join(ROOT, 'src')).filter((file) => !file.endsWith('.test.ts')),
    ...['tsconfig.json', 'tsconfig.build.json'].map((name) => join(ROOT, name)),
  ])
}

function consoleSources() {
  const files = ['index.html', 'vite.config.ts', 'package.json'].map((name) => join(CONSOLE, name))
  const sources = filesBelow(join(CONSOLE, 'src')).filter((file) => !file.endsWith('.test.ts'))
  return fingerprint([...sources, ...filesBelow(join(CONSOLE, 'public')), ...files])
}

/** Contents, not times: a fresh clone and a changed branch have new times for old files. */
function fingerprint(paths) {
  const files = [...paths, join(ROOT, 'package-lock.json'), ...BUILDERS].map((file) => relative(ROOT, file))
  const hash = createHash('sha256')
  for (const file of files)
    hash
      .update(`${file}\0`)
      .update(readFileSync(join(ROOT, file)))
      .update('\0')
  return { checksum: hash.digest('hex'), files }
}

function readStamp(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return null
  }
}

async function compile() {
  await runCompiler(['-p', 'tsconfig.build.json'])
  // The only declarations that users see.
  const task = join(ROOT, 'src/transforms/typescript/task.ts')
  const outDir = join(DIST, 'transforms/typescript')
  await runCompiler([task, '--ignoreConfig', '--outDir', outDir, ...DECLARATIONS])
}

async function runCompiler(args) {
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
  const { code, output } = await runQuietly(process.execPath, [tsc, ...args])
  if (code !== 0)
    throw failure(
      `TypeScript found mistakes:\n${output.trimEnd()}`,
      'Fix them, or check out a version without errors.',
    )
}

function copyAssets() {
  for (const file of filesBelow(join(ROOT, 'src')).filter((name) => COPIED.test(name))) {
    const target = join(DIST, relative(join(ROOT, 'src'), file))
    mkdirSync(dirname(target), { recursive: true })
    cpSync(file, target)
  }
}

function filesBelow(folder) {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
}
