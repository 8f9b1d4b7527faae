import type { Blocker } from '../../model/freshness.js'
import type { Pipeline } from '../../model/pipeline.js'
import type { Inspector } from '../../ports/inspector.js'

/** Longer than two short statements should take. */
const SEARCH_MS = 5_000
/** A second search within this time would find the same. */
const FRESH_MS = 2_000
/** Each uses one session after the other, on the target and on the source. */
const MOST_AT_ONCE = 4

/**
 * Finds the sessions that runs wait for. Anyone who may read may ask why data is old, and each answer used to open
 * sessions of its own: 200 requests of one viewer took all connections of a server. Requests for one pipeline now share
 * a search, and few run at the same time; a request that gets none says what the meta store knows, which is still true.
 */
export class LockSearch {
  readonly #inspector: Pick<Inspector, 'blocker'>
  readonly #found = new Map<string, Promise<Blocker | null>>()
  #running = 0

  constructor(inspector: Pick<Inspector, 'blocker'>) {
    this.#inspector = inspector
  }

  /** Null: no session was found, or there was no time to look. */
  find(pipeline: Pipeline): Promise<Blocker | null> {
    const known = this.#found.get(pipeline.id)
    if (known !== undefined) return known
    if (this.#running >= MOST_AT_ONCE) return Promise.resolve(null)
    const search = this.#search(pipeline)
    this.#found.set(pipeline.id, search)
    return search
  }

  async #search(pipeline: Pipeline): Promise<Blocker | null> {
    this.#running += 1
    try {
      return await this.#inspector.blocker(pipeline, AbortSignal.timeout(SEARCH_MS))
    } catch {
      return null
    } finally {
      this.#running -= 1
      setTimeout(() => this.#found.delete(pipeline.id), FRESH_MS).unref()
    }
  }
}
