import { setTimeout as sleep } from 'node:timers/promises'
import { VitrinaError } from '../model/errors.js'
import { step } from './output.js'
import type { Server } from './server/server.js'

/** An Elasticsearch on a busy machine took 70 s until it answered. */
const PATIENCE_MS = 300_000
const AGAIN_MS = 1_000

/** Returns when the API answers and reaches its databases and sinks: its pipelines would fail before that. */
export async function waitForStand(server: Server, signal: AbortSignal): Promise<void> {
  const until = performance.now() + PATIENCE_MS
  let told = ''
  for (;;) {
    const error = await whatIsAway(server, signal)
    if (error === null) return
    if (performance.now() >= until) throw error
    if (told !== error.message) step(`Waiting: ${error.message}`)
    told = error.message
    await sleep(AGAIN_MS, undefined, { signal })
  }
}

/** Null: everything answers. */
async function whatIsAway(server: Server, signal: AbortSignal): Promise<VitrinaError | null> {
  try {
    const { items } = await server.ask(server.api.GET('/connections', { signal }))
    const away = items.find(({ state }) => state === 'unreachable')
    if (away === undefined) return null
    const { message, hint } = away.error ?? { message: 'no answer', hint: 'See whether it runs.' }
    return new VitrinaError('SERVER_UNREACHABLE', `${away.name} does not answer yet. ${message}`, hint)
  } catch (error) {
    if (error instanceof VitrinaError && error.code === 'SERVER_UNREACHABLE') return error
    throw error
  }
}
