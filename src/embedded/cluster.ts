import { chmod, chown, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ADMIN } from './credentials.js'
import { embeddedFailed } from './embedded-failure.js'
import { absentAsNull, randomName, syncFolder } from './files.js'
import { runGuarded } from './guarded.js'
import type { DataLocation } from './place.js'
import type { ServerLog } from './server-log.js'

export const DRAFT_CLUSTER = '.init-'

export interface NewCluster {
  readonly place: DataLocation
  readonly runtime: string
  readonly password: string
  readonly durable: boolean
  readonly log: ServerLog
  readonly signal: AbortSignal | undefined
}

/** Returns false if no cluster exists yet. Data that this version cannot open is reported and never touched. */
export async function hasCluster(dataDir: string, major: string): Promise<boolean> {
  if ((await absentAsNull(stat(dataDir))) === null) return false
  const version = (await absentAsNull(readFile(join(dataDir, 'PG_VERSION'), 'utf8')))?.trim()
  if (version === major) return true
  if (version === undefined)
    throw embeddedFailed(`${dataDir} is not a PostgreSQL data folder: it has no PG_VERSION`, {
      remedy: 'Move it elsewhere to start with an empty one.',
    })
  throw embeddedFailed(`${dataDir} was created by PostgreSQL ${version}, but this is PostgreSQL ${major}`, {
    remedy: `Use the Vitrina release that created it, or move the folder elsewhere to start with an empty one.`,
  })
}

/** Created in a neighbouring folder and renamed when complete, so that a kill never leaves a partial cluster. */
export async function createCluster(cluster: NewCluster): Promise<void> {
  const { base, dataDir } = cluster.place
  const draft = join(base, `${DRAFT_CLUSTER}${randomName()}`)
  try {
    await prepareDraft(draft, cluster)
    await runInitdb(draft, cluster)
    await rename(join(draft, 'data'), dataDir)
    if (cluster.durable) await syncFolder(base)
  } finally {
    await rm(draft, { recursive: true, force: true, maxRetries: 10 })
  }
}

/** The draft stays ours; the account owns what it must write and the one file it must read. */
async function prepareDraft(draft: string, { place, password }: NewCluster): Promise<void> {
  await mkdir(draft)
  await chmod(draft, 0o711)
  await mkdir(join(draft, 'data'), { mode: 0o700 })
  await writeFile(join(draft, 'password'), password, { mode: 0o600 })
  if (place.account === null) return
  const { uid, gid } = place.account
  for (const name of ['data', 'password']) await chown(join(draft, name), uid, gid)
}

async function runInitdb(draft: string, cluster: NewCluster): Promise<void> {
  const { place, runtime, log, signal } = cluster
  signal?.throwIfAborted()
  const file = join(runtime, 'bin', 'initdb')
  const args = initdbArguments(draft, cluster.durable)
  const initdb = runGuarded({ file, args, cwd: place.base, account: place.account, logFd: log.fd })
  const abort = () => void initdb.stop()
  signal?.addEventListener('abort', abort)
  const code = await initdb.exited
  signal?.removeEventListener('abort', abort)
  signal?.throwIfAborted()
  if (code !== 0) throw embeddedFailed(`initdb exited with code ${code}`, { log })
}

function initdbArguments(draft: string, durable: boolean): string[] {
  return [
    `--pgdata=${join(draft, 'data')}`,
    `--username=${ADMIN}`,
    `--pwfile=${join(draft, 'password')}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    // PostgreSQL's builtin provider: sort order and case rules are the same on every machine.
    '--locale=C',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--no-instructions',
    ...(durable ? [] : ['--no-sync']),
  ]
}
