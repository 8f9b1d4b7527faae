import { link, readdir, readFile, rm, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { VitrinaError } from '../model/errors.js'
import { absentAsNull, hasCode, randomName, replaceFile } from './files.js'
import { identityOf } from './process-identity.js'

/** What the current owner reports to later processes. The URL has no password and is null during the start. */
interface OwnerRecord {
  readonly pid: number
  readonly identity: string
  readonly url: string | null
}

export interface Ownership {
  announce(url: string): Promise<void>
  release(): Promise<void>
}

/**
 * Only one process at a time may use a base folder. Node has no file locks, so ownership is a series of numbered files:
 * the highest number is the owner. To succeed a dead or released owner N, a process creates N+1, which only one can.
 * A file that counts is never deleted (with "delete the stale lock, create mine", two processes that saw the same stale
 * lock could each delete the other's new one): release empties it, a successor removes older ones.
 */
export async function takeOwnership(base: string): Promise<Ownership> {
  const record = { pid: process.pid, identity: identityOf(process.pid) ?? '', url: null }
  for (;;) {
    const last = await newestOwner(base)
    if (last.record !== null && isAlive(last.record)) throw inUse(base, last.record)
    const number = last.number + 1
    if (!(await createOwner(base, number, record))) continue
    // A slow process may have created a number that was already superseded and removed: check again.
    if ((await newestOwner(base)).number === number) return await ownership(base, number, record)
    await rm(ownerPath(base, number), { force: true })
  }
}

async function ownership(base: string, number: number, record: OwnerRecord): Promise<Ownership> {
  const older = (await ownerNumbers(base)).filter((other) => other < number)
  for (const other of older) await rm(ownerPath(base, other), { force: true })
  const path = ownerPath(base, number)
  return {
    announce: async (url) => await replaceFile(path, JSON.stringify({ ...record, url })),
    release: async () => {
      await absentAsNull(truncate(path))
    },
  }
}

function ownerPath(base: string, number: number): string {
  return join(base, `owner.${number}.json`)
}

async function ownerNumbers(base: string): Promise<number[]> {
  const names = await readdir(base)
  return names.flatMap((name) => /^owner\.(\d+)\.json$/.exec(name)?.[1] ?? []).map(Number)
}

async function newestOwner(base: string): Promise<{ number: number; record: OwnerRecord | null }> {
  const number = Math.max(0, ...(await ownerNumbers(base)))
  const text = number === 0 ? null : await absentAsNull(readFile(ownerPath(base, number), 'utf8'))
  return { number, record: parseRecord(text ?? '') }
}

/** The file of a live owner is always complete; an incomplete one was released or lost in a power failure. */
function parseRecord(text: string): OwnerRecord | null {
  try {
    return JSON.parse(text) as OwnerRecord
  } catch {
    return null
  }
}

/** Linked into place, so that no process reads a partial record. Returns false if another process has the number. */
async function createOwner(base: string, number: number, record: OwnerRecord): Promise<boolean> {
  const draft = join(base, `.owner-${randomName()}`)
  await replaceFile(draft, JSON.stringify(record))
  try {
    await link(draft, ownerPath(base, number))
    return true
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false
    throw error
  } finally {
    await rm(draft, { force: true })
  }
}

function isAlive(record: OwnerRecord): boolean {
  return identityOf(record.pid) === record.identity
}

function inUse(base: string, record: OwnerRecord): VitrinaError {
  const where = record.url === null ? 'which is still starting it' : `at ${record.url}`
  return new VitrinaError(
    'EMBEDDED_IN_USE',
    `the embedded PostgreSQL in ${base} is in use by process ${record.pid}, ${where}`,
    `Stop process ${record.pid}, or use another folder. Or set DATABASE_URL=postgres://… to use another PostgreSQL.`,
  )
}
