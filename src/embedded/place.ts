import { createHash } from 'node:crypto'
import {
  chmod,
  chown,
  lstat,
  mkdir,
  readdir,
  readlink,
  realpath,
  rmdir,
  stat,
  symlink,
} from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { type Account, canEnter, chooseAccount } from './account.js'
import { embeddedFailed } from './embedded-failure.js'
import { absentAsNull, createFolder, hasCode } from './files.js'
import { areWeRoot } from './process-identity.js'

/**
 * Locations of all files.
 *
 *   home/postgres/            folder: credentials.json, server.log, elsewhere -> base if that is another folder
 *   base/                     runtime-<version>/, data/, owner.<n>.json; normally the same as folder
 */
export interface DataLocation {
  readonly folder: string
  readonly base: string
  readonly dataDir: string
  readonly account: Account | null
}

/** Survives a reboot, unlike /tmp; the system may still remove files that were unused for weeks. */
const ELSEWHERE = '/var/tmp'
const NAMES = /^\/var\/tmp\/vitrina-[0-9a-f]{16}(-\d+)?$/

/** initdb passes its paths to a shell in double quotes: these characters would break the command, or be run by it. */
const UNSAFE = /["$`\\\n]/

export async function findPlace(home: string, onProgress: (message: string) => void): Promise<DataLocation> {
  const folder = await makeFolder(join(await makeFolder(resolve(home)), 'postgres'))
  const linked = await readElsewhere(folder)
  const account = await chooseAccount(join(linked ?? folder, 'data'))
  if (linked !== null) return placeIn(folder, await reopenPrivate(linked, account), account)
  const obstacle = await obstacleOf(folder, account)
  if (obstacle === null) return placeIn(folder, folder, account)
  if ((await absentAsNull(stat(join(folder, 'data')))) !== null)
    throw embeddedFailed(obstacle, {
      remedy: 'The data is there: allow the account to enter the parent folders.',
    })
  const base = await moveElsewhere(folder, account)
  onProgress(`${obstacle}; the data is kept in ${base}`)
  return placeIn(folder, base, account)
}

/** Null if no server was ever created in this home. */
export async function existingBase(folder: string): Promise<string | null> {
  const base = (await readElsewhere(folder)) ?? folder
  return (await absentAsNull(stat(base))) === null ? null : base
}

/** A link to a location that we never choose is not followed: root would open that location, or remove it. */
async function readElsewhere(folder: string): Promise<string | null> {
  const linked = await absentAsNull(readlink(join(folder, 'elsewhere')))
  if (linked === null || NAMES.test(linked)) return linked
  throw embeddedFailed(`${folder}/elsewhere links to ${linked}, which Vitrina did not create`)
}

function placeIn(folder: string, base: string, account: Account | null): DataLocation {
  return { folder, base, dataDir: join(base, 'data'), account }
}

/** A folder created by root must be accessible to the server's account, regardless of the umask. */
async function makeFolder(path: string): Promise<string> {
  const isNew = await createFolder(path)
  if (isNew && areWeRoot()) await chmod(path, 0o755)
  return await realpath(path)
}

async function obstacleOf(folder: string, account: Account | null): Promise<string | null> {
  if (UNSAFE.test(folder)) return `initdb cannot work in a path with " $ \` or \\: ${folder}`
  if (account === null || (await canEnter(account, folder))) return null
  return `the account that runs PostgreSQL (${account.name}) may not enter ${folder}`
}

async function moveElsewhere(folder: string, account: Account | null): Promise<string> {
  const base = await claimPrivate(folder, account)
  const path = join(folder, 'elsewhere')
  try {
    await symlink(base, path)
    return base
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error
    // Another process is starting in the same home and was first.
    const chosen = await readlink(path)
    if (chosen !== base) await absentAsNull(rmdir(base))
    return chosen
  }
}

/**
 * A folder with that name but without a link may belong to a home that was removed, or to one that was moved and still
 * needs it. We cannot know, so it is left alone and the next name is used.
 */
async function claimPrivate(folder: string, account: Account | null): Promise<string> {
  const name = `vitrina-${createHash('sha256').update(folder).digest('hex').slice(0, 16)}`
  for (let number = 1; ; number += 1) {
    const path = join(ELSEWHERE, number === 1 ? name : `${name}-${number}`)
    const usable = (await makeNew(path)) || (await isEmptyAndOurs(path))
    if (!usable) continue
    await openFor(path, account)
    return path
  }
}

async function makeNew(path: string): Promise<boolean> {
  try {
    await mkdir(path, { mode: 0o700 })
    return true
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false
    throw error
  }
}

/** The system may have removed it. Its name is predictable and /var/tmp is world-writable: verify that it is ours. */
async function reopenPrivate(path: string, account: Account | null): Promise<string> {
  await makeNew(path)
  if (!(await isOurs(path))) throw embeddedFailed(`${path} belongs to another user`, { remedy: 'Remove it.' })
  await openFor(path, account)
  return path
}

async function isOurs(path: string): Promise<boolean> {
  const found = await lstat(path)
  return found.isDirectory() && found.uid === process.getuid?.() && (found.mode & 0o022) === 0
}

/** Left by a start that was killed before it created the link. */
async function isEmptyAndOurs(path: string): Promise<boolean> {
  return (await isOurs(path)) && (await readdir(path)).length === 0
}

async function openFor(path: string, account: Account | null): Promise<void> {
  if (account === null) return
  await chown(path, 0, account.gid)
  await chmod(path, 0o710)
}
