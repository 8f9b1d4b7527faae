import type { CheckResult } from '../model/check.js'
import type {
  BatchRecord,
  Claim,
  Phase,
  Progress,
  Release,
  RunEnd,
  RunnerInfo,
  RunPlan,
  RunTotals,
  ScheduledPipeline,
  StalledRun,
} from '../model/claim.js'
import type { VitrinaError } from '../model/errors.js'
import type { PartClaim, PartPlan, PartRecord } from '../model/part.js'
import type { Proof } from '../model/reconcile.js'
import { type FailedAudit, type HeldBack, noRunnerFor, type RefusedRow, type RunCost } from '../model/run.js'
import { aboutError, aboutRows, aboutRun, many } from './facts.js'
import type { LogFields, Logger } from './log.js'
import type { Meter } from './meter.js'
import { RunTraces } from './run-traces.js'
import { NO_TRACER, type Tracer } from './trace.js'

const ENDED = {
  SUCCESS: 'Run succeeded.',
  PAUSED: 'Run paused.',
  CANCELLED: 'Run cancelled.',
  FAILED: 'Run failed.',
} as const

/** What a batch led to, and where its time went. */
interface BatchReport {
  readonly progress: Progress
  readonly phases: readonly Phase[]
}

/** The events of a runner, one method per event: its log line and its metrics cannot drift apart. */
export class Events {
  readonly #log: Logger
  readonly #meter: Meter
  readonly #traces: RunTraces

  constructor(log: Logger, meter: Meter, tracer: Tracer = NO_TRACER) {
    this.#log = log
    this.#meter = meter
    this.#traces = new RunTraces(tracer)
  }

