import { checkServer } from '../postgres/server-check.js'
import { untestedVersion } from '../postgres/server-version.js'
import { withClient } from './connect.js'

/**
 * At the start of a process: rejects a server or a pooler that it cannot work with, instead of failing in its first
 * run.
 * Returns warnings for an operator.
 */
export async function requireUsableServer(url: string): Promise<string[]> {
  const server = await withClient(url, (client) => checkServer(client, url), { name: 'vitrina-start' })
  const untested = untestedVersion(server)
  return untested === null ? [] : [untested]
}
