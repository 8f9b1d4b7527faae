import { createHash } from 'node:crypto'
import type { Author } from '../../model/access.js'
import { VitrinaError } from '../../model/errors.js'
import type { QuarantinedRow } from '../../model/history.js'
import type { Pipeline } from '../../model/pipeline.js'
import type { Run } from '../../model/run.js'
import type { PipelineStatus } from '../../model/status.js'
import type { CancelManner, RunControl } from '../../ports/run-control.js'
import type { ApiEvents } from '../../telemetry/api-events.js'
import { isId } from './id.js'
import { notFound } from './not-found.js'
import type { PipelineService } from './pipelines.js'

export interface RunWish {
  readonly pipelineId: string
  readonly author: Author
  readonly externalRef?: string
  /** The header Idempotency-Key. */
  readonly key?: string
  readonly events: ApiEvents
}

export interface CancelWish extends CancelManner {
  readonly author: Author
  readonly events: ApiEvents
}

/** Asks for runs and for their end, and never executes one (invariant 5). */
export class ControlService {
  readonly #control: RunControl
  readonly #pipelines: PipelineService

  constructor(control: RunControl, pipelines: PipelineService) {
    this.#control = control
    this.#pipelines = pipelines
  }

  /** Asking again while the run is requested or under way gives the same run. */
  async requestRun({
    pipelineId,
    author,
    externalRef,
    key,
    events,
  }: RunWish): Promise<{ run: Run; status: PipelineStatus; replayed: boolean }> {
    const idempotency =
      key === undefined ? undefined : { key, fingerprint: fingerprint(pipelineId, externalRef) }
    const wish = { pipelineId, author, externalRef, idempotency }
    const found = isId(pipelineId) ? await this.#control.requestRun(wish) : null
    if (found === null) throw notFound('PIPELINE_NOT_FOUND', pipelineId)
    const { run, replayed } = found
    events.runRequested(run)
    // Not read again: a quick runner may have finished by then, and IDLE would look like a request that got lost.
    if (run.status === 'REQUESTED') return { run, status: 'RUN_REQUESTED', replayed }
    return { run, status: (await this.#pipelines.get(pipelineId)).status, replayed }
  }

  /** Where a pipeline stands now, for those who waited. */
  async statusOf(id: string): Promise<PipelineStatus> {
    return (await this.#pipelines.get(id)).status
  }

  async requestPause(id: string, author: Author, events: ApiEvents): Promise<Pipeline> {
    const pipeline = isId(id) ? await this.#control.requestPause(id, author) : null
    if (pipeline === null) throw nothingRuns(await this.#pipelines.get(id))
    events.pauseRequested(pipeline)
    return pipeline
  }

  async cancelRun(id: string, { author, events, force }: CancelWish): Promise<Run> {
    const run = isId(id) ? await this.#control.cancelRun(id, author, { force }) : null
    if (run === null) throw notFound('RUN_NOT_FOUND', id)
    events.cancelRequested(run)
    return run
  }

  async replay(id: string, row: string, author: Author): Promise<{ row: QuarantinedRow; run: Run | null }> {
    const { id: pipelineId } = await this.#pipelines.get(id)
    const found = isRowId(row) ? await this.#control.replay(pipelineId, Number(row), author) : null
    if (found === null) throw notFound('QUARANTINE_NOT_FOUND', row)
    return found
  }

  async discard(id: string, row: string, author: Author): Promise<QuarantinedRow> {
    const { id: pipelineId } = await this.#pipelines.get(id)
    const found = isRowId(row) ? await this.#control.discard(pipelineId, Number(row), author) : null
    if (found === null) throw notFound('QUARANTINE_NOT_FOUND', row)
    return found
  }
}

/** What a repeated request must have in common with the first. */
function fingerprint(pipelineId: string, externalRef: string | undefined): string {
  return createHash('sha256')
    .update(JSON.stringify(['run', pipelineId.toLowerCase(), externalRef ?? null]))
    .digest('hex')
}

/** Counted by the database; up to fifteen digits a JavaScript number is exact. */
function isRowId(text: string): boolean {
  return /^[1-9]\d{0,14}$/.test(text)
}

function nothingRuns(pipeline: Pipeline): VitrinaError {
  return new VitrinaError(
    'TRANSITION_REFUSED',
    `Pipeline "${pipeline.name}" is ${pipeline.status}: nothing runs that could be paused.`,
    'Pause a pipeline while it is RUNNING.',
  )
}
