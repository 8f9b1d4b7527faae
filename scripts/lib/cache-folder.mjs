import { homedir } from 'node:os'
import { join } from 'node:path'

/** Outside the project, so that a fresh clone finds it, and where the account that runs a test server may read it. */
export function cacheFolder() {
  if (process.getuid?.() === 0) return '/var/cache/vitrina'
  return join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'vitrina')
}
