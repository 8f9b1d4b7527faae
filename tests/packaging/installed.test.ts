import { readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest'
import { aFolder } from '../support/folders.js'
import { descendantsOf, isAlive } from '../support/proc.js'
import { type SpawnedVitrina, spawnProgram } from '../support/processes.js'
import { waitFor } from '../support/wait.js'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const NO_REGISTRY = /ENOTCACHED|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ENETUNREACH/
/** How npm reaches its registry on this machine; nothing else of our environment reaches it. */
const NPM_ENV = Object.fromEntries(
  Object.entries(process.env).filter(([name]) =>
    /^(npm_config_(registry|cache|userconfig)|https?_proxy|no_proxy|node_extra_ca_certs)$/i.test(name),
  ),
) as Record<string, string>

interface Packed {
  readonly filename: string
  readonly size: number
  readonly unpackedSize: number
  readonly files: readonly { readonly path: string }[]
}

/** Built before the tests, so the script that builds is left out. */
async function pack(folder: string): Promise<Packed> {
  const args = ['pack', '--ignore-scripts', '--json', '--pack-destination', folder]
  const npm = spawnProgram(['npm', ...args], NPM_ENV)
  expect(await npm.exited, npm.stderr).toBe(0)
  return (JSON.parse(npm.stdout) as [Packed])[0]
}

/** With engine-strict, which reports every package that does not support this Node. */
async function install(folder: string, archive: string, { skip }: TestContext): Promise<void> {
  await writeFile(join(folder, 'package.json'), '{ "private": true }\n')
  const args = ['install', '--prefer-offline', '--engine-strict', '--no-audit', '--no-fund', archive]
  const npm = spawnProgram(['npm', ...args], NPM_ENV, { cwd: folder })
  const code = await npm.exited
  if (code !== 0 && NO_REGISTRY.test(npm.stderr))
    skip('npm reaches no registry, and its cache lacks packages')
  expect(code, npm.stderr).toBe(0)
}

const PROJECT = {
  'pipelines/python/films.py':
    'from vitrina import task\n\n@task("shout")\ndef shout(rows):\n    return [{**row, "title": row["title"].upper()} for row in rows]\n',
  'pipelines/typescript/films.ts':
    "import { task, type Row } from 'vitrina'\n\ntask('initials', { adds: { initial: 'text' } }, (rows: Row[]) =>\n  rows.map((row) => ({ ...row, initial: row.title[0] ?? '' })),\n)\n",
  'pipelines/films.yaml': `apiVersion: vitrina/v1
name: films
target_table: analytics.films
key_columns: [film_id]
tasks:
  - task_type: SQL
    body: SELECT id AS film_id, lower(title) AS title FROM content.film_work
  - task_type: PYTHON
    body: shout
  - task_type: PYTHON
    body: initials
`,
}

function isModule(path: string): boolean {
  return /^(?:bin|dist)\/.*\.m?js$/.test(path)
}

/** The modules of the package that this one names by a relative path, also as the address of a thread. */
function importsOf(path: string): string[] {
  const source = readFileSync(join(ROOT, path), 'utf8')
  const found = source.matchAll(/(?:from|import|import\(|new URL\()\s*(['"])(\.{1,2}\/[^'"]+\.m?js)\1/g)
  return [...found].map(([, , imported]) => join(dirname(path), imported!))
}

async function writeProject(folder: string): Promise<void> {
  for (const [name, text] of Object.entries(PROJECT)) {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await writeFile(join(folder, name), text)
  }
}

describe('the package', () => {
  let archives: string
  let packed: Packed

  beforeAll(async () => {
    archives = await mkdtemp(join(tmpdir(), 'vitrina-packed-'))
    packed = await pack(archives)
  })
  afterAll(() => rm(archives, { recursive: true, force: true }))

  it('holds what it needs to run, and nothing else', () => {
    const { files, size, unpackedSize } = packed
    const paths = files.map(({ path }) => path)
    expect(paths).toEqual(
      expect.arrayContaining([
        'bin/vitrina.js',
        'console/dist/index.html',
        'dist/bundle/cli.js',
        'dist/store/migrations/0001_meta_store.sql',
        'dist/transforms/typescript/task.d.ts',
        'python/vitrina_host.py',
        'python/vitrina/__init__.py',
        'schemas/pipeline.schema.json',
        '.env.sample',
        'deploy/systemd/vitrina-api.service',
      ]),
    )
    const useless =
      /\.test\.|\.map$|(?<!task)\.d\.ts$|\.tsbuildinfo$|\.built\.json$|__pycache__|^(src|tests)\//
    expect(paths.filter((path) => useless.test(path))).toEqual([])
    // Half of it are files of the console that are packed for browsers already, and cannot be packed once more.
    expect([size < 3_600_000, unpackedSize < 8_500_000]).toEqual([true, true])
  })

  it('has every module that one of its modules imports', () => {
    const paths = new Set(packed.files.map(({ path }) => path))
    const missing = [...paths].filter(isModule).flatMap((path) =>
      importsOf(path)
        .filter((imported) => !paths.has(imported))
        .map((imported) => `${path}: ${imported}`),
    )
    expect(missing).toEqual([])
    expect(importsOf('dist/transforms/typescript/watched-thread.js')).not.toEqual([])
  })

  it('works where it was installed into an empty folder: up, a task plan in two languages, console, clean end', async (context) => {
    const folder = await aFolder()
    await install(folder, join(archives, packed.filename), context)
    await writeProject(folder)
    const vitrina = (args: readonly string[], env: Record<string, string> = {}) =>
      spawnProgram([join(folder, 'node_modules/.bin/vitrina'), ...args], env, { cwd: folder })
    await succeed(vitrina(['generate', '--films', '30', '--ratings', '50']))

    const up = vitrina(['up'], { VITRINA_PORT: '0', LOG_LEVEL: 'warn' })
    await up.waitForOutput(/Ctrl-C stops everything/)
    const server = { VITRINA_URL: /API\s+(http:\S+)\/api\/v1/.exec(up.stdout)?.[1] ?? '' }
    const below = descendantsOf(up.pid).map(({ pid }) => pid)
    expect(await consoleOf(server.VITRINA_URL)).toMatchObject({ status: 200, script: 200 })
    await succeed(vitrina(['apply', 'pipelines/films.yaml', '--yes'], server))
    const run = await succeed(vitrina(['pipelines', 'run', 'films', '--wait'], server))
    expect(run.stdout + run.stderr).toMatch(/success, 30 rows read, 30 written/)
    const films = await rowsOf(/psql "([^"]+)"/.exec(up.stdout)?.[1] ?? '')
    expect(films).toHaveLength(30)
    for (const { title, initial } of films) expect([title, initial]).toEqual([title.toUpperCase(), title[0]])

    up.kill('SIGINT')
    expect(await up.exited, up.stderr).toBe(0)
    expect(below.filter(isAlive)).toEqual([])
  }, 180_000)
})

async function succeed(program: SpawnedVitrina): Promise<SpawnedVitrina> {
  expect(await program.exited, program.stdout + program.stderr).toBe(0)
  return program
}

async function rowsOf(connectionString: string): Promise<{ title: string; initial: string }[]> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  const { rows } = await client.query('SELECT title, initial FROM analytics.films')
  await client.end()
  return rows
}

/** The page, and the first script that it names. */
async function consoleOf(url: string): Promise<{ status: number; script: number }> {
  const page = await fetch(`${url}/ui/`)
  const script = /<script[^>]+type="module"[^>]+src="([^"]+)"/.exec(await page.text())?.[1] ?? 'none'
  return { status: page.status, script: (await fetch(new URL(script, `${url}/ui/`))).status }
}

describe('npx', () => {
  it('stops everything that it started when it receives a signal', async () => {
    const folder = await aFolder()
    await writeFile(join(folder, 'package.json'), '{ "private": true }\n')
    await mkdir(join(folder, 'node_modules/.bin'), { recursive: true })
    await writeFile(
      join(folder, 'node_modules/.bin/vitrina'),
      `#!/bin/sh\nexec "${process.execPath}" "${ROOT}bin/vitrina.js" "$@"\n`,
      { mode: 0o755 },
    )
    const npx = spawnProgram(
      ['npx', '--no-install', 'vitrina', 'up'],
      { ...NPM_ENV, VITRINA_PORT: '0', LOG_LEVEL: 'warn' },
      { cwd: folder },
    )
    await npx.waitForOutput(/Ctrl-C stops everything/)
    const below = descendantsOf(npx.pid).map(({ pid }) => pid)
    expect(below.length).toBeGreaterThan(4)
    npx.kill('SIGTERM')
    await waitFor(async () => below.every((pid) => !isAlive(pid)), { what: 'everything below npx to end' })
  })
})
