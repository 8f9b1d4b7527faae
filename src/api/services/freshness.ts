import type { Freshness, StaleCause } from '../../model/freshness.js'
import type { FreshnessStore } from '../../ports/freshness-store.js'
import type { Inspector } from '../../ports/inspector.js'
import { DatabaseSearch } from './database-search.js'
import type { PipelineService } from './pipelines.js'

/** A run that is in progress may wait for a lock; the meta store cannot know. */
const MAY_WAIT: ReadonlySet<StaleCause['code']> = new Set([
  ...(['RETRYING', 'HELD_BACK', 'PAUSING', 'FIRST_LOAD', 'SLOW_FIRST_BATCH'] as const),
  ...(['SLOW_READ', 'SLOW_TRANSFORM', 'SLOW_WRITE', 'SLOW_CHECKPOINT', 'SLOW_RUN'] as const),
])

interface FreshnessParts {
  readonly store: FreshnessStore
  readonly pipelines: PipelineService
  readonly inspector: Pick<Inspector, 'blocker' | 'hasTriggers'>
}

/** How old the data of marts is, and why it is not newer. */
export class FreshnessService {
  readonly #store: FreshnessStore
  readonly #pipelines: PipelineService
  readonly #inspector: FreshnessParts['inspector']
  readonly #databases = new DatabaseSearch()

  constructor({ store, pipelines, inspector }: FreshnessParts) {
    this.#store = store
    this.#pipelines = pipelines
    this.#inspector = inspector
  }

  async get(pipelineId: string): Promise<Freshness> {
    const { id } = await this.#pipelines.get(pipelineId)
    return this.#refined((await this.#store.freshness(id))!)
  }

  /** Notes which marts became too old, and which are not any more: notifications and events follow from it. */
  async note(): Promise<void> {
    await this.#store.inherit()
    for (const found of await this.#store.unnotedBreaches()) {
      const { pipelineId, cause } = await this.#refined(found)
      await this.#store.noteBreach(pipelineId, cause)
    }
  }

  async #refined(found: Freshness): Promise<Freshness> {
    return found.cause === null
      ? found
      : { ...found, cause: await this.#cause(found.cause, found.pipelineId) }
  }

  /** What the databases add to a cause. Without it, the cause that the meta store knows is still true. */
  async #cause(cause: StaleCause, pipelineId: string): Promise<StaleCause> {
    if (cause.code === 'UPSTREAM')
      return cause.cause === null || cause.upstreamId === undefined
        ? cause
        : { ...cause, cause: await this.#cause(cause.cause, cause.upstreamId) }
    if (!MAY_WAIT.has(cause.code)) return cause
    const blocker = await this.#databases.find(`lock ${pipelineId}`, async (signal) => {
      const sessionsOf = await this.#store.workingTogether(pipelineId)
      return this.#inspector.blocker(await this.#pipelines.get(pipelineId), sessionsOf, signal)
    })
    if (blocker !== null) return { code: 'LOCK', ...blocker }
    if (cause.code !== 'SLOW_READ' || cause.estimated !== true) return cause
    const hasTriggers = await this.#databases.find(`triggers ${pipelineId}`, async (signal) =>
      this.#inspector.hasTriggers(await this.#pipelines.get(pipelineId), signal),
    )
    return hasTriggers === true ? { ...cause, code: 'SLOW_WRITE' } : cause
  }
}
