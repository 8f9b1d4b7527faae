import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { CheckResult } from '../model/check.js'
import type { BatchRecord, Phase } from '../model/claim.js'
import type { ChannelState } from '../model/notification.js'
import type { RunCost } from '../model/run.js'
import type { FinalStatus } from '../model/totals.js'
import * as families from './families.js'
import { type FleetState, fleetText } from './fleet.js'

export interface HttpRequest {
  readonly method: string
  /** The pattern, never the path: every id would create a series. */
  readonly route: string
  readonly status: number
  readonly seconds: number
}

/** Counts events in this process. Run ids, keys and SQL never become labels. */
export interface Meter {
  readonly contentType: string
  runEnded(pipeline: string, status: FinalStatus, seconds: number): void
  batchDone(pipeline: string, batch: Pick<BatchRecord, 'rows' | 'durationMs'>, phases: readonly Phase[]): void
  retried(pipeline: string, code: string): void
  recovered(count: number): void
  /** How long a run was requested before a runner claimed it. */
  waited(seconds: number): void
  heartbeat(): void
  spent(pipeline: string, cost: RunCost): void
  auditFailed(pipeline: string): void
  /** The result of a data check. */
  checked(pipeline: string, result: Pick<CheckResult, 'status' | 'failedRows'>): void
  /** The result of a row-by-row comparison. */
  reconciled(pipeline: string, rows: Readonly<Record<'missing' | 'extra' | 'different', number>>): void
  request(request: HttpRequest): void
  /** An attempt to deliver a notification. */
  notified(channel: string, outcome: 'sent' | 'failed' | 'dead'): void
  /** Messages of each channel that are not delivered yet, or were given up. */
  notificationsWaiting(channels: readonly ChannelState[]): void
  /**
   * Prometheus text. If the fleet is given, its totals replace those of this process: the API executes nothing, and
   * if a runner shares its process, the same name must not appear twice. Null: the meta store could not be queried.
   */
  text(fleet?: FleetState | null, most?: number): Promise<string>
}

interface MeterOptions {
  readonly version: string
  /** Pipelines with their own series; not given: all. */
  readonly mostPipelines?: number
}

export function createMeter(options: MeterOptions): Meter {
  return new PrometheusMeter(options)
}

class PrometheusMeter implements Meter {
  /** What only this process can count. */
  readonly #own = new Registry()
  /** What the meta store also counts, for all processes. */
  readonly #shared = new Registry()
  readonly #metrics = { ...ownMetrics(this.#own), ...sharedMetrics(this.#shared) }

  readonly #most: number
  /** Pipelines with their own series: the first that this process saw. They keep them, as a counter must. */
  readonly #named = new Set<string>()

  constructor({ version, mostPipelines = Number.POSITIVE_INFINITY }: MeterOptions) {
    this.#most = mostPipelines
    this.#metrics.build.set({ version }, 1)
    // If unset, it must be absent: 0 would mean a runner that has been silent since 1970.
    this.#metrics.heartbeat.remove()
  }

  get contentType(): string {
    return this.#own.contentType
  }

  runEnded(name: string, status: FinalStatus, seconds: number): void {
    const pipeline = this.#labelOf(name)
    this.#metrics.runs.inc({ pipeline, status })
    this.#metrics.runDuration.observe({ pipeline }, seconds)
    if (status === 'SUCCESS' && pipeline !== families.OTHER_LABEL)
      this.#metrics.lastSuccess.setToCurrentTime({ pipeline })
  }

  batchDone(
    name: string,
    { rows, durationMs }: Pick<BatchRecord, 'rows' | 'durationMs'>,
    phases: readonly Phase[],
  ): void {
    const pipeline = this.#labelOf(name)
    for (const stage of families.STAGES) this.#metrics.rows.inc({ pipeline, stage }, rows[stage])
    this.#metrics.batchDuration.observe({ pipeline, phase: 'total' }, durationMs / 1000)
    for (const { name: phase, from, to } of phases)
      this.#metrics.batchDuration.observe({ pipeline, phase }, (to - from) / 1000)
  }

  retried(pipeline: string, code: string): void {
    this.#metrics.retries.inc({ pipeline: this.#labelOf(pipeline), code })
  }

  recovered(count: number): void {
    this.#metrics.recoveries.inc(count)
  }

  waited(seconds: number): void {
    this.#metrics.queueWait.observe(seconds)
  }

  heartbeat(): void {
    this.#metrics.heartbeat.setToCurrentTime()
  }

