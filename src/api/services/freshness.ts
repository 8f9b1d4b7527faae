import type { Freshness, StaleCause } from '../../model/freshness.js'
import type { FreshnessStore } from '../../ports/freshness-store.js'
import type { Inspector } from '../../ports/inspector.js'
import { LockSearch } from './lock-search.js'
import type { PipelineService } from './pipelines.js'

/** A run that is in progress may wait for a lock; the meta store cannot know. */
const MAY_WAIT: ReadonlySet<StaleCause['code']> = new Set([
  ...(['RETRYING', 'HELD_BACK', 'PAUSING', 'FIRST_LOAD', 'SLOW_FIRST_BATCH'] as const),
  ...(['SLOW_READ', 'SLOW_TRANSFORM', 'SLOW_WRITE', 'SLOW_CHECKPOINT', 'SLOW_RUN'] as const),
])

interface FreshnessParts {
  readonly store: FreshnessStore
  readonly pipelines: PipelineService
  readonly inspector: Pick<Inspector, 'blocker'>
}

/** How old the data of marts is, and why it is not newer. */
export class FreshnessService {
  readonly #store: FreshnessStore
  readonly #pipelines: PipelineService
  readonly #locks: LockSearch

  constructor({ store, pipelines, inspector }: FreshnessParts) {
    this.#store = store
    this.#pipelines = pipelines
    this.#locks = new LockSearch(inspector)
  }

  async get(pipelineId: string): Promise<Freshness> {
    const { id } = await this.#pipelines.get(pipelineId)
    return this.#withLock((await this.#store.freshness(id))!)
  }

  /** Notes which marts became too old, and which are not any more: notifications and events follow from it. */
  async note(): Promise<void> {
    await this.#store.inherit()
    for (const found of await this.#store.unnotedBreaches()) {
      const { pipelineId, cause } = await this.#withLock(found)
      await this.#store.noteBreach(pipelineId, cause)
    }
  }

  async #withLock(found: Freshness): Promise<Freshness> {
    if (found.cause === null || !MAY_WAIT.has(found.cause.code)) return found
    const pipeline = await this.#pipelines.get(found.pipelineId)
    // Without it, the cause that the meta store knows is still true.
    const blocker = await this.#locks.find(pipeline)
    return blocker === null ? found : { ...found, cause: { code: 'LOCK', ...blocker } }
  }
}
