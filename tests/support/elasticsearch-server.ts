import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, chown, cp, mkdir, mkdtemp, open, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { TestProject } from 'vitest/node'
import { chooseAccount } from '../../src/embedded/account.js'
import { runGuarded } from '../../src/embedded/guarded.js'
import { freePorts } from './ports.js'
import { waitFor } from './wait.js'

/** A server, or why there is none. */
export type SearchServer = { readonly url: string } | { readonly missing: string }

declare module 'vitest' {
  export interface ProvidedContext {
    /** Asking there starts the server, when nobody did so before. */
    searchServer: string
  }
}

/** Elastic's own build for tests: the server without its optional modules. Runs on Java 17 and newer. */
const VERSION = '8.19.21'
const ARTIFACT = `org.elasticsearch.distribution.integ-test-zip:elasticsearch:${VERSION}:zip`
const UNPACK = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:unpack'
const JAVA_OPTIONS =
  '-Xms256m -Xmx256m -XX:-AlwaysPreTouch -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UseG1GC'

const run = promisify(execFile)

/** Run by vitest once. The server itself is started only when a test file asks for it, and serves them all. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  let starting: ReturnType<typeof start> | null = null
  const control = createServer((_request, response) => {
    starting ??= start()
    starting.then(
      ({ server }) => response.end(JSON.stringify(server)),
      (error) => response.end(JSON.stringify({ missing: String(error) })),
    )
  })
  await new Promise<void>((resolve) => control.listen(0, '127.0.0.1', resolve))
  project.provide('searchServer', `http://127.0.0.1:${(control.address() as AddressInfo).port}`)
  return async () => {
    control.closeAllConnections()
    control.close()
    await (await starting?.catch(() => null))?.stop()
  }
}

async function start(): Promise<{ server: SearchServer; stop(): Promise<void> }> {
  const nothing = async () => {}
  const existing = process.env.VITRINA_TEST_ELASTICSEARCH_URL
  if (existing) return { server: { url: existing }, stop: nothing }
  const found = await distribution()
  if ('missing' in found) return { server: found, stop: nothing }
  return startFrom(found.folder, found.java)
}

async function distribution(): Promise<{ folder: string; java: string } | { missing: string }> {
  const java = await javaHome()
  if (java === null) return { missing: 'there is no Java 17 or newer' }
  const folder = join(cacheFolder(), `elasticsearch-${VERSION}`)
  if (existsSync(folder)) return { folder, java }
  try {
    await fetchDistribution(folder)
    return { folder, java }
  } catch (error) {
    return { missing: `Elasticsearch could not be fetched with Maven: ${String(error).split('\n')[0]}` }
  }
}

/** Outside of the project, so that a fresh clone finds it; where the account of the server may read it. */
function cacheFolder(): string {
  if (process.getuid?.() === 0) return '/var/cache/vitrina'
  return join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'vitrina')
}

async function javaHome(): Promise<string | null> {
  try {
    const { stderr } = await run('java', ['-XshowSettings:properties', '-version'])
    const home = /java\.home = (.+)/.exec(stderr)?.[1]
    const version = Number(/java\.specification\.version = (\d+)/.exec(stderr)?.[1])
    return home !== undefined && version >= 17 ? home : null
  } catch {
    return null
  }
}

async function fetchDistribution(folder: string): Promise<void> {
  const cache = cacheFolder()
  await mkdir(cache, { recursive: true })
  const work = await mkdtemp(join(cache, 'fetching-'))
  try {
    await run('mvn', ['-q', '-B', UNPACK, `-Dartifact=${ARTIFACT}`, `-DoutputDirectory=${work}`], {
      cwd: work,
      timeout: 300_000,
    })
    // In one step: another run may fetch it too.
    await rename(join(work, `elasticsearch-${VERSION}`), folder).catch((error) => {
      if (!existsSync(folder)) throw error
    })
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

async function startFrom(
  folder: string,
  java: string,
): Promise<{ server: SearchServer; stop(): Promise<void> }> {
  const home = await mkdtemp(join(tmpdir(), 'vitrina-search-'))
  const [port = 0, transport = 0] = await freePorts(2)
  const account = await chooseAccount(join(home, 'data'))
  await configure(home, folder, { port, transport })
  if (account !== null) await giveTo(home, account)
  const log = await open(join(home, 'logs', 'output.log'), 'a')
  const environment = [
    `ES_JAVA_HOME=${java}`,
    `ES_PATH_CONF=${join(home, 'config')}`,
    `ES_TMPDIR=${join(home, 'tmp')}`,
    `ES_JAVA_OPTS=${JAVA_OPTIONS}`,
  ]
  const server = runGuarded({
    file: '/usr/bin/env',
    args: [...environment, join(folder, 'bin', 'elasticsearch')],
    cwd: home,
    account,
    logFd: log.fd,
  })
  const stop = async () => {
    await server.stop()
    await log.close()
    await rm(home, { recursive: true, force: true, maxRetries: 10 })
  }
  const url = `http://127.0.0.1:${port}`
  try {
    await waitFor(
      async () => {
        if (server.exitCode !== null) return 'ended'
        return (await fetch(`${url}/_cluster/health`)).ok && 'answers'
      },
      { what: 'Elasticsearch to answer', timeoutMs: 120_000 },
    )
    if (server.exitCode !== null) throw new Error(`it ended with code ${server.exitCode}`)
    return { server: { url }, stop }
  } catch (error) {
    const said = await readFile(join(home, 'logs', 'output.log'), 'utf8').catch(() => '')
    await stop()
    throw new Error(`Elasticsearch did not start: ${String(error)}\n${said.slice(-2000)}`)
  }
}

async function configure(
  home: string,
  folder: string,
  ports: { port: number; transport: number },
): Promise<void> {
  for (const name of ['config', 'data', 'logs', 'tmp']) await mkdir(join(home, name))
  await cp(join(folder, 'config', 'log4j2.properties'), join(home, 'config', 'log4j2.properties'))
  const jvm = await readFile(join(folder, 'config', 'jvm.options'), 'utf8')
  const lines = jvm.split('\n').filter((line) => !/Xlog:gc|ErrorFile|HeapDump/.test(line))
  await writeFile(join(home, 'config', 'jvm.options'), lines.join('\n'))
  const settings = {
    'cluster.name': 'vitrina-test',
    'path.data': join(home, 'data'),
    'path.logs': join(home, 'logs'),
    'network.host': '127.0.0.1',
    'http.port': ports.port,
    'transport.port': ports.transport,
    'discovery.type': 'single-node',
    'xpack.security.enabled': false,
    'cluster.routing.allocation.disk.threshold_enabled': false,
  }
  const yaml = Object.entries(settings).map(([name, value]) => `${name}: ${value}\n`)
  await writeFile(join(home, 'config', 'elasticsearch.yml'), yaml.join(''))
}

async function giveTo(home: string, account: { uid: number; gid: number }): Promise<void> {
  await chmod(home, 0o755)
  const names = [
    'config',
    'data',
    'logs',
    'tmp',
    'config/elasticsearch.yml',
    'config/jvm.options',
    'config/log4j2.properties',
  ]
  for (const name of names) await chown(join(home, name), account.uid, account.gid)
}
