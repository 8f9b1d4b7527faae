import { join, resolve } from 'node:path'
import { databaseUrl, loadCredentials } from '../embedded/credentials.js'
import { asFailure } from '../embedded/embedded-failure.js'
import { existingBase } from '../embedded/place.js'
import { isPostmasterOf, readPostmaster } from '../embedded/postmaster.js'

/** The database of the embedded server that holds everything. */
export const DATABASE = 'vitrina'

/**
 * The address of the embedded server that another process runs in this home; null if none does.
 * Its pid file is checked first: on a port that it left, another program would receive our password.
 */
export async function runningEmbedded(home: string): Promise<string | null> {
  try {
    return await findRunning(home)
  } catch (error) {
    throw asFailure(error, { home, what: 'cannot be examined' })
  }
}

async function findRunning(home: string): Promise<string | null> {
  const folder = join(resolve(home), 'postgres')
  const base = await existingBase(folder)
  if (base === null) return null
  const dataDir = join(base, 'data')
  const found = await readPostmaster(dataDir)
  if (!found?.ready || !(await isPostmasterOf(found.pid, dataDir))) return null
  const { password } = await loadCredentials(folder, true)
  return databaseUrl({ port: found.port, password, database: DATABASE })
}
