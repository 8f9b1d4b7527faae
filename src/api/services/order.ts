import { setTimeout as wait } from 'node:timers/promises'
import {
  findCycles,
  inOrder,
  type OrderConflict,
  type OrderGraph,
  type OrderPlan,
} from '../../model/order.js'
import { finalTarget } from '../../model/pipeline.js'
import type { Catalog, OrderDraft } from '../../ports/catalog.js'
import type { Inspector } from '../../ports/inspector.js'
import type { PipelineDraft, PipelineEditor } from '../../ports/pipeline-editor.js'
import { RequestInvalid } from '../schemas/request-invalid.js'
import { readDraft, unsaved } from './pipeline-draft.js'
import type { PipelineRules } from './pipeline-rules.js'

export interface OrderParts {
  readonly catalog: Pick<Catalog, 'orderGraph' | 'orderFactsWith' | 'pipelinesWithoutReads' | 'getPipeline'>
  readonly inspector: Pick<Inspector, 'reads'>
  readonly editor: Pick<PipelineEditor, 'learnReads'>
  readonly rules: PipelineRules
}

type Raw = Readonly<Record<string, unknown>>

/** For each pipeline, longer than a check should take. */
const TIMEOUT_MS = 10_000
const EVERY_MS = 2_000
/** A source that did not answer is not asked again at once for each of its pipelines. */
const AGAIN_MS = 60_000

/** The order of pipelines. */
export class OrderService {
  readonly #parts: OrderParts
  readonly #life = new AbortController()
  #learning: Promise<void> = Promise.resolve()
  /** When pipelines whose source did not answer may be inspected again, as `performance.now()`. */
  readonly #again = new Map<string, number>()

  constructor(parts: OrderParts) {
    this.#parts = parts
  }

  graph(): Promise<OrderGraph> {
    return this.#parts.catalog.orderGraph()
  }

  /** Why these changes would be refused if they were saved together, and in which order to save them. Writes nothing. */
  async plan(raws: readonly Raw[], deleted: readonly string[], signal: AbortSignal): Promise<OrderPlan> {
    const drafts: OrderDraft[] = []
    for (const draft of readDrafts(raws, this.#parts.rules)) drafts.push(await this.#orderOf(draft, signal))
    const { catalog } = this.#parts
    const all = await catalog.orderFactsWith(drafts, deleted)
    const names = new Set(all.map(({ name }) => name))
    // A name that has been there before is not checked again: its pipeline may have been deleted.
    const before = new Map(
      (await catalog.orderFactsWith([], [])).map(({ name, after }) => [name, after ?? []]),
    )
    const unknown = drafts.flatMap(({ name, after }) =>
      (after ?? [])
        .filter((wanted) => !names.has(wanted) && before.get(name)?.includes(wanted) !== true)
        .map((wanted): OrderConflict => ({ name, code: 'AFTER_UNKNOWN', path: [wanted] })),
    )
    const cycles = findCycles(all, new Set(drafts.map(({ name }) => name)))
    const conflicts = [
      ...unknown,
      ...cycles.map((path): OrderConflict => ({ name: path[0]!, code: 'ORDER_CYCLE', path })),
    ]
    const order = inOrder(
      all,
      drafts.map(({ name }) => name),
    )
    return { conflicts, order }
  }

  async #orderOf(draft: PipelineDraft, signal: AbortSignal): Promise<OrderDraft> {
    const { name, after, targetConnection: connection } = draft
    const reads = await this.#parts.inspector.reads(unsaved(draft), signal)
    return { name, after, target: finalTarget(draft), connection, reads }
  }

  /**
   * Reads the tables of pipelines that were inserted or changed with SQL, or created before there was an order. Each run
   * does the same: this makes their edges known before.
   */
  start(): void {
    this.#learning = this.#learn()
  }

  async stop(): Promise<void> {
    this.#life.abort()
    await this.#learning
  }

  async #learn(): Promise<void> {
    const { signal } = this.#life
    let isFirst = true
    while (!signal.aborted) {
      // The next round comes soon enough; an unavailable database is reported by requests that need it.
      await this.#learnUnknown(isFirst).then(
        () => {
          isFirst = false
        },
        () => {},
      )
      await wait(EVERY_MS, undefined, { signal, ref: false }).catch(() => {})
    }
  }

  async #learnUnknown(isFirst: boolean): Promise<void> {
    const { catalog, inspector, editor } = this.#parts
    const unknown = await catalog.pipelinesWithoutReads(isFirst)
    for (const id of this.#again.keys()) if (!unknown.includes(id)) this.#again.delete(id)
    for (const id of unknown) {
      if (this.#life.signal.aborted) return
      if ((this.#again.get(id) ?? 0) > performance.now()) continue
      const pipeline = await catalog.getPipeline(id)
      if (pipeline === null) continue
      const signal = AbortSignal.any([this.#life.signal, AbortSignal.timeout(TIMEOUT_MS)])
      const reads = await inspector.reads(pipeline, signal).catch(() => null)
      if (reads === null) this.#again.set(id, performance.now() + AGAIN_MS)
      else await editor.learnReads(pipeline, reads)
    }
  }
}

/** All mistakes of all pipelines, each with the place of its pipeline. */
function readDrafts(raws: readonly Raw[], rules: PipelineRules): PipelineDraft[] {
  const drafts: PipelineDraft[] = []
  const errors = raws.flatMap((raw, n) => {
    try {
      drafts.push(readDraft(raw, rules))
      return []
    } catch (error) {
      if (!(error instanceof RequestInvalid)) throw error
      return error.errors.map((one) => ({ ...one, field: `pipelines.${n}.${one.field}` }))
    }
  })
  if (errors.length > 0) throw new RequestInvalid(errors)
  return drafts
}
