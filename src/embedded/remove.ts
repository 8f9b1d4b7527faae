import { rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { takeOwnership } from './owner.js'
import { existingBase } from './place.js'
import { stopPostmaster } from './postmaster.js'

/**
 * Removes the server of a home: binaries, data and password, including those kept elsewhere.
 * Throws EMBEDDED_IN_USE while it is in use. Removing only the home would leave data under /var/tmp behind.
 */
export async function removeEmbedded(home: string): Promise<void> {
  const folder = join(resolve(home), 'postgres')
  const base = await existingBase(folder)
  if (base !== null) {
    await takeOwnership(base)
    await stopPostmaster(join(base, 'data'))
    await rm(base, { recursive: true, force: true, maxRetries: 10 })
  }
  await rm(folder, { recursive: true, force: true, maxRetries: 10 })
}
