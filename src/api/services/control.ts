import { createHash } from 'node:crypto'
import type { Author } from '../../model/access.js'
import { VitrinaError } from '../../model/errors.js'
import { isId } from '../../model/id.js'
import type { Wave } from '../../model/order.js'
import type { Pipeline } from '../../model/pipeline.js'
import type { Run } from '../../model/run.js'
import type { PipelineStatus } from '../../model/status.js'
import type { CancelManner, RunControl } from '../../ports/run-control.js'
import type { ApiEvents } from '../../telemetry/api-events.js'
import { notFound } from './not-found.js'
import type { PipelineService } from './pipelines.js'

export interface RunInput {
  readonly pipelineId: string
  readonly author: Author
  readonly externalRef?: string
  readonly parent?: string
  /** The header Idempotency-Key. */
  readonly key?: string
  readonly events: ApiEvents
}

export interface RequestedRuns {
  readonly run: Run
  /** With those that were requested together with it, in the order in which they may start. */
  readonly runs: readonly Run[]
  readonly status: PipelineStatus
  readonly replayed: boolean
}

export interface CancelInput extends CancelManner {
  readonly author: Author
  readonly events: ApiEvents
}

/** Requests and cancels runs, and never executes one (invariant 5). */
export class ControlService {
  readonly #control: RunControl
  readonly #pipelines: PipelineService

  constructor(control: RunControl, pipelines: PipelineService) {
    this.#control = control
    this.#pipelines = pipelines
  }

  /** Returns the same run while one is requested or in progress. */
  async requestRun({
    pipelineId,
    author,
    externalRef,
    parent,
    key,
    events,
  }: RunInput): Promise<RequestedRuns> {
    const idempotency =
      key === undefined ? undefined : { key, fingerprint: fingerprint(pipelineId, externalRef) }
    const request = { pipelineId, author, externalRef, parent, idempotency }
    const found = isId(pipelineId) ? await this.#control.requestRun(request) : null
    if (found === null) throw notFound('PIPELINE_NOT_FOUND', pipelineId)
    const { run, replayed } = found
    events.runRequested(run)
    // Not read again: a fast runner may have finished by then, and IDLE would look like a lost request.
    const requested = { run, runs: [run], replayed }
    if (run.status === 'REQUESTED') return { ...requested, status: 'RUN_REQUESTED' }
    return { ...requested, status: (await this.#pipelines.get(pipelineId)).status }
  }

  /** The same for a wave of runs. */
  async requestWave({ wave, ...input }: RunInput & { readonly wave: Wave }): Promise<RequestedRuns> {
    const { pipelineId, author, externalRef, key, events } = input
    const idempotency =
      key === undefined ? undefined : { key, fingerprint: fingerprint(pipelineId, externalRef, wave) }
    const request = { pipelineId, author, externalRef, idempotency, wave }
    const found = isId(pipelineId) ? await this.#control.requestWave(request) : null
    if (found === null) throw notFound('PIPELINE_NOT_FOUND', pipelineId)
    for (const run of found.runs) events.runRequested(run)
    return { ...found, status: (await this.#pipelines.get(pipelineId)).status }
  }

  /** The current status of a pipeline, for requests that waited. */
  async statusOf(id: string): Promise<PipelineStatus> {
    return (await this.#pipelines.get(id)).status
  }

  async requestPause(id: string, author: Author, events: ApiEvents): Promise<Pipeline> {
    const pipeline = isId(id) ? await this.#control.requestPause(id, author) : null
    if (pipeline === null) throw nothingRuns(await this.#pipelines.get(id))
    events.pauseRequested(pipeline)
    return pipeline
  }

  async cancelRun(id: string, { author, events, force }: CancelInput): Promise<Run> {
    const run = isId(id) ? await this.#control.cancelRun(id, author, { force }) : null
    if (run === null) throw notFound('RUN_NOT_FOUND', id)
    events.cancelRequested(run)
    return run
  }
}

/** What a repeated request must have in common with the first. */
function fingerprint(pipelineId: string, externalRef: string | undefined, wave?: Wave): string {
  const content = [
    'run',
    pipelineId.toLowerCase(),
    externalRef ?? null,
    ...(wave === undefined ? [] : [wave]),
  ]
  return createHash('sha256').update(JSON.stringify(content)).digest('hex')
}

function nothingRuns(pipeline: Pipeline): VitrinaError {
  return new VitrinaError(
    'TRANSITION_REFUSED',
    `Pipeline "${pipeline.name}" is ${pipeline.status}; there is no run to pause.`,
    'A pipeline can be paused only while it is RUNNING.',
  )
}
