import type { AuditEntry, FleetRunner, QuarantinedRow } from '../../model/history.js'
import type { AuditFilter, Catalog, Page, QuarantineFilter } from '../../ports/catalog.js'
import type { PipelineService } from './pipelines.js'

/** What was done, by whom, and what is left to do. */
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

  audit(filter: AuditFilter): Promise<Page<AuditEntry>> {
    return this.#catalog.listAudit(filter)
  }
}
