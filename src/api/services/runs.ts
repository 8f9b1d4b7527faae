import type { BatchHistory, RunLogLine } from '../../model/history.js'
import type { Run } from '../../model/run.js'
import type { Catalog, Page, PageRequest, RunFilter, RunLogFilter } from '../../ports/catalog.js'
import { isId } from './id.js'
import { notFound } from './not-found.js'

/** Shown with the run itself; older ones are a page away. */
const BATCHES_SHOWN = 1000

export class RunService {
  readonly #catalog: Catalog

  constructor(catalog: Catalog) {
    this.#catalog = catalog
  }

  list(filter: RunFilter): Promise<Page<Run>> {
    return this.#catalog.listRuns(filter)
  }

  async get(id: string): Promise<Run> {
    const run = isId(id) ? await this.#catalog.getRun(id) : null
    if (run === null) throw notFound('RUN_NOT_FOUND', id)
    return run
  }

  async detail(id: string): Promise<{ run: Run; batches: readonly BatchHistory[] }> {
    const run = await this.get(id)
    return { run, batches: (await this.#catalog.listBatches(id, { limit: BATCHES_SHOWN })).items }
  }

  async log(id: string, filter: RunLogFilter): Promise<Page<RunLogLine>> {
    await this.get(id)
    return this.#catalog.listLog(id, filter)
  }

  async batches(id: string, page: PageRequest): Promise<Page<BatchHistory>> {
    await this.get(id)
    return this.#catalog.listBatches(id, page)
  }
}
