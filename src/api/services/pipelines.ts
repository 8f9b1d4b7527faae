import { VitrinaError } from '../../model/errors.js'
import type { Pipeline } from '../../model/pipeline.js'
import type { Run } from '../../model/run.js'
import type { PipelineStatus } from '../../model/status.js'
import type { Catalog, Page, PipelineFilter, RunFilter, State } from '../../ports/catalog.js'
import type { ApiEvents } from '../../telemetry/api-events.js'
import { isId } from './id.js'

export interface PipelineOverview {
  readonly pipeline: Pipeline
  readonly current: Run | null
  readonly last: Run | null
  readonly secondsSinceSuccess: number | null
}

/** The rules for pipelines. It asks for runs and never executes one (invariant 5). */
export class PipelineService {
  readonly #catalog: Catalog

  constructor(catalog: Catalog) {
    this.#catalog = catalog
  }

  list(filter: PipelineFilter): Promise<Page<Pipeline>> {
    return this.#catalog.listPipelines(filter)
  }

  async get(id: string): Promise<Pipeline> {
    return (isId(id) ? await this.#catalog.getPipeline(id) : null) ?? notFound(id)
  }

  /** Asking again while the run is requested or under way gives the same run. */
  async requestRun(id: string, events: ApiEvents): Promise<{ run: Run; status: PipelineStatus }> {
    const run = isId(id) ? await this.#catalog.requestRun(id) : null
    if (run === null) throw disabled(await this.get(id))
    events.runRequested(run)
    // Not read again: a quick runner may have finished by then, and IDLE would look like a request that got lost.
    if (run.status === 'REQUESTED') return { run, status: 'RUN_REQUESTED' }
    return { run, status: (await this.get(id)).status }
  }

  async requestPause(id: string, events: ApiEvents): Promise<Pipeline> {
    const pipeline = isId(id) ? await this.#catalog.requestPause(id) : null
    if (pipeline === null) throw nothingRuns(await this.get(id))
    events.pauseRequested(pipeline)
    return pipeline
  }

  async overview(id: string): Promise<PipelineOverview> {
    // The pipeline first: a run that ends in between then shows as the last run of a pipeline still called RUNNING, and
    // the next look is right. The other way round a poller would see IDLE beside the run before.
    const pipeline = await this.get(id)
    const runs = await this.#catalog.currentAndLastRun(id)
    return { pipeline, ...runs, secondsSinceSuccess: await this.#catalog.secondsSinceSuccess(id) }
  }

  async state(id: string): Promise<State> {
    // Every pipeline got its state from the database when it was inserted.
    return (isId(id) ? await this.#catalog.getState(id) : null) ?? notFound(id)
  }

  async runs(id: string, filter: Omit<RunFilter, 'pipelineId'>): Promise<Page<Run>> {
    await this.get(id)
    return this.#catalog.listRuns({ ...filter, pipelineId: id })
  }
}

function notFound(id: string): never {
  throw new VitrinaError(
    'PIPELINE_NOT_FOUND',
    `There is no pipeline ${id.slice(0, 100)}.`,
    'List the pipelines with GET /api/v1/pipelines.',
  )
}

function disabled(pipeline: Pipeline): VitrinaError {
  return new VitrinaError(
    'PIPELINE_DISABLED',
    `Pipeline "${pipeline.name}" is disabled.`,
    'Enable it, then run it again.',
  )
}

function nothingRuns(pipeline: Pipeline): VitrinaError {
  return new VitrinaError(
    'TRANSITION_REFUSED',
    `Pipeline "${pipeline.name}" is ${pipeline.status}: nothing runs that could be paused.`,
    'Pause a pipeline while it is RUNNING.',
  )
}
