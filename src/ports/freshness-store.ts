import type { Freshness, StaleCause } from '../model/freshness.js'

export interface FreshnessStore {
  /** Null: there is no such pipeline. */
  freshness(pipelineId: string): Promise<Freshness | null>
  /** Pipelines whose data became too old, or is no longer too old, since the last note. */
  unnotedBreaches(): Promise<readonly Freshness[]>
  /** Has no effect if another API has noted it, or if it has changed again. Null: it is not too old any more. */
  noteBreach(pipelineId: string, cause: StaleCause | null): Promise<void>
}
