import type { AuditEntry, FleetRunner, QuarantinedRow } from '../../model/history.js'
import type { AuditFilter, Catalog, Page, QuarantineFilter } from '../../ports/catalog.js'
import type { PipelineService } from './pipelines.js'

const EXPORT_PAGE = 500

/** Who did what, and what is left to do. */
export class HistoryService {
  readonly #catalog: Catalog
  readonly #pipelines: PipelineService

  constructor(catalog: Catalog, pipelines: PipelineService) {
    this.#catalog = catalog
    this.#pipelines = pipelines
  }

  async quarantine(pipelineId: string, filter: QuarantineFilter): Promise<Page<QuarantinedRow>> {
    const { id } = await this.#pipelines.get(pipelineId)
    return this.#catalog.listQuarantine({ ...filter, pipelineId: id })
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
