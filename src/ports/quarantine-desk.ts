import type { Author } from '../model/access.js'
import type { Run } from '../model/run.js'

/** Which rows: some by their ids, or all that are held, of one pipeline or of all. */
export type RowChoice =
  | { readonly rowIds: readonly number[] }
  /** Nothing newer than this row: what nobody has seen yet is not settled unseen. */
  | { readonly upTo: number; readonly pipelineId: string | null }

export interface Settlement {
  readonly choice: RowChoice
  readonly as: 'REPLAY_REQUESTED' | 'DISCARDED'
  readonly author: Author
}

export interface Refusal {
  readonly id: number
  readonly pipelineName: string | null
  readonly key: string | null
  readonly code: 'QUARANTINE_NOT_FOUND' | 'QUARANTINE_SETTLED' | 'PIPELINE_DISABLED'
}

export interface Settled {
  /** Rows that are now as they were wanted. */
  readonly rows: number
  readonly refused: number
  /** The first of those that were refused, up to a thousand. */
  readonly refusals: readonly Refusal[]
  readonly pipelines: readonly SettledPipeline[]
}

export interface SettledPipeline {
  readonly id: string
  readonly name: string
  readonly rows: number
  /** The run that tries them again; null: none is needed, or the one after the present run does. */
  readonly run: Run | null
}

/** Settles many rows of the quarantine at once: one that is refused does not hold up the others. */
export interface QuarantineDesk {
  settle(settlement: Settlement): Promise<Settled>
}
