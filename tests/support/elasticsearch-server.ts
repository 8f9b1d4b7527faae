import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestProject } from 'vitest/node'
import { findTool } from '../../scripts/lib/test-tools.mjs'
import { startNode } from './elasticsearch-node.js'

/** A server, or why it is missing. */
export type SearchServer = { readonly url: string } | { readonly missing: string }

declare module 'vitest' {
  export interface ProvidedContext {
    /** A request there starts the server, if it is not running yet. */
    searchServer: string
  }
}

/** Run by vitest once. The server itself is started only when a test file requests it, and serves them all. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  let starting: ReturnType<typeof start> | null = null
  const control = createServer((_request, response) => {
    starting ??= start()
    starting.then(
      ({ server }) => response.end(JSON.stringify(server)),
      (error) => response.end(JSON.stringify({ missing: String(error) })),
    )
  })
  await new Promise<void>((resolve) => control.listen(0, '127.0.0.1', resolve))
  project.provide('searchServer', `http://127.0.0.1:${(control.address() as AddressInfo).port}`)
  return async () => {
    control.closeAllConnections()
    control.close()
    await (await starting?.catch(() => null))?.stop()
  }
}

async function start(): Promise<{ server: SearchServer; stop(): Promise<void> }> {
  const nothing = async () => {}
  const existing = process.env.VITRINA_TEST_ELASTICSEARCH_URL
  if (existing) return { server: { url: existing }, stop: nothing }
  const found = await findTool('elasticsearch')
  if ('missing' in found) return { server: found, stop: nothing }
  const { address, stop } = await startNode(found, {
    settings: { 'xpack.security.enabled': false },
    answers: async (at) => (await fetch(`http://${at}/_cluster/health`)).ok,
  })
  return { server: { url: `http://${address}` }, stop }
}
