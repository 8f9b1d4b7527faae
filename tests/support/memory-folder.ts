import { accessSync, constants, mkdtempSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const MEMORY = '/dev/shm'
/** The data of a whole run takes 0.4 GB at most; containers often have only 64 MB there. */
const ENOUGH_BYTES = 4 * 1024 ** 3

/**
 * A new folder for the data of a server that need not survive, in memory where there is enough. To create and drop a
 * database there takes 20 ms of CPU time instead of 54, and 24 ms instead of 101 altogether.
 */
export function makeMemoryFolder(prefix: string): { path: string; isInMemory: boolean } {
  const isInMemory = hasMemory()
  return { path: mkdtempSync(join(isInMemory ? MEMORY : tmpdir(), prefix)), isInMemory }
}

function hasMemory(): boolean {
  try {
    accessSync(MEMORY, constants.W_OK)
    const { bavail, bsize } = statfsSync(MEMORY)
    return bavail * bsize > ENOUGH_BYTES
  } catch {
    return false
  }
}
