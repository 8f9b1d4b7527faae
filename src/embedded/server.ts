import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { canConnect } from './database.js'
import { embeddedFailed } from './embedded-failure.js'
import { type GuardedProcess, runGuarded } from './guarded.js'
import type { DataLocation } from './place.js'
import { isPostmasterOf, readPostmaster } from './postmaster.js'
import type { ServerLog } from './server-log.js'

const READY_MS = 30_000
const POLL_MS = 15
const MEMORY_RETRY_MS = 200

export interface Launch {
  readonly place: DataLocation
  readonly runtime: string
  readonly password: string
  /** Used if it is free. Fixed: no other port is acceptable. */
  readonly port: { readonly number: number | null; readonly isFixed: boolean }
  readonly settings: Record<string, string>
  readonly durable: boolean
  readonly log: ServerLog
  readonly signal: AbortSignal | undefined
}

export interface RunningServer {
  readonly port: number
  readonly process: GuardedProcess
}

/** Resolves when the server accepts connections. A port that was taken meanwhile only costs another try. */
export async function launchServer(launch: Launch): Promise<RunningServer> {
  const deadline = performance.now() + READY_MS
  const { number: wanted, isFixed } = launch.port
  let port = isFixed && wanted !== null ? wanted : await freePort(wanted ?? 0)
  for (;;) {
    const logStart = launch.log.size
    const server = spawnServer(launch, port)
    try {
      if (await untilReady({ launch, server, port, deadline })) return { port, process: server }
    } catch (error) {
      await server.stop()
      throw error
    }
    const output = launch.log.tail(logStart)
    if (performance.now() > deadline || !isPassing(output))
      throw embeddedFailed(`PostgreSQL in ${launch.place.dataDir} exited with code ${server.exitCode}`, {
        log: launch.log,
      })
    if (!isFixed) port = await freePort(0)
    await delay(MEMORY_RETRY_MS)
  }
}

/** The port was taken; or the backends of a killed server have not noticed yet and soon will. */
function isPassing(output: string): boolean {
  return /could not bind|Address already in use|pre-existing shared memory block/.test(output)
}

function spawnServer({ place, runtime, log, settings, durable }: Launch, port: number): GuardedProcess {
  const all = {
    max_connections: '100',
    jit: 'off',
    timezone: 'UTC',
    log_timezone: 'UTC',
    ...(durable ? {} : { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }),
    ...settings,
    // Last: accept only connections from this machine, and only on the port we publish.
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    port: String(port),
    logging_collector: 'off',
  }
  const flags = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  return runGuarded({
    file: join(runtime, 'bin', 'postgres'),
    args: ['-D', place.dataDir, ...flags],
    cwd: place.base,
    account: place.account,
    logFd: log.fd,
  })
}

interface Wait {
  readonly launch: Launch
  readonly server: GuardedProcess
  readonly port: number
  readonly deadline: number
}

/** Returns false if the server ended. */
async function untilReady({ launch, server, port, deadline }: Wait): Promise<boolean> {
  const { place, password, log, signal } = launch
  while (server.exitCode === null) {
    signal?.throwIfAborted()
    if ((await isListening(place.dataDir, port)) && (await canConnect({ port, password }))) return true
    if (performance.now() > deadline)
      throw embeddedFailed(`PostgreSQL did not respond within ${READY_MS / 1000} s`, { log })
    await delay(POLL_MS)
  }
  return false
}

/** Checked before the first connection: until our server has the port, our password might go to another one. */
async function isListening(dataDir: string, port: number): Promise<boolean> {
  const found = await readPostmaster(dataDir)
  if (!found?.ready || found.port !== port) return false
  return await isPostmasterOf(found.pid, dataDir)
}

/** `wanted` if it is free, otherwise any free port. */
async function freePort(wanted: number): Promise<number> {
  return await new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', (error) => (wanted === 0 ? reject(error) : resolve(freePort(0))))
    probe.listen({ port: wanted, host: '127.0.0.1', exclusive: true }, () => {
      const address = probe.address()
      const port = typeof address === 'object' && address !== null ? address.port : wanted
      probe.close(() => resolve(port))
    })
  })
}