  runnerStarted({ id, host, pid, concurrency, tags, connectionLimits }: RunnerInfo): void {
    this.#meter.heartbeat()
    this.#log.info('Runner started.', {
      runner: id,
      host,
      pid,
      concurrency,
      ...(tags === null ? {} : { tags }),
      ...(Object.keys(connectionLimits).length === 0 ? {} : { connection_limits: connectionLimits }),
    })
  }

  runnerStopped(runner: RunnerInfo): void {
    this.#log.info('Runner stopped.', { runner: runner.id })
  }

  runStalled({ runId, pipelineId, pipelineName, tags }: StalledRun): void {
    this.#log.warn(`Run cannot start: ${noRunnerFor(tags)}`, {
      pipeline: pipelineName,
      pipeline_id: pipelineId,
      run_id: runId,
      tags: tags.join(','),
      hint: 'Start a runner whose RUNNER_TAGS has slots for it, or change the tags of the pipeline.',
    })
  }

  heartbeat(): void {
    this.#meter.heartbeat()
  }

  recovered(count: number): void {
    if (count === 0) return
    this.#meter.recovered(count)
    this.#log.warn(`Took over ${many(count, 'run')} from a silent runner.`, { recovered: count })
  }

  /** waitedMs: how long the run was requested before this claim; null if unknown. */
  runStarted(claim: Claim, waitedMs: number | null = null): void {
    this.#traces.started(claim)
    const waited = waitedMs === null ? {} : { waited_ms: Math.round(waitedMs) }
    const facts = { ...this.#about(claim), fence: claim.fence, ...waited }
    if (waitedMs !== null) this.#meter.waited(waitedMs / 1000)
    if (!claim.recovered) this.#log.info('Run started.', facts)
    else
      this.#log.info('Run resumed.', {
        ...facts,
        previous_owner: claim.previousOwner,
        previous_end: claim.previousEnd,
        deaths: claim.deaths,
      })
  }

  attemptStarted(claim: Claim): void {
    this.#traces.attemptStarted(claim)
  }

  /** Null: it succeeded, or the run is handed back. */
  attemptEnded(claim: Claim, error: VitrinaError | null): void {
    this.#traces.attemptEnded(claim, error)
  }

  /** This runner does nothing more for the run, whether or not it has ended. */
  runLeft(claim: Claim): void {
    this.#traces.left(claim)
  }

  runPlanned(claim: Claim, plan: RunPlan): void {
    const { strategy, way, guarantee } = plan
    this.#traces.planned(claim, plan)
    this.#log.info('Run planned.', { ...this.#about(claim), strategy, way, guarantee })
  }

  batchDone(claim: Claim, batch: BatchRecord, { progress, phases }: BatchReport): void {
    this.#meter.batchDone(claim.pipeline.name, batch, phases)
    this.#traces.batch(claim, batch, phases)
    this.#log.info(`Batch ${batch.batch} done.`, {
      ...this.#about(claim),
      batch: batch.batch,
      step: batch.step,
      duration_ms: Math.round(batch.durationMs),
      ...aboutRows(batch.rows),
      run_rows: progress.rows.read,
      run_batches: progress.batches,
    })
  }

  /** The run is cut into parts from here on. */
  partsOpened(claim: Claim, { step, width, columns }: PartPlan): void {
    this.#log.info('Run cut into parts.', {
      ...this.#about(claim),
      step,
      at_once: width,
      key: columns.join(', '),
    })
  }

  partsContinued(claim: Claim, done: number, total: number): void {
    this.#log.info('The remaining parts are read in a new snapshot of the source.', {
      ...this.#about(claim),
      parts_done: done,
      parts_total: total,
    })
  }

  partDone(part: PartClaim, { rows, durationMs, phases, spans }: PartRecord): void {
    const batch = {
      batch: part.plan.batchBefore + part.part,
      step: part.plan.step,
      rows,
      durationMs,
      phases,
      firstKey: null,
      lastKey: null,
      copiedCheckpoint: null,
    }
    this.#meter.batchDone(part.pipeline.name, batch, spans)
    this.#traces.batch(part, batch, spans)
    this.#log.info(`Part ${part.part} done.`, {
      ...this.#about(part),
      part: part.part,
      step: part.plan.step,
      duration_ms: Math.round(durationMs),
      ...aboutRows(rows),
    })
    if (rows.duplicates > 0) this.duplicates(part, rows.duplicates)
  }

  engineStarted(claim: Claim, profile: string): void {
    this.#log.info('Parts submitted to Spark.', { ...this.#about(claim), profile })
  }

  /** Parts are left; the engine is started again, or the run fails. */
  engineEnded(claim: Claim, { how, report }: { readonly how: string; readonly report: string }): void {
    this.#log.warn(`The Spark driver ${how} before every part was committed.`, {
      ...this.#about(claim),
      driver: report,
    })
  }

  /** The runner executes it itself. */
  partHandedOver(claim: Claim, part: number, reason: string): void {
    this.#log.warn(`Part ${part} is executed by the runner.`, { ...this.#about(claim), part, reason })
  }

  /** It did not end: it failed, or another runner executes it. */
  partLeft(part: PartClaim, error: VitrinaError): void {
    const facts = {
      ...this.#about(part),
      part: part.part,
      part_attempt: part.partAttempt,
      ...aboutError(error),
    }
    this.#log.warn(`Part ${part.part} not completed.`, facts)
  }

  retrying(claim: Claim, waitMs: number, error: VitrinaError): void {
    this.#meter.retried(claim.pipeline.name, error.code)
    // Called for the failed attempt; the claim is that of the next one.
    const facts = {
      ...this.#about(claim),
      attempt: claim.attempt - 1,
      next_attempt: claim.attempt,
      wait_ms: waitMs,
      ...aboutError(error),
    }
    this.#log.warn('Attempt failed, retrying.', facts)
  }

  /** Totals of all attempts: a run that failed after two retries and 40 batches did not take 0 ms. */
  runEnded(claim: Claim, end: RunEnd, totals: RunTotals): void {
    this.#meter.runEnded(claim.pipeline.name, end.status, totals.durationMs / 1000)
    const facts = {
      ...this.#about(claim),
      status: end.status,
      duration_ms: Math.round(totals.durationMs),
      batches: totals.batches,
      ...aboutRows(totals.rows),
    }
    if (end.status !== 'FAILED') this.#log.info(ENDED[end.status], facts)
    else this.#log.error(ENDED.FAILED, { ...facts, code: end.code, hint: end.hint, err: end.error })
    this.#traces.ended(claim, end, totals)
  }

  runReleased(claim: Claim, release: Release): void {
    const reason = release.end === 'given_back' ? 'The runner is stopping.' : release.error
    this.#log.info('Run handed back unfinished.', { ...this.#about(claim), reason })
  }

  leaseLost(claim: Claim): void {
    this.#log.warn('Lease lost: another runner holds the pipeline.', {
      ...this.#about(claim),
      fence: claim.fence,
    })
  }

  heldBack(claim: Claim, { reason, pid, since }: HeldBack): void {
    const facts = { ...this.#about(claim), reason, blocking_pid: pid, since }
    this.#log.info('Checkpoint held back by an open transaction.', facts)
  }

  spent(claim: Claim, cost: RunCost): void {
    this.#meter.spent(claim.pipeline.name, cost)
  }

  /** The changes of the source were not followed to rows of the mart. */
  everyRowComputed(claim: Claim, reason: string): void {
    this.#log.info(`Computing every row: ${reason}`, this.#about(claim))
  }

  /** Rows that differ from what the query returns mean that a change was not followed to them. */
  auditFailed(claim: Claim, audit: FailedAudit): void {
    this.#meter.auditFailed(claim.pipeline.name)
    this.#log.error(
      'An audit found rows that differ from the query. They are repaired, and every later run computes all rows until the query changes.',
      {
        ...this.#about(claim),
        rows: audit.rows,
        scopes: audit.scopes,
        key: audit.key,
        key_queries: audit.keyQueries,
      },
    )
  }

  duplicates(claim: Claim, count: number): void {
    const facts = { ...this.#about(claim), rows: count }
    this.#log.warn(
      `The source returned ${many(count, 'row')} with the key of another row in the batch.`,
      facts,
    )
  }

  martRecreated(claim: Claim): void {
    this.#log.warn('The mart was deleted and created again: reading every row again.', this.#about(claim))
  }

  transformOutput(claim: Claim, { transform, text }: { transform: string; text: string }): void {
    this.#log.info(text, { ...this.#about(claim), transform })
  }

  quarantined(claim: Claim, rows: readonly RefusedRow[]): void {
    this.#log.warn(`Quarantined ${many(rows.length, 'row')}.`, {
      ...this.#about(claim),
      rows: rows.length,
      reason: rows[0]?.reason,
    })
  }

  checked(claim: Claim, result: CheckResult): void {
    this.#meter.checked(claim.pipeline.name, result)
    if (result.status === 'passed') return
    this.#log.warn(
      `Check "${result.name}" ${result.status === 'error' ? 'could not be evaluated' : 'failed'}.`,
      {
        ...this.#about(claim),
        check: result.name,
        type: result.type,
        status: result.status,
        rows: result.failedRows,
        reason: result.message,
        ...(result.sample.length === 0 ? {} : { sample: result.sample.join(', ') }),
      },
    )
  }

  repairProved(claim: Claim, { agree, onTheirWay, differ, keys }: Proof): void {
    const facts = { ...this.#about(claim), agree, on_their_way: onTheirWay, differ }
    if (differ === 0)
      this.#log.info(`Compared again: ${many(agree, 'repaired row')} equal to the source.`, facts)
    else
      this.#log.warn(`Compared again: ${many(differ, 'repaired row')} still different.`, { ...facts, keys })
  }

  scheduled(
    { name, id, schedule, timezone }: ScheduledPipeline,
    next: string | null,
    started: boolean,
  ): void {
    const facts = { pipeline: name, pipeline_id: id, schedule, timezone, next_run_at: next }
    if (started) this.#log.info('Run requested by schedule.', facts)
    else this.#log.debug('Next run scheduled.', facts)
  }

  dueByFreshness(pipeline: string): void {
    this.#log.info('Run requested to keep the data fresh.', { pipeline })
  }

  followersRequested(runIds: readonly string[]): void {
    this.#log.info('Runs requested because upstream pipelines changed rows.', { run_ids: runIds })
  }

  connectionLost(where: string, error: Error): void {
    this.#log.error(`Connection to ${where} lost.`, aboutError(error))
  }

  /** A failed tick affects no run: the next one follows anyway. */
  tickFailed(error: Error): void {
    this.#log.error('Tick failed.', aboutError(error))
  }

  #about(claim: Claim): LogFields {
    const traceId = this.#traces.idOf(claim)
    return traceId === null ? aboutRun(claim) : { ...aboutRun(claim), trace_id: traceId }
  }
}
