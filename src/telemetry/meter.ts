import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { BatchRecord, Phase } from '../model/claim.js'
import type { FinalStatus } from '../model/totals.js'
import * as families from './families.js'
import { type Fleet, fleetText } from './fleet.js'

export interface HttpRequest {
  readonly method: string
  /** The pattern, never the path: ids would make a series each. */
  readonly route: string
  readonly status: number
  readonly seconds: number
}

/** Counts what happens in this process. Run ids, keys and SQL never become labels. */
export interface Meter {
  readonly contentType: string
  runEnded(pipeline: string, status: FinalStatus, seconds: number): void
  batchDone(pipeline: string, batch: Pick<BatchRecord, 'rows' | 'durationMs'>, phases: readonly Phase[]): void
  retried(pipeline: string, code: string): void
  recovered(count: number): void
  /** How long a run was requested before a runner claimed it. */
  waited(seconds: number): void
  heartbeat(): void
  /** What a comparison row by row found. */
  reconciled(pipeline: string, rows: Readonly<Record<'missing' | 'extra' | 'different', number>>): void
  request(request: HttpRequest): void
  /**
   * Prometheus text. Given the fleet, its totals stand instead of this process's own: the API executes nothing, and
   * when a runner shares its process, the same name must not come twice. Null: the meta store could not be asked.
   */
  text(fleet?: Fleet | null, most?: number): Promise<string>
}

interface MeterOptions {
  readonly version: string
  /** Pipelines that get series of their own; not given: all. */
  readonly mostPipelines?: number
}

export function createMeter(options: MeterOptions): Meter {
  return new PrometheusMeter(options)
}

class PrometheusMeter implements Meter {
  /** What only this process can know. */
  readonly #own = new Registry()
  /** What the meta store knows too, for all processes. */
  readonly #shared = new Registry()
  readonly #metrics = { ...ownMetrics(this.#own), ...sharedMetrics(this.#shared) }

  readonly #most: number
  /** Those that have series of their own: the first that this process met. They keep them, as a counter must. */
  readonly #named = new Set<string>()

  constructor({ version, mostPipelines = Number.POSITIVE_INFINITY }: MeterOptions) {
    this.#most = mostPipelines
    this.#metrics.build.set({ version }, 1)
    // Unset, it must be absent: 0 would read as a runner that is silent since 1970.
    this.#metrics.heartbeat.remove()
  }

  get contentType(): string {
    return this.#own.contentType
  }

  runEnded(name: string, status: FinalStatus, seconds: number): void {
    const pipeline = this.#labelOf(name)
    this.#metrics.runs.inc({ pipeline, status })
    this.#metrics.runDuration.observe({ pipeline }, seconds)
    if (status === 'SUCCESS' && pipeline !== families.OTHER)
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

  reconciled(name: string, rows: Readonly<Record<'missing' | 'extra' | 'different', number>>): void {
    const pipeline = this.#labelOf(name)
    // What one comparison found says nothing about another pipeline.
    if (pipeline === families.OTHER) return
    for (const [kind, count] of Object.entries(rows))
      this.#metrics.reconcileRows.set({ pipeline, kind }, count)
  }

  request({ method, route, status, seconds }: HttpRequest): void {
    this.#metrics.requests.inc({ method, route, status })
    this.#metrics.requestDuration.observe({ method, route }, seconds)
  }

  async text(fleet?: Fleet | null, most: number = this.#most): Promise<string> {
    const shared = fleet === undefined ? await this.#shared.metrics() : fleetText(fleet, most)
    return `${await this.#own.metrics()}\n${shared}`
  }

  #labelOf(pipeline: string): string {
    if (this.#named.has(pipeline)) return pipeline
    if (this.#named.size >= this.#most) return families.OTHER
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
    build: new Gauge(at(registry, families.BUILD)),
    batchDuration: new Histogram(at(registry, families.BATCH_DURATION)),
    retries: new Counter(at(registry, families.RETRIES)),
    recoveries: new Counter(at(registry, families.RECOVERIES)),
    queueWait: new Histogram(at(registry, families.QUEUE_WAIT)),
    requests: new Counter(at(registry, families.REQUESTS)),
    requestDuration: new Histogram(at(registry, families.REQUEST_DURATION)),
    reconcileRows: new Gauge(at(registry, families.RECONCILE_ROWS)),
  }
}

/** What prom-client wants to know of a family. */
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
