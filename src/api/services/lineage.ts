import type { LineageGraph, PipelineLineage } from '../../model/lineage.js'
import type { Pipeline } from '../../model/pipeline.js'
import type { Catalog } from '../../ports/catalog.js'
import type { Lineage, LineageQuestion, OpenLineageEvent } from '../../ports/lineage.js'
import { notFound } from './not-found.js'
import type { PipelineService } from './pipelines.js'

/** The largest page of the catalog. */
const PAGE = 1000

/** Where data comes from and where it goes. */
export class LineageService {
  readonly #lineage: Lineage
  readonly #catalog: Catalog
  readonly #pipelines: PipelineService

  constructor(lineage: Lineage, catalog: Catalog, pipelines: PipelineService) {
    this.#lineage = lineage
    this.#catalog = catalog
    this.#pipelines = pipelines
  }

  async graph(question: LineageQuestion, signal: AbortSignal): Promise<LineageGraph> {
    const graph = await this.#lineage.graph(await this.#all(), question, signal)
    if (graph === null) throw notFound('LINEAGE_NOT_FOUND', question.focus ?? '')
    return graph
  }

  async ofPipeline(id: string, signal: AbortSignal): Promise<PipelineLineage> {
    return this.#lineage.ofPipeline(await this.#pipelines.get(id), signal)
  }

  async openLineage(id: string | null, signal: AbortSignal): Promise<readonly OpenLineageEvent[]> {
    const pipelines = id === null ? await this.#all() : [await this.#pipelines.get(id)]
    return this.#lineage.openLineage(pipelines, signal)
  }

  async #all(): Promise<Pipeline[]> {
    const found: Pipeline[] = []
    let cursor: string | undefined
    do {
      const page = await this.#catalog.listPipelines({ limit: PAGE, cursor })
      found.push(...page.items)
      cursor = page.nextCursor ?? undefined
    } while (cursor !== undefined)
    return found
  }
}
