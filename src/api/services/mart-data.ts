import type { KeptProfile, MartRows, RowsQuestion } from '../../model/mart-data.js'
import type { MartData } from '../../ports/mart-data.js'
import type { ProfileStore } from '../../ports/profile-store.js'
import { notFound } from './not-found.js'
import type { PipelineService } from './pipelines.js'

/** Shows what is in a mart. Writes only its profile, into the meta store. */
export class MartDataService {
  readonly #data: MartData
  readonly #profiles: ProfileStore
  readonly #pipelines: PipelineService

  constructor(data: MartData, profiles: ProfileStore, pipelines: PipelineService) {
    this.#data = data
    this.#profiles = profiles
    this.#pipelines = pipelines
  }

  close(): Promise<void> {
    return this.#data.close()
  }

  async rows(id: string, question: RowsQuestion, signal: AbortSignal): Promise<MartRows> {
    return this.#data.rows(await this.#pipelines.get(id), question, signal)
  }

  /** The stored profile, or a new one if none is stored or `refresh` asks for it. */
  async profile(
    id: string,
    { refresh, signal }: { readonly refresh: boolean; readonly signal: AbortSignal },
  ): Promise<KeptProfile> {
    const pipeline = await this.#pipelines.get(id)
    const kept = refresh ? null : await this.#profiles.find(pipeline)
    if (kept !== null) return kept
    const began = performance.now()
    const profile = await this.#data.profile(pipeline, signal)
    const made = await this.#profiles.keep(pipeline, profile, Math.round(performance.now() - began))
    if (made === null) throw notFound('PIPELINE_NOT_FOUND', id)
    return made
  }
}
