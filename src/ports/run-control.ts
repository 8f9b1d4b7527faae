import type { Author } from '../model/access.js'
import type { Wave } from '../model/order.js'
import type { Pipeline } from '../model/pipeline.js'
import type { Run } from '../model/run.js'

export interface RunRequest {
  readonly pipelineId: string
  readonly author: Author
  /** The id of the run in an external orchestrator. */
  readonly externalRef?: string
  /** The run that requests this one, for OpenLineage: namespace/job/run id. */
  readonly parent?: string
  /** A request that may be repeated for a day, and its content. */
  readonly idempotency?: { readonly key: string; readonly fingerprint: string }
}

/** A run together with those of the pipelines that it follows, or that follow it. */
export interface WaveRequest extends RunRequest {
  readonly wave: Wave
}

/** `run` is that of the requested pipeline, `runs` are all of them, in the order in which they may start. */
export interface RequestedWave {
  readonly run: Run
  readonly runs: readonly Run[]
  readonly replayed: boolean
}

/** `force`: does not wait for the batch in progress. The run ends now, and its holder can commit nothing more. */
export interface CancelManner {
  readonly force: boolean
}

/** Requests and cancels runs. It executes nothing (invariant 5). */
export interface RunControl {
  /**
   * Moves the pipeline to RUN_REQUESTED and returns its run; the same run while one is requested or in progress.
   * `replayed`: an earlier request with this key had the same result. Null: the pipeline does not exist. Throws
   * PIPELINE_DISABLED, RUN_ACTIVE, IDEMPOTENCY_KEY_REUSED.
   */
  requestRun(request: RunRequest): Promise<{ run: Run; replayed: boolean } | null>
  /**
   * Plans a run for each pipeline of the wave; each begins after those that it follows. Null: the pipeline does not
   * exist. Throws PIPELINE_DISABLED, RUN_ACTIVE, IDEMPOTENCY_KEY_REUSED.
   */
  requestWave(request: WaveRequest): Promise<RequestedWave | null>
  /**
   * Requests the run that repairs these rows, each key as the texts of its columns; a run that is requested or in
   * progress takes them along. Null: the pipeline does not exist, or it is about to pause. Throws PIPELINE_DISABLED.
   */
  requestRepair(
    pipelineId: string,
    keys: readonly (readonly (string | null)[])[],
    author: Author,
  ): Promise<Run | null>
  /** Null if nothing runs. The same result again while a pause is requested or reached. */
  requestPause(pipelineId: string, author: Author): Promise<Pipeline | null>
  /** A requested run is cancelled at once, one in progress at its next batch. Null: the run does not exist. */
  cancelRun(runId: string, author: Author, manner: CancelManner): Promise<Run | null>
}
