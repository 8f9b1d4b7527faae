import type { Author } from '../../model/access.js'
import type { QuarantinedRow } from '../../model/history.js'
import type { Catalog, Page, QuarantineFilter } from '../../ports/catalog.js'
import type { QuarantineStore, RowChoice, Settled, Settlement } from '../../ports/quarantine-store.js'

export interface HeldRows {
  readonly page: Page<QuarantinedRow>
  /** Also those on other pages. */
  readonly total: number
}

/** The rejected rows of all pipelines. */
export class QuarantineService {
  readonly #store: QuarantineStore
  readonly #catalog: Catalog

  constructor(store: QuarantineStore, catalog: Catalog) {
    this.#store = store
    this.#catalog = catalog
  }

  async list(filter: QuarantineFilter): Promise<HeldRows> {
    const [page, total] = await Promise.all([
      this.#catalog.listQuarantine(filter),
      this.#catalog.countQuarantine(filter),
    ])
    return { page, total }
  }

  settle(choice: RowChoice, as: Settlement['as'], author: Author): Promise<Settled> {
    return this.#store.settle({ choice, as, author })
  }
}