  spent(name: string, { blocksRead, walBytes }: RunCost): void {
    const pipeline = this.#labelOf(name)
    this.#metrics.runBlocks.inc({ pipeline }, blocksRead)
    this.#metrics.runWal.inc({ pipeline }, walBytes)
  }

  auditFailed(pipeline: string): void {
    this.#metrics.auditsFailed.inc({ pipeline: this.#labelOf(pipeline) })
  }

  checked(name: string, { status, failedRows }: Pick<CheckResult, 'status' | 'failedRows'>): void {
    const pipeline = this.#labelOf(name)
    this.#metrics.checks.inc({ pipeline, status })
    if (failedRows > 0) this.#metrics.checkFailedRows.inc({ pipeline, status }, failedRows)
  }

  reconciled(name: string, rows: Readonly<Record<'missing' | 'extra' | 'different', number>>): void {
    const pipeline = this.#labelOf(name)
    // The result of one comparison says nothing about another pipeline.
    if (pipeline === families.OTHER_LABEL) return
    for (const [kind, count] of Object.entries(rows))
      this.#metrics.reconcileRows.set({ pipeline, kind }, count)
  }

  request({ method, route, status, seconds }: HttpRequest): void {
    this.#metrics.requests.inc({ method, route, status })
    this.#metrics.requestDuration.observe({ method, route }, seconds)
  }

  notified(channel: string, outcome: 'sent' | 'failed' | 'dead'): void {
    this.#metrics.notifications.inc({ channel, outcome })
  }

  notificationsWaiting(channels: readonly ChannelState[]): void {
    this.#metrics.notificationsWaiting.reset()
    for (const { channel, pending, dead } of channels) {
      this.#metrics.notificationsWaiting.set({ channel, state: 'pending' }, pending)
      this.#metrics.notificationsWaiting.set({ channel, state: 'dead' }, dead)
    }
  }

  async text(fleet?: FleetState | null, most: number = this.#most): Promise<string> {
    const shared = fleet === undefined ? await this.#shared.metrics() : fleetText(fleet, most)
    return `${await this.#own.metrics()}\n${shared}`
  }

  #labelOf(pipeline: string): string {
    if (this.#named.has(pipeline)) return pipeline
    if (this.#named.size >= this.#most) return families.OTHER_LABEL
    this.#named.add(pipeline)
    return pipeline
  }
}

function sharedMetrics(registry: Registry) {
  return {
    runs: new Counter(at(registry, families.RUNS)),
    rows: new Counter(at(registry, families.ROWS)),
    runDuration: new Histogram(at(registry, families.RUN_DURATION)),
    lastSuccess: new Gauge(at(registry, families.LAST_SUCCESS)),
    heartbeat: new Gauge(at(registry, families.HEARTBEAT)),
  }
}

function ownMetrics(registry: Registry) {
  return {
    runBlocks: new Counter(at(registry, families.RUN_BLOCKS)),
    runWal: new Counter(at(registry, families.RUN_WAL)),
    auditsFailed: new Counter(at(registry, families.AUDITS_FAILED)),
    checks: new Counter(at(registry, families.CHECKS)),
    checkFailedRows: new Counter(at(registry, families.CHECK_FAILED_ROWS)),
    build: new Gauge(at(registry, families.BUILD)),
    batchDuration: new Histogram(at(registry, families.BATCH_DURATION)),
    retries: new Counter(at(registry, families.RETRIES)),
    recoveries: new Counter(at(registry, families.RECOVERIES)),
    queueWait: new Histogram(at(registry, families.QUEUE_WAIT)),
    requests: new Counter(at(registry, families.REQUESTS)),
    requestDuration: new Histogram(at(registry, families.REQUEST_DURATION)),
    notifications: new Counter(at(registry, families.NOTIFICATIONS)),
    notificationsWaiting: new Gauge(at(registry, families.NOTIFICATIONS_WAITING)),
    reconcileRows: new Gauge(at(registry, families.RECONCILE_ROWS)),
  }
}

/** The parameters of a family for prom-client. */
function at<L extends string>(
  registry: Registry,
  { name, help, labelNames, buckets }: families.Family & { readonly labelNames: readonly L[] },
): { name: string; help: string; labelNames: L[]; registers: Registry[]; buckets?: number[] } {
  return {
    name,
    help,
    labelNames: [...labelNames],
    registers: [registry],
    ...(buckets === undefined ? {} : { buckets: [...buckets] }),
  }
}
