import type { CapturedSource, IdentityAdvice } from '../../model/source.js'
import type { Catalog } from '../../ports/catalog.js'
import type { Inspector } from '../../ports/inspector.js'
import type { ShownSource } from '../schemas/source.js'

/** Identities rarely change, and a page that refreshes must not open a session to each source every time. */
const FRESH_MS = 10_000
const TIMEOUT_MS = 5_000

interface Kept {
  readonly at: number
  /** The tables that were asked about. */
  readonly of: string
  readonly identities: Promise<readonly IdentityAdvice[] | null>
}

/** The databases whose changes are captured: their state from the meta store, their tables from the database itself. */
export class SourceService {
  readonly #catalog: Catalog
  readonly #inspector: Inspector
  readonly #kept = new Map<string, Kept>()

  constructor(catalog: Catalog, inspector: Inspector) {
    this.#catalog = catalog
    this.#inspector = inspector
  }

  async list(): Promise<ShownSource[]> {
    const sources = await this.#catalog.listSources()
    return Promise.all(
      sources.map(async (source) => ({ source, identities: await this.#identities(source) })),
    )
  }

  #identities({ connection, tables }: CapturedSource): Promise<readonly IdentityAdvice[] | null> {
    if (tables.length === 0) return Promise.resolve([])
    const of = JSON.stringify(tables)
    const kept = this.#kept.get(connection)
    if (kept !== undefined && kept.of === of && performance.now() - kept.at < FRESH_MS) return kept.identities
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    // A source that does not respond is reported by its state, not by an error of this request.
    const identities = this.#inspector.identities(connection, tables, signal).catch(() => null)
    this.#kept.set(connection, { at: performance.now(), of, identities })
    return identities
  }
}
