import type { Freshness, StaleCause } from '../model/freshness.js'

export interface FreshnessStore {
  /** Null: there is no such pipeline. */
  freshness(pipelineId: string): Promise<Freshness | null>
  /** The pipelines whose sessions do the work of the run in progress: the pipeline itself, or the members of its group. */
  workingTogether(pipelineId: string): Promise<readonly string[]>
  /** Passes limits to the pipelines that others follow, and the age of data to those that follow them. */
  inherit(): Promise<void>
  /** Pipelines whose data became too old, or is no longer too old, since the last note. */
  unnotedBreaches(): Promise<readonly Freshness[]>
  /** Has no effect if another API has noted it, or if it has changed again. Null: it is not too old any more. */
  noteBreach(pipelineId: string, cause: StaleCause | null): Promise<void>
}
