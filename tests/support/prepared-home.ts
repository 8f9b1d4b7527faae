import { execFile } from 'node:child_process'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { startEmbedded } from '../../src/embedded/index.js'

/** A home with a finished cluster, to be copied: initdb takes a second of CPU time, a copy a tenth. */
export interface PreparedHome {
  copyTo(home: string): Promise<void>
  remove(): Promise<void>
}

export async function prepareHome(): Promise<PreparedHome> {
  const folder = await mkdtemp(join(tmpdir(), 'vitrina-prepared-'))
  // As root, the account of the server needs access to it.
  await chmod(folder, 0o755)
  const prepared = join(folder, '.vitrina')
  await (await startEmbedded({ home: prepared, durable: false })).stop()
  return {
    // Not fs.cp: it does not keep the owner, and the server rejects data of another account.
    copyTo: async (home) => void (await promisify(execFile)('cp', ['-pR', prepared, home])),
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}
