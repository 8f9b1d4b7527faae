import { VitrinaError } from '../../model/errors.js'
import type { Run } from '../../model/run.js'
import type { Catalog, Page, RunFilter } from '../../ports/catalog.js'
import { isId } from './id.js'

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
    if (run !== null) return run
    throw new VitrinaError(
      'RUN_NOT_FOUND',
      `There is no run ${id.slice(0, 100)}.`,
      'List the runs with GET /api/v1/runs.',
    )
  }
}
