import { randomBytes } from 'node:crypto'
import { chown, mkdir, open, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { areWeRoot } from './process-identity.js'

export function hasCode(error: unknown, ...codes: string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code))
}

/** Null if the file or folder does not exist; every other error is thrown. */
export async function absentAsNull<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return null
    throw error
  }
}

/**
 * Creates a folder and the missing folders above it, and returns whether it was missing. Node's recursive mkdir does not
 * return for a path below /proc, where nothing can be created, and keeps the process from ending.
 */
export async function createFolder(path: string): Promise<boolean> {
  try {
    return await createIn(path)
  } catch (error) {
    const parent = dirname(path)
    if (!hasCode(error, 'ENOENT') || parent === path) throw error
    await createFolder(parent)
    return createIn(path)
  }
}

/** In a folder that exists. */
async function createIn(path: string): Promise<boolean> {
  try {
    await mkdir(path)
    return true
  } catch (error) {
    if (hasCode(error, 'EEXIST') && (await stat(path)).isDirectory()) return false
    throw error
  }
}

export function randomName(): string {
  return randomBytes(6).toString('hex')
}

/** Written atomically, readable only by its owner. */
export async function replaceFile(path: string, text: string): Promise<void> {
  const draft = `${path}.${randomName()}`
  try {
    await writeFile(draft, text, { mode: 0o600, flag: 'wx', flush: true })
    await giveToOwnerOfFolder(draft)
    await rename(draft, path)
  } finally {
    await rm(draft, { force: true })
  }
}

/** After a start with sudo, the owner of the folder must still be able to read the file. */
async function giveToOwnerOfFolder(path: string): Promise<void> {
  if (!areWeRoot()) return
  const folder = await stat(dirname(path))
  await chown(path, folder.uid, folder.gid)
}

/** A rename survives a power failure only if its folder was synced. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path)
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
