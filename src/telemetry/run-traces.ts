import type { BatchRecord, Claim, Phase, Progress, RunEnd, RunPlan } from '../model/claim.js'
import { ERRORS, type VitrinaError } from '../model/errors.js'
import { finalTarget, transformNames } from '../model/pipeline.js'
import { type RowCounts, rowsWritten } from '../model/run.js'
import { type Attributes, parseTraceparent, type Span, type SpanError, type Tracer } from './trace.js'

interface Open {
  readonly run: Span
  attempt: Span | null
}

/**
 * The spans of the runs that this runner holds: run > attempt > batch > read, transform, write, checkpoint. Never one
 * per row.
 */
export class RunTraces {
  readonly #tracer: Tracer
  readonly #open = new Map<string, Open>()

  constructor(tracer: Tracer) {
    this.#tracer = tracer
  }

  /** The trace of a run, also one that others record; null: none. */
  idOf(claim: Claim): string | null {
    const named = this.#open.get(claim.runId)?.run.context ?? parseTraceparent(claim.traceparent)
    return named?.traceId ?? null
  }

  started(claim: Claim): void {
    if (!this.#tracer.isOn) return
    const { pipeline, runId, trigger, recovered, waitedMs } = claim
    const run = this.#tracer.start({
      name: 'run',
      kind: 'consumer',
      parent: parseTraceparent(claim.traceparent),
      // The next holder of the run finds the same trace.
      traceId: runId.replaceAll('-', ''),
      attributes: {
        ...aboutPipeline(claim),
        'vitrina.run.trigger': trigger,
        'vitrina.run.recovered': recovered,
        'vitrina.run.waited_ms': recovered ? null : Math.round(waitedMs),
        'vitrina.pipeline.config_version': pipeline.configVersion,
      },
    })
    this.#open.set(runId, { run, attempt: null })
  }

  attemptStarted(claim: Claim): void {
    const open = this.#open.get(claim.runId)
    if (open === undefined) return
    open.attempt = this.#tracer.start({
      name: 'attempt',
      kind: 'internal',
      parent: open.run.context,
      attributes: { ...aboutPipeline(claim), 'vitrina.attempt': claim.attempt, 'vitrina.fence': claim.fence },
    })
  }

  planned(claim: Claim, { strategy, way, guarantee }: RunPlan): void {
    const open = this.#open.get(claim.runId)
    if (open?.attempt == null) return
    const { end, context } = open.attempt
    const plan = { 'vitrina.strategy': strategy, 'vitrina.way': way, 'vitrina.guarantee': guarantee }
    open.attempt = { context, end: (how = {}) => end({ ...how, attributes: { ...plan, ...how.attributes } }) }
  }

  /** Recorded when it is over: until then it may turn out not to have been a batch. */
  batch(claim: Claim, record: BatchRecord, phases: readonly Phase[]): void {
    const parent = this.#open.get(claim.runId)?.attempt?.context ?? null
    if (parent?.sampled !== true) return
    const batch = this.#tracer.start({
      name: 'batch',
      kind: 'internal',
      parent,
      at: Math.min(...phases.map(({ from }) => from)),
      attributes: {
        ...aboutPipeline(claim),
        'vitrina.batch': record.batch,
        'vitrina.step': record.step,
        ...rowAttributes(record.rows),
      },
    })
    for (const phase of phases)
      this.#tracer
        .start({
          name: phase.name,
          kind: 'internal',
          parent: batch.context,
          at: phase.from,
          attributes: aboutPhase(phase, claim, record),
        })
        .end({ at: phase.to })
    batch.end({ at: Math.max(...phases.map(({ to }) => to)) })
  }

  attemptEnded(claim: Claim, error: VitrinaError | null): void {
    this.#open.get(claim.runId)?.attempt?.end({ error: error === null ? null : spanError(error) })
  }

  ended(claim: Claim, end: RunEnd, progress: Progress): void {
    const open = this.#open.get(claim.runId)
    if (open === undefined) return
    const failed =
      end.status === 'FAILED' ? { type: end.code, means: 'The run failed.', sqlstate: null } : null
    open.attempt?.end()
    open.run.end({
      error: failed,
      attributes: {
        'vitrina.run.status': end.status,
        'vitrina.batches': progress.batches,
        ...rowAttributes(progress.rows),
      },
    })
    this.#open.delete(claim.runId)
  }

  /** Released, ended or not. */
  left(claim: Claim): void {
    this.#open.get(claim.runId)?.run.end({ attributes: { 'vitrina.run.status': 'LEFT' } })
    this.#open.delete(claim.runId)
  }
}

function aboutPipeline({ pipeline, runId }: Claim): Attributes {
  return {
    'vitrina.pipeline.id': pipeline.id,
    'vitrina.pipeline.name': pipeline.name,
    'vitrina.run.id': runId,
  }
}

function rowAttributes(rows: RowCounts): Attributes {
  return {
    'vitrina.rows.read': rows.read,
    'vitrina.rows.written': rowsWritten(rows),
    'vitrina.rows.unchanged': rows.unchanged,
    'vitrina.rows.deleted': rows.deleted,
    'vitrina.rows.quarantined': rows.quarantined,
  }
}

/** Names of tables, never texts of queries: those contain values. */
function aboutPhase({ name }: Phase, { pipeline }: Claim, { rows }: BatchRecord): Attributes {
  if (name === 'transform') return { 'vitrina.transforms': transformNames(pipeline) }
  if (name === 'checkpoint') return { 'db.system.name': 'postgresql', 'db.collection.name': 'etl.etl_state' }
  if (name === 'read') return { 'db.system.name': 'postgresql', 'db.operation.batch.size': rows.read }
  const target = finalTarget(pipeline)
  return {
    'db.system.name': SYSTEMS[target.split(':', 1)[0] ?? ''] ?? 'postgresql',
    'db.collection.name': target,
    'db.operation.batch.size': rows.read,
  }
}

/** The names of OpenTelemetry, by the prefix of a target. */
const SYSTEMS: Readonly<Record<string, string>> = { es: 'elasticsearch', ch: 'clickhouse', s3: 's3' }

function spanError({ code, sqlstate }: VitrinaError): SpanError {
  return { type: code, means: ERRORS[code].means, sqlstate }
}
