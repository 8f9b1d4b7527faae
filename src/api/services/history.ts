import type { AuditEntry, FleetRunner } from '../../model/history.js'
import type { AuditFilter, Catalog, Page } from '../../ports/catalog.js'

const EXPORT_PAGE = 500

/** Who did what, and which runners there are. */
export class HistoryService {
  readonly #catalog: Catalog

  constructor(catalog: Catalog) {
    this.#catalog = catalog
  }

  runners(): Promise<FleetRunner[]> {
    return this.#catalog.listRunners()
  }

  /** Page by page, as fast as the client reads: the whole audit is never in memory. */
  async *everyAudit(filter: Omit<AuditFilter, 'limit' | 'cursor'>): AsyncGenerator<readonly AuditEntry[]> {
    let cursor: string | null | undefined
    do {
      const page = await this.#catalog.listAudit({
        ...filter,
        limit: EXPORT_PAGE,
        cursor: cursor ?? undefined,
      })
      yield page.items
      cursor = page.nextCursor
    } while (cursor !== null)
  }

  audit(filter: AuditFilter): Promise<Page<AuditEntry>> {
    return this.#catalog.listAudit(filter)
  }
}
