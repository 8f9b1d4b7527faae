import { setTimeout as delay } from 'node:timers/promises'
import { inspect } from 'node:util'

const POLL_MS = 20

export interface Wait {
  /** Ends the sentence "waited 30 s in vain for …". */
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
    const seen = await look(fact)
    if (seen.found) return seen.answer
    if (performance.now() > deadline) {
      throw new Error(`waited ${timeoutMs / 1000} s in vain for ${what}; last seen: ${seen.instead}`, {
        cause: seen.error,
      })
    }
    await delay(POLL_MS)
  }
}

type Look<T> = { found: true; answer: T } | { found: false; instead: string; error?: unknown }

async function look<T>(fact: () => Promise<T | null | false | undefined>): Promise<Look<T>> {
  try {
    const answer = await fact()
    if (answer !== null && answer !== false && answer !== undefined) return { found: true, answer }
    return { found: false, instead: inspect(answer) }
  } catch (error) {
    return { found: false, instead: String(error), error }
  }
}
