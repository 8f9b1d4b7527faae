import { setTimeout as wait } from 'node:timers/promises'
import { VitrinaError } from '../model/errors.js'
import type { TransformChain, TransformHosts } from '../ports/transforms.js'

interface Options {
  /** Chains that may be open at the same time. */
  readonly most: number
  /** How long to wait for a free slot. */
  readonly timeoutMs?: number
}

/** Hosts for checks: each chain starts its own processes, and 25 concurrent validations started 26 interpreters. */
export function limitedHosts(hosts: TransformHosts, { most, timeoutMs = 5_000 }: Options): TransformHosts {
  const places = new HostSlots(most)
  return {
    list: () => hosts.list(),
    close: () => hosts.close(),
    open: async (names, columns, options) => {
      const free = await places.take(timeoutMs, options.signal)
      try {
        return freeing(await hosts.open(names, columns, options), free)
      } catch (error) {
        free()
        throw error
      }
    },
  }
}

function freeing(chain: TransformChain, free: () => void): TransformChain {
  return {
    columns: chain.columns,
    segments: chain.segments,
    run: (batch) => chain.run(batch),
    close: () => chain.close().finally(free),
  }
}

class HostSlots {
  #left: number
  readonly #waiting: (() => void)[] = []

  constructor(most: number) {
    this.#left = most
  }

  /** Returns a function that frees the slot; calling it again has no effect. */
  async take(timeoutMs: number, signal: AbortSignal): Promise<() => void> {
    if (this.#left === 0) await this.#wait(timeoutMs, signal)
    else this.#left -= 1
    let isFree = false
    return () => {
      if (!isFree) this.#free()
      isFree = true
    }
  }

  /** A slot is handed over directly, so that no later request can take it first. */
  async #wait(timeoutMs: number, signal: AbortSignal): Promise<void> {
    const ended = new AbortController()
    let called = () => {}
    const turn = new Promise<'turn'>((resolve) => {
      called = () => resolve('turn')
    })
    this.#waiting.push(called)
    try {
      const timeout = wait(timeoutMs, 'late' as const, { signal: AbortSignal.any([signal, ended.signal]) })
      timeout.catch(() => {})
      if ((await Promise.race([turn, timeout])) === 'late') throw busy()
    } catch (error) {
      const at = this.#waiting.indexOf(called)
      // Resolved at the moment of the timeout: pass the slot to the next one.
      if (at < 0) this.#free()
      else this.#waiting.splice(at, 1)
      throw error
    } finally {
      ended.abort()
    }
  }

  #free(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#left += 1
    else next()
  }
}

function busy(): VitrinaError {
  return new VitrinaError(
    'TOO_MANY_CHECKS',
    'All slots for checks with task functions are in use.',
    'Try again when another check has finished; API_MAX_TASK_HOSTS sets the limit.',
    { facts: { retry_after_seconds: 5 } },
  )
}
