import { chown, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ADMIN, databaseUrl } from '../../src/embedded/credentials.js'
import { ensureDatabase } from '../../src/embedded/database.js'
import { absentAsNull } from '../../src/embedded/files.js'
import { runGuarded } from '../../src/embedded/guarded.js'
import { type EmbeddedServer, removeEmbedded, startEmbedded } from '../../src/embedded/index.js'
import { type DataLocation, findPlace } from '../../src/embedded/place.js'
import { launchServer } from '../../src/embedded/server.js'
import { ServerLog } from '../../src/embedded/server-log.js'

const PASSWORD = 'only-for-tests'
const DATABASE = 'vitrina'

export interface PostgresOptions {
  /** The folder of its data. A second start in the same home has the same data and port. */
  readonly home: string
  /** The folder with `initdb` and `postgres`; null is the embedded server. */
  readonly bin: string | null
  readonly settings?: Record<string, string>
  /** Default false: a power failure may destroy the data. */
  readonly durable?: boolean
}

/** What a test needs of a server. */
export type PostgresServer = Pick<EmbeddedServer, 'url' | 'port' | 'dataDir' | 'stop'>

/** A PostgreSQL of any version for tests. It ends with this process. */
export async function startPostgres(options: PostgresOptions): Promise<PostgresServer> {
  const { home, bin, settings = {}, durable = false } = options
  if (bin === null) return startEmbedded({ home, durable, settings })
  const place = await findPlace(home, () => {})
  const log = await ServerLog.open(join(place.folder, 'server.log'))
  try {
    const lastPort = await absentAsNull(readFile(join(place.folder, 'port'), 'utf8'))
    if ((await absentAsNull(stat(place.dataDir))) === null) await initdb(bin, place, log)
    const server = await launchServer({
      place,
      runtime: dirname(bin),
      password: PASSWORD,
      port: { number: lastPort === null ? null : Number(lastPort), isFixed: false },
      settings,
      durable,
      log,
      signal: undefined,
    })
    await ensureDatabase({ port: server.port, password: PASSWORD }, DATABASE)
    server.process.unref()
    const { port } = server
    await writeFile(join(place.folder, 'port'), String(port))
    return {
      url: databaseUrl({ port, database: DATABASE, password: PASSWORD }),
      port,
      dataDir: place.dataDir,
      stop: () => server.process.stop(),
    }
  } finally {
    log.close()
  }
}

/** Removes the data of a home whose server has stopped. */
export async function removePostgres(home: string): Promise<void> {
  await removeEmbedded(home)
  await rm(home, { recursive: true, force: true })
}

async function initdb(bin: string, place: DataLocation, log: ServerLog): Promise<void> {
  const { base, dataDir, account } = place
  const passwordFile = join(base, 'password')
  await mkdir(dataDir, { mode: 0o700 })
  await writeFile(passwordFile, PASSWORD, { mode: 0o600 })
  if (account !== null)
    for (const path of [dataDir, passwordFile]) await chown(path, account.uid, account.gid)
  const args = [
    `--pgdata=${dataDir}`,
    `--username=${ADMIN}`,
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    // The locale provider of the embedded server came with 17. This locale sorts the same way.
    '--locale=C.UTF-8',
    '--no-sync',
  ]
  const code = await runGuarded({ file: join(bin, 'initdb'), args, cwd: base, account, logFd: log.fd }).exited
  if (code !== 0) throw new Error(`initdb of ${bin} exited with code ${code}:\n${log.tail()}`)
}
