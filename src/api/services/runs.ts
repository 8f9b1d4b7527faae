import type { BatchHistory, PartHistory, RunLogLine } from '../../model/history.js'
import { isId } from '../../model/id.js'
import type { Run, RunSurroundings } from '../../model/run.js'
import type { Catalog, Page, PageRequest, RunFilter, RunLogFilter } from '../../ports/catalog.js'
import { notFound } from './not-found.js'

/** Returned with the run itself; older ones are on further pages. */
const BATCHES_SHOWN = 1000
const LOG_PAGE = 1000

/** A run with related information. */
export interface RunStory {
  readonly run: Run
  readonly batches: readonly BatchHistory[]
  readonly around: RunSurroundings
}

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

  async detail(id: string): Promise<RunStory> {
    const run = await this.get(id)
    const [batches, around] = await Promise.all([
      this.#catalog.listBatches(id, { limit: BATCHES_SHOWN }),
      this.#catalog.runSurroundings(run),
    ])
    return { run, batches: batches.items, around }
  }

  async log(id: string, filter: RunLogFilter): Promise<Page<RunLogLine>> {
    await this.get(id)
    return this.#catalog.listLog(id, filter)
  }

  /** The whole log, one page at a time: only a page is in memory. */
  async *logLines(id: string, filter: Omit<RunLogFilter, 'limit'>): AsyncGenerator<readonly RunLogLine[]> {
    let cursor: string | null | undefined
    while (cursor !== null) {
      const page = await this.#catalog.listLog(id, { ...filter, limit: LOG_PAGE, cursor })
      yield page.items
      cursor = page.nextCursor
    }
  }

  async batches(id: string, page: PageRequest): Promise<Page<BatchHistory>> {
    await this.get(id)
    return this.#catalog.listBatches(id, page)
  }

  async parts(id: string, page: PageRequest): Promise<Page<PartHistory>> {
    await this.get(id)
    return this.#catalog.listParts(id, page)
  }
}
