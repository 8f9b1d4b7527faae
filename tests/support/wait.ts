import { setTimeout as delay } from 'node:timers/promises'
import { inspect } from 'node:util'

const POLL_MS = 20

export interface Wait {
  /** Ends the sentence "waited 30 s for …". */
  readonly what: string
  readonly timeoutMs?: number
}

/**
 * Calls until there is a result. A fact that throws does not hold yet; its last error is reported when time runs out.
 */
export async function waitFor<T>(
  fact: () => Promise<T | null | false | undefined>,
  { what, timeoutMs = 30_000 }: Wait,
): Promise<T> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    const seen = await observe(fact)
    if (seen.found) return seen.result
    if (performance.now() > deadline) {
      throw new Error(`waited ${timeoutMs / 1000} s for ${what}; last seen: ${seen.instead}`, {
        cause: seen.error,
      })
    }
    await delay(POLL_MS)
  }
}

type Observation<T> = { found: true; result: T } | { found: false; instead: string; error?: unknown }

async function observe<T>(fact: () => Promise<T | null | false | undefined>): Promise<Observation<T>> {
  try {
    const result = await fact()
    if (result !== null && result !== false && result !== undefined) return { found: true, result }
    return { found: false, instead: inspect(result) }
  } catch (error) {
    return { found: false, instead: String(error), error }
  }
}
