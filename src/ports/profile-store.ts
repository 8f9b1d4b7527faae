import type { KeptProfile, MartProfile } from '../model/mart-data.js'
import type { Pipeline } from '../model/pipeline.js'

/** Stores the last profile of each mart. */
export interface ProfileStore {
  /** Null: none was computed yet. */
  find(pipeline: Pipeline): Promise<KeptProfile | null>
  /** Returns null if the pipeline has been deleted meanwhile. */
  keep(pipeline: Pipeline, profile: MartProfile, durationMs: number): Promise<KeptProfile | null>
}
