import type { OrderGraph } from '../../model/order.js'
import type { Catalog } from '../../ports/catalog.js'
import type { Inspector } from '../../ports/inspector.js'
import type { PipelineEditor } from '../../ports/pipeline-editor.js'

export interface OrderParts {
  readonly catalog: Pick<Catalog, 'orderGraph' | 'pipelinesWithoutReads' | 'getPipeline'>
  readonly inspector: Pick<Inspector, 'reads'>
  readonly editor: Pick<PipelineEditor, 'learnReads'>
}

/** For each pipeline, longer than a check should take. */
const PATIENCE_MS = 10_000

/** The order of pipelines. */
export class OrderService {
  readonly #parts: OrderParts
  readonly #life = new AbortController()
  #learning: Promise<void> = Promise.resolve()

  constructor(parts: OrderParts) {
    this.#parts = parts
  }

  graph(): Promise<OrderGraph> {
    return this.#parts.catalog.orderGraph()
  }

  /**
   * Reads the tables of pipelines that were created with SQL, or before there was an order. Each run does the same: this
   * only makes their edges known before.
   */
  start(): void {
    this.#learning = this.#learn().catch(() => {})
  }

  async stop(): Promise<void> {
    this.#life.abort()
    await this.#learning
  }

  async #learn(): Promise<void> {
    const { catalog, inspector, editor } = this.#parts
    for (const id of await catalog.pipelinesWithoutReads()) {
      if (this.#life.signal.aborted) return
      const pipeline = await catalog.getPipeline(id)
      if (pipeline === null) continue
      const signal = AbortSignal.any([this.#life.signal, AbortSignal.timeout(PATIENCE_MS)])
      const reads = await inspector.reads(pipeline, signal).catch(() => [])
      if (reads.length > 0) await editor.learnReads(id, reads)
    }
  }
}
