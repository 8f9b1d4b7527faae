import { chmod, chown, mkdir, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Tools } from '../../scripts/lib/test-tools.mjs'
import { chooseAccount } from '../../src/embedded/account.js'
import { runGuarded } from '../../src/embedded/guarded.js'
import { freePorts } from './ports.js'
import { waitFor } from './wait.js'

const JAVA_OPTIONS =
  '-Xms256m -Xmx256m -XX:-AlwaysPreTouch -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UseG1GC'

export interface SearchNode {
  /** host:port */
  readonly address: string
  stop(): Promise<void>
}

interface NodeOptions {
  /** For elasticsearch.yml. */
  readonly settings: Readonly<Record<string, unknown>>
  /** More configuration files, by name. */
  readonly files?: Readonly<Record<string, string>>
  answers(address: string): Promise<boolean>
}

/** One server in its own folder, on free ports. */
export async function startNode(
  { folder, java }: Tools['elasticsearch'],
  options: NodeOptions,
): Promise<SearchNode> {
  const home = await mkdtemp(join(tmpdir(), 'vitrina-search-'))
  const [port = 0, transport = 0] = await freePorts(2)
  const ports = { 'http.port': port, 'transport.port': transport }
  const account = await chooseAccount(join(home, 'data'))
  const address = `127.0.0.1:${port}`
  const files = {
    ...(await ownFiles(folder)),
    ...options.files,
    'elasticsearch.yml': yaml({ ...ownSettings(home), ...ports, ...options.settings }),
  }
  await configure(home, files, account)
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
  try {
    await waitFor(
      async () => {
        if (server.exitCode !== null) return 'ended'
        return (await options.answers(address)) && 'answers'
      },
      { what: 'Elasticsearch to respond', timeoutMs: 120_000 },
    )
    if (server.exitCode !== null) throw new Error(`it exited with code ${server.exitCode}`)
    return { address, stop }
  } catch (error) {
    const output = await readFile(join(home, 'logs', 'output.log'), 'utf8').catch(() => '')
    await stop()
    throw new Error(`Elasticsearch did not start: ${String(error)}\n${output.slice(-2000)}`)
  }
}

const yaml = (settings: Readonly<Record<string, unknown>>) =>
  Object.entries(settings)
    .map(([name, value]) => `${name}: ${value}\n`)
    .join('')

const ownSettings = (home: string) => ({
  'cluster.name': 'vitrina-test',
  'path.data': join(home, 'data'),
  'path.logs': join(home, 'logs'),
  'network.host': '127.0.0.1',
  'discovery.type': 'single-node',
  'cluster.routing.allocation.disk.threshold_enabled': false,
})

async function ownFiles(folder: string): Promise<Record<string, string>> {
  const jvm = await readFile(join(folder, 'config', 'jvm.options'), 'utf8')
  const lines = jvm.split('\n').filter((line) => !/Xlog:gc|ErrorFile|HeapDump/.test(line))
  return {
    'jvm.options': lines.join('\n'),
    'log4j2.properties': await readFile(join(folder, 'config', 'log4j2.properties'), 'utf8'),
  }
}

async function configure(
  home: string,
  files: Readonly<Record<string, string>>,
  account: { uid: number; gid: number } | null,
): Promise<void> {
  const folders = ['config', 'data', 'logs', 'tmp']
  for (const name of folders) await mkdir(join(home, name))
  const paths = Object.keys(files).map((name) => join('config', name))
  for (const [name, text] of Object.entries(files)) await writeFile(join(home, 'config', name), text)
  if (account === null) return
  await chmod(home, 0o755)
  for (const path of [...folders, ...paths]) await chown(join(home, path), account.uid, account.gid)
}
