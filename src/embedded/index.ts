import { join } from 'node:path'
import { findBinaries } from './binaries.js'
import { createCluster, DRAFT_CLUSTER, hasCluster } from './cluster.js'
import { type Credentials, databaseUrl, loadCredentials, saveCredentials } from './credentials.js'
import { ensureDatabase } from './database.js'
import { asFailure } from './embedded-failure.js'
import { type Ownership, takeOwnership } from './owner.js'
import { type DataLocation, findPlace } from './place.js'
import { stopPostmaster } from './postmaster.js'
import { DRAFT_RUNTIME, ensureRuntime, removeLeftovers } from './runtime.js'
import { launchServer, type RunningServer } from './server.js'
import { ServerLog } from './server-log.js'

export { removeEmbedded } from './remove.js'

/** An embedded PostgreSQL. It ends with this process, however that ends. */
export interface EmbeddedServer {
  /** The administrator's URL, with the password: postgres://user:password@127.0.0.1:port/database */
  readonly url: string
  readonly port: number
  readonly dataDir: string
  /** Resolves with the exit code when the server ends; a new promise after `restart`. */
  readonly exited: Promise<number>
  /** Restarts a server that ended unexpectedly on the same port, which is the only one that clients know. */
  restart(signal?: AbortSignal): Promise<void>
  /** Fast shutdown; resolves when its processes have exited. Can be called again. */
  stop(): Promise<void>
}

export interface EmbeddedOptions {
  /** Base folder, created if missing. As root, what the server's account cannot reach is kept
   *  under /var/tmp, and `home/postgres/elsewhere` links there. */
  readonly home: string
  /** Created if missing. Default `vitrina`. */
  readonly database?: string
  readonly settings?: Record<string, string>
  /** Default true. False is for tests: a power failure may destroy the data. */
  readonly durable?: boolean
  readonly onProgress?: (message: string) => void
  /** Aborts a start in progress, leaving no process and no partial folder. */
  readonly signal?: AbortSignal
}

/** A failed start is undone; only a complete runtime and a complete cluster are kept. */
export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedServer> {
  const { signal, home } = options
  try {
    signal?.throwIfAborted()
    const place = await findPlace(home, options.onProgress ?? (() => {}))
    const owner = await takeOwnership(place.base)
    try {
      return await startAsOwner(place, owner, options)
    } catch (error) {
      await owner.release()
      throw error
    }
  } catch (error) {
    if (signal?.aborted && error === signal.reason) throw error
    throw asFailure(error, { home, what: 'could not be started' })
  }
}

async function startAsOwner(
  place: DataLocation,
  owner: Ownership,
  options: EmbeddedOptions,
): Promise<EmbeddedServer> {
  const log = await ServerLog.open(join(place.folder, 'server.log'))
  try {
    const broughtUp = await bringUp(place, log, options)
    try {
      return await handOver({ ...broughtUp, place, owner, options })
    } catch (error) {
      await broughtUp.server.process.stop()
      throw error
    }
  } finally {
    log.close()
  }
}

interface BroughtUp {
  readonly server: RunningServer
  readonly credentials: Credentials
  /** The folder of its binaries. */
  readonly runtime: string
}

async function bringUp(place: DataLocation, log: ServerLog, options: EmbeddedOptions): Promise<BroughtUp> {
  const { signal, onProgress = () => {} } = options
  const binaries = findBinaries()
  if (await stopPostmaster(place.dataDir)) onProgress('Stopped the PostgreSQL of an earlier start.')
  const exists = await hasCluster(place.dataDir, binaries.major)
  const runtime = await ensureRuntime(place.base, binaries)
  await removeLeftovers(place.base, runtime, [DRAFT_RUNTIME, DRAFT_CLUSTER])
  const credentials = await loadCredentials(place.folder, exists)
  const { password } = credentials
  signal?.throwIfAborted()
  if (!exists) {
    onProgress(`Creating a PostgreSQL ${binaries.major} cluster in ${place.dataDir}.`)
    await createCluster({ place, runtime, password, durable: options.durable ?? true, log, signal })
  }
  onProgress('Starting PostgreSQL.')
  const port = { number: credentials.port, isFixed: false }
  const server = await launchServer({ place, runtime, password, port, log, ...serverOptions(options) })
  return { server, credentials, runtime }
}

function serverOptions({ durable = true, settings = {}, signal }: EmbeddedOptions) {
  return { durable, settings, signal }
}

/** A killed guard leaves its server behind, and a killed server its pid file. */
async function bringUpAgain({
  place,
  server,
  credentials,
  runtime,
  options,
}: HandOver): Promise<RunningServer> {
  const log = await ServerLog.open(join(place.folder, 'server.log'))
  try {
    await stopPostmaster(place.dataDir)
    const port = { number: server.port, isFixed: true }
    const { password } = credentials
    return await launchServer({ place, runtime, password, port, log, ...serverOptions(options) })
  } finally {
    log.close()
  }
}

interface HandOver extends BroughtUp {
  readonly place: DataLocation
  readonly owner: Ownership
  readonly options: EmbeddedOptions
}

async function handOver(made: HandOver): Promise<EmbeddedServer> {
  const { place, owner, credentials, options } = made
  let { server } = made
  const { database = 'vitrina', signal } = options
  const { port } = server
  const { password } = credentials
  await ensureDatabase({ port, password }, database)
  if (port !== credentials.port) await saveCredentials(place.folder, { password, port })
  await owner.announce(databaseUrl({ port, database }))
  signal?.throwIfAborted()
  // From here on the caller determines how long the process lives; an idle server must not keep it alive.
  server.process.unref()
  let stopped: Promise<void> | null = null
  return {
    url: databaseUrl({ port, database, password }),
    port,
    dataDir: place.dataDir,
    get exited() {
      return server.process.exited
    },
    restart: async (signal) => {
      server = await bringUpAgain({ ...made, options: { ...options, signal } })
      server.process.unref()
    },
    stop: async () => {
      stopped ??= stopServer(place, owner, server)
      await stopped
    },
  }
}

async function stopServer({ dataDir }: DataLocation, owner: Ownership, server: RunningServer): Promise<void> {
  await server.process.stop()
  // If the guard was killed, the server has received no signal.
  await stopPostmaster(dataDir)
  await owner.release()
}
