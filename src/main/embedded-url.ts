import { join, resolve } from 'node:path'
import { databaseUrl, loadCredentials } from '../embedded/credentials.js'
import { existingBase } from '../embedded/place.js'
import { isPostmasterOf, readPostmaster } from '../embedded/postmaster.js'

/** The database of the embedded server that holds everything. */
export const DATABASE = 'vitrina'

/**
 * How to reach the embedded server that another process of ours runs in this home; null when none does.
 * Asked of its pid file first: on a port that it left, our password might go to a stranger.
 */
export async function runningEmbedded(home: string): Promise<string | null> {
  const folder = join(resolve(home), 'postgres')
  const base = await existingBase(folder)
  if (base === null) return null
  const dataDir = join(base, 'data')
  const found = await readPostmaster(dataDir)
  if (!found?.ready || !(await isPostmasterOf(found.pid, dataDir))) return null
  const { password } = await loadCredentials(folder, true)
  return databaseUrl({ port: found.port, password, database: DATABASE })
}
