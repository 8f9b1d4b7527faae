/** Longer than two short statements should take. */
const SEARCH_MS = 5_000
/** A second search within this time would find the same. */
const FRESH_MS = 2_000
/** Each uses one session after the other, on the target and on the source. */
const MOST_AT_ONCE = 4

/**
 * Searches the databases of pipelines for what makes their data old, such as the session that a run waits for. Every
 * viewer may request the cause of old data, and each request used to open its own sessions: 200 requests of one viewer
 * took all connections of a server. Requests for the same pipeline now share a search, and few searches run at the same
 * time. A request without a search returns what the meta store knows, which is still true.
 */
export class DatabaseSearch {
  readonly #found = new Map<string, Promise<unknown>>()
  #running = 0

  /** `what` identifies the search. Null: nothing was found, or there was no time to look. */
  find<T>(what: string, search: (signal: AbortSignal) => Promise<T | null>): Promise<T | null> {
    const known = this.#found.get(what) as Promise<T | null> | undefined
    if (known !== undefined) return known
    if (this.#running >= MOST_AT_ONCE) return Promise.resolve(null)
    const found = this.#search(what, search)
    this.#found.set(what, found)
    return found
  }

  async #search<T>(what: string, search: (signal: AbortSignal) => Promise<T | null>): Promise<T | null> {
    this.#running += 1
    try {
      return await search(AbortSignal.timeout(SEARCH_MS))
    } catch {
      return null
    } finally {
      this.#running -= 1
      setTimeout(() => this.#found.delete(what), FRESH_MS).unref()
    }
  }
}
