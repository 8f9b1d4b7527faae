import { checkServer } from '../postgres/server-check.js'
import { untestedVersion } from '../postgres/server-version.js'
import { withClient } from './connect.js'

interface UsableServer {
  readonly isPooled: boolean
  readonly warnings: readonly string[]
}

/**
 * At the start of a process: rejects a server or a pooler that it cannot work with, instead of failing in its first
 * run.
 * Returns warnings for an operator, and whether a pooler is in between.
 */
export async function requireUsableServer(url: string): Promise<UsableServer> {
  const server = await withClient(url, (client) => checkServer(client, url), { name: 'vitrina-start' })
  const untested = untestedVersion(server)
  return { isPooled: server.isPooled, warnings: untested === null ? [] : [untested] }
}
