import { isId } from '../../model/id.js'
import type { Due } from '../../model/order.js'
import type { FleetSummary, PipelineLine } from '../../model/overview.js'
import type { Pipeline } from '../../model/pipeline.js'
import type { Run } from '../../model/run.js'
import type { Catalog, Page, PipelineFilter, RunFilter, State } from '../../ports/catalog.js'
import { notFound } from './not-found.js'
import { SchedulePeriods } from './schedule-periods.js'

/** A page of pipelines with their runs, and the totals of all pipelines. */
export interface PipelineLines {
  readonly page: Page<PipelineLine & { readonly periodMs: number | null }>
  readonly fleet: FleetSummary
}

export interface PipelineOverview {
  readonly pipeline: Pipeline
  readonly current: Run | null
  readonly last: Run | null
  readonly due: Due | null
  readonly group: readonly string[] | null
  readonly secondsSinceSuccess: number | null
}

/** Reads pipelines. */
export class PipelineService {
  readonly #catalog: Catalog
  readonly #periods = new SchedulePeriods()

  constructor(catalog: Catalog) {
    this.#catalog = catalog
  }

  list(filter: PipelineFilter): Promise<Page<Pipeline>> {
    return this.#catalog.listPipelines(filter)
  }

  async lines(filter: PipelineFilter): Promise<PipelineLines> {
    const [page, fleet] = await Promise.all([
      this.#catalog.listPipelineLines(filter),
      this.#catalog.fleetSummary(),
    ])
    const items = page.items.map((line) => ({
      ...line,
      periodMs: this.#periods.of(line.scheduleInterval, line.scheduleTimezone),
    }))
    return { page: { ...page, items }, fleet }
  }

  async get(id: string): Promise<Pipeline> {
    const pipeline = isId(id) ? await this.#catalog.getPipeline(id) : null
    if (pipeline === null) throw notFound('PIPELINE_NOT_FOUND', id)
    return pipeline
  }

  async overview(id: string): Promise<PipelineOverview> {
    // The pipeline first: a run that ends in between then shows as the last run of a pipeline still RUNNING, and the
    // next request is correct. The other way round, a poller would see IDLE next to the previous run.
    const pipeline = await this.get(id)
    const runs = await this.#catalog.currentAndLastRun(id)
    const due = await this.#catalog.dueOf(id)
    const group = await this.#catalog.groupOf(id)
    return { pipeline, ...runs, due, group, secondsSinceSuccess: await this.#catalog.secondsSinceSuccess(id) }
  }

  async state(id: string): Promise<State> {
    // The database creates a state for every inserted pipeline.
    const state = isId(id) ? await this.#catalog.getState(id) : null
    if (state === null) throw notFound('PIPELINE_NOT_FOUND', id)
    return state
  }

  async runs(id: string, filter: Omit<RunFilter, 'pipelineId'>): Promise<Page<Run>> {
    await this.get(id)
    return this.#catalog.listRuns({ ...filter, pipelineId: id })
  }
}
