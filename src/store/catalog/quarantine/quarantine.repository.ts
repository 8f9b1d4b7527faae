import type { Author } from '../../../model/access.js'
import type { QuarantinedRow } from '../../../model/history.js'
import type { Run } from '../../../model/run.js'
import { isHeld } from '../../../model/status.js'
import type { Page } from '../../../ports/catalog.js'
import type {
  QuarantineFilter,
  QuarantineStore,
  Settled,
  Settlement,
} from '../../../ports/quarantine-store.js'
import type { Database } from '../../database.js'
import { signTransaction } from '../audit.js'
import { activeOrNew } from '../control.repository.js'
import { lockPipeline } from '../find.js'
import { countQuarantine, listQuarantine } from './rows.js'
import { settleRow } from './settle-row.js'
import { settleRows } from './settle-rows.js'

/** Rows that a target or a data check rejected. Every change is one short transaction with its entry in the audit. */
export class CatalogQuarantineRepository implements QuarantineStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  list(filter: QuarantineFilter): Promise<Page<QuarantinedRow>> {
    return listQuarantine(this.#database, filter)
  }

  count(filter: QuarantineFilter): Promise<number> {
    return countQuarantine(this.#database, filter)
  }

  replay(
    pipelineId: string,
    rowId: number,
    author: Author,
  ): Promise<{ row: QuarantinedRow; run: Run | null } | null> {
    return this.#database.transaction(async (session) => {
      await signTransaction(session, author)
      const pipeline = await lockPipeline(session, pipelineId)
      const row = await settleRow(session, { pipelineId, rowId, author, status: 'REPLAY_REQUESTED' })
      if (pipeline === null || row === null) return null
      const isUnderWay = isHeld(pipeline.status)
      return { row, run: isUnderWay ? null : await activeOrNew(session, pipeline, { pipelineId, author }) }
    })
  }

  discard(pipelineId: string, rowId: number, author: Author): Promise<QuarantinedRow | null> {
    return this.#database.transaction((session) =>
      settleRow(session, { pipelineId, rowId, author, status: 'DISCARDED' }),
    )
  }

  settle(settlement: Settlement): Promise<Settled> {
    return this.#database.transaction((session) => settleRows(session, settlement))
  }
}
