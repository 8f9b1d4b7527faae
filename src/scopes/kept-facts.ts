import type { GuardSession } from '../ports/query-guard.js'
import { type CatalogMark, isUnchanged } from '../postgres/catalog-mark.js'
import { type MarkedFacts, readMarkedFacts } from './read-query-facts.js'

interface Kept extends MarkedFacts {
  readonly mark: CatalogMark
}

/** Enough for the pipelines of a runner. */
const MOST = 200

/**
 * Facts about queries, each valid while the catalogs behind it are unchanged. Reading them creates a temporary view: its
 * rows in the catalogs take most of the time of a run that finds nothing to do, and their WAL has to be flushed before
 * the change log can be read.
 */
export class KeptFacts {
  /** In order of last use: a Map keeps the insertion order. */
  readonly #kept = new Map<string, Kept>()

  /** `database` identifies the session's database and login. */
  async read(session: GuardSession, sql: string, database: string): Promise<MarkedFacts> {
    const key = JSON.stringify([database, sql])
    const kept = this.#kept.get(key)
    this.#kept.delete(key)
    if (kept !== undefined && (await isUnchanged(session, kept.mark))) {
      this.#kept.set(key, kept)
      return kept
    }
    const read = await readMarkedFacts(session, sql)
    if (read.mark !== null) this.#kept.set(key, { ...read, mark: read.mark })
    for (const oldest of this.#kept.keys()) if (this.#kept.size > MOST) this.#kept.delete(oldest)
    return read
  }
}
