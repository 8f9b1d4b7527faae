import { setTimeout as sleep } from 'node:timers/promises'
import { VitrinaError } from '../../model/errors.js'
import { step } from '../output/print.js'
import type { Server } from '../server/server.js'

/** Elasticsearch on a busy machine took 70 s to respond. */
const TIMEOUT_MS = 300_000
const AGAIN_MS = 1_000

/** Resolves when the API responds and reaches its databases and sinks: pipelines would fail before that. */
export async function waitForStand(server: Server, signal: AbortSignal): Promise<void> {
  const until = performance.now() + TIMEOUT_MS
  let lastMessage = ''
  for (;;) {
    const error = await whatIsAway(server, signal)
    if (error === null) return
    if (performance.now() >= until) throw error
    if (lastMessage !== error.message) step(`Waiting: ${error.message}`)
    lastMessage = error.message
    await sleep(AGAIN_MS, undefined, { signal })
  }
}

/** Null: everything responds. */
async function whatIsAway(server: Server, signal: AbortSignal): Promise<VitrinaError | null> {
  try {
    const { items } = await server.ask(server.api.GET('/connections', { signal }))
    const away = items.find(({ state }) => state === 'unreachable')
    if (away === undefined) return null
    const { message, hint } = away.error ?? { message: 'no response', hint: 'Check that it is running.' }
    return new VitrinaError('SERVER_UNREACHABLE', `${away.name} does not respond yet. ${message}`, hint)
  } catch (error) {
    if (error instanceof VitrinaError && error.code === 'SERVER_UNREACHABLE') return error
    throw error
  }
}
