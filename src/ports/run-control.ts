import type { Author } from '../model/access.js'
import type { QuarantinedRow } from '../model/history.js'
import type { Pipeline } from '../model/pipeline.js'
import type { Run } from '../model/run.js'

export interface RunRequest {
  readonly pipelineId: string
  readonly author: Author
  /** How an orchestrator calls the run. */
  readonly externalRef?: string
  /** A request that may be repeated for a day, and what it consists of. */
  readonly idempotency?: { readonly key: string; readonly fingerprint: string }
}

/** `force`: does not wait for the batch that is under way. The run ends now, and its holder can commit nothing more. */
export interface CancelManner {
  readonly force: boolean
}

/** Asks for runs and for their end. It executes nothing (invariant 5). */
export interface RunControl {
  /**
   * Moves the pipeline to RUN_REQUESTED and returns its run; the same run while one is requested or under way.
   * `replayed`: an earlier request with this key was answered the same. Null: there is no such pipeline.
   * Throws PIPELINE_DISABLED, RUN_ACTIVE, IDEMPOTENCY_KEY_REUSED.
   */
  requestRun(request: RunRequest): Promise<{ run: Run; replayed: boolean } | null>
  /**
   * Requests the run that mends these rows, each key as the texts of its columns; one that is requested or under way
   * takes them along. Null: there is no such pipeline, or it is about to pause. Throws PIPELINE_DISABLED.
   */
  requestRepair(
    pipelineId: string,
    keys: readonly (readonly (string | null)[])[],
    author: Author,
  ): Promise<Run | null>
  /** Null when nothing runs. The same answer again while a pause is requested or reached. */
  requestPause(pipelineId: string, author: Author): Promise<Pipeline | null>
  /** A run that nobody took is cancelled at once, one under way at its next batch. Null: there is no such run. */
  cancelRun(runId: string, author: Author, manner: CancelManner): Promise<Run | null>
  /**
   * Marks a row and requests the run that will try it again. `run` is null when one is under way already: the next one
   * takes the row. Null: there is no such row. Throws QUARANTINE_SETTLED, PIPELINE_DISABLED.
   */
  replay(
    pipelineId: string,
    rowId: number,
    author: Author,
  ): Promise<{ row: QuarantinedRow; run: Run | null } | null>
  /** Gives a row up. Null: there is no such row. Throws QUARANTINE_SETTLED. */
  discard(pipelineId: string, rowId: number, author: Author): Promise<QuarantinedRow | null>
}
