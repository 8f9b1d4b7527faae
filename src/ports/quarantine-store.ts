import type { Author } from '../model/access.js'
import type { QuarantinedRow, QuarantineStatus } from '../model/history.js'
import type { Run } from '../model/run.js'
import type { Page, PageRequest } from './catalog.js'

export interface QuarantineFilter extends PageRequest {
  readonly status?: QuarantineStatus
  readonly pipelineId?: string
}

/** Which rows: some by their ids, or all held rows, of one pipeline or of all. */
export type RowChoice =
  | { readonly rowIds: readonly number[] }
  /** Nothing newer than this row: a row that the user has not seen yet is not changed. */
  | { readonly upTo: number; readonly pipelineId: string | null }

export interface Settlement {
  readonly choice: RowChoice
  readonly as: 'REPLAY_REQUESTED' | 'DISCARDED'
  readonly author: Author
}

export interface UnsettledRow {
  readonly id: number
  readonly pipelineName: string | null
  readonly key: string | null
  readonly code: 'QUARANTINE_NOT_FOUND' | 'QUARANTINE_SETTLED' | 'PIPELINE_DISABLED'
}

export interface Settled {
  /** Rows that have the requested status now. */
  readonly rows: number
  readonly refused: number
  /** The first of those that were rejected, up to a thousand. */
  readonly refusals: readonly UnsettledRow[]
  readonly pipelines: readonly SettledPipeline[]
}

export interface SettledPipeline {
  readonly id: string
  readonly name: string
  readonly rows: number
  /** The run that retries them; null: none is needed, or the run after the current one does. */
  readonly run: Run | null
}

/** Rows that a target or a data check rejected. */
export interface QuarantineStore {
  /** Newest first. */
  list(filter: QuarantineFilter): Promise<Page<QuarantinedRow>>
  count(filter: QuarantineFilter): Promise<number>
  /**
   * Marks a row and requests the run that will retry it. `run` is null if one is already in progress: the next one
   * takes the row. Null: the row does not exist. Throws QUARANTINE_SETTLED, PIPELINE_DISABLED.
   */
  replay(
    pipelineId: string,
    rowId: number,
    author: Author,
  ): Promise<{ row: QuarantinedRow; run: Run | null } | null>
  /** Discards a row. Null: the row does not exist. Throws QUARANTINE_SETTLED. */
  discard(pipelineId: string, rowId: number, author: Author): Promise<QuarantinedRow | null>
  /** Replays or discards many rows at once: a rejected one does not affect the others. */
  settle(settlement: Settlement): Promise<Settled>
}
