import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { removeEmbedded } from '../../src/embedded/index.js'

/**
 * An empty working folder for one test, with a space in its path. An embedded server in its `.vitrina` is removed
 * with it.
 */
export async function aFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'vitrina test '))
  onTestFinished(async () => {
    await removeEmbedded(join(folder, '.vitrina'))
    await rm(folder, { recursive: true, force: true })
  })
  return folder
}
