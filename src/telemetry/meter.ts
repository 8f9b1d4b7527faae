import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { RowCounts } from '../model/run.js'
import type { FinalStatus } from '../model/totals.js'
import { HEARTBEAT, LAST_SUCCESS, ROWS, RUN_DURATION, RUNS, STAGES } from './families.js'
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
  batchDone(pipeline: string, rows: RowCounts, seconds: number): void
  retried(pipeline: string, code: string): void
  recovered(count: number): void
  /** How long a run was requested before a runner claimed it. */
  waited(seconds: number): void
  heartbeat(): void
  request(request: HttpRequest): void
  /**
   * Prometheus text. Given the fleet, its totals stand instead of this process's own: the API executes nothing, and
   * when a runner shares its process, the same name must not come twice. Null: the meta store could not be asked.
   */
  text(fleet?: Fleet | null): Promise<string>
}

export function createMeter(options: { readonly version: string }): Meter {
  return new PrometheusMeter(options.version)
}

class PrometheusMeter implements Meter {
  /** What only this process can know. */
  readonly #own = new Registry()
  /** What the meta store knows too, for all processes. */
  readonly #shared = new Registry()
  readonly #metrics = { ...ownMetrics(this.#own), ...sharedMetrics(this.#shared) }

  constructor(version: string) {
    this.#metrics.build.set({ version }, 1)
    // Unset, it must be absent: 0 would read as a runner that is silent since 1970.
    this.#metrics.heartbeat.remove()
  }

  get contentType(): string {
    return this.#own.contentType
  }

  runEnded(pipeline: string, status: FinalStatus, seconds: number): void {
    this.#metrics.runs.inc({ pipeline, status })
    this.#metrics.runDuration.observe({ pipeline }, seconds)
    if (status === 'SUCCESS') this.#metrics.lastSuccess.setToCurrentTime({ pipeline })
  }

  batchDone(pipeline: string, rows: RowCounts, seconds: number): void {
    for (const stage of STAGES) this.#metrics.rows.inc({ pipeline, stage }, rows[stage])
    this.#metrics.batchDuration.observe({ pipeline }, seconds)
  }

  retried(pipeline: string, code: string): void {
    this.#metrics.retries.inc({ pipeline, code })
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

  request({ method, route, status, seconds }: HttpRequest): void {
    this.#metrics.requests.inc({ method, route, status })
    this.#metrics.requestDuration.observe({ method, route }, seconds)
  }

  async text(fleet?: Fleet | null): Promise<string> {
    const shared = fleet === undefined ? await this.#shared.metrics() : fleetText(fleet)
    return `${await this.#own.metrics()}\n${shared}`
  }
}

function sharedMetrics(registry: Registry) {
  const registers = [registry]
  return {
    runs: new Counter({ ...RUNS, registers }),
    rows: new Counter({ ...ROWS, registers }),
    runDuration: new Histogram({ ...RUN_DURATION, buckets: [...RUN_DURATION.buckets], registers }),
    lastSuccess: new Gauge({ ...LAST_SUCCESS, registers }),
    heartbeat: new Gauge({ ...HEARTBEAT, registers }),
  }
}

function ownMetrics(registry: Registry) {
  const registers = [registry]
  const counter = <L extends string>(name: string, help: string, labelNames: L[]) =>
    new Counter({ name, help, labelNames, registers })
  const histogram = <L extends string>(name: string, help: string, labelNames: L[], buckets: number[]) =>
    new Histogram({ name, help, labelNames, buckets, registers })
  const waits = [0.05, 0.1, 0.5, 1, 2, 5, 15, 60, 300, 1800]
  const batches = [0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10, 30, 60]
  const requests = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]
  return {
    build: new Gauge({
      name: 'vitrina_build_info',
      help: 'Always 1; the version is the label.',
      labelNames: ['version'],
      registers,
    }),
    batchDuration: histogram(
      'vitrina_batch_duration_seconds',
      'How long batches took, from read to commit.',
      ['pipeline'],
      batches,
    ),
    retries: counter('vitrina_retries_total', 'Attempts that failed and were repeated.', [
      'pipeline',
      'code',
    ]),
    recoveries: counter('vitrina_recoveries_total', 'Runs taken over from a runner that went silent.', []),
    queueWait: histogram(
      'vitrina_queue_wait_seconds',
      'How long runs were requested before a runner claimed them.',
      [],
      waits,
    ),
    requests: counter('vitrina_http_requests_total', 'Answered requests.', ['method', 'route', 'status']),
    requestDuration: histogram(
      'vitrina_http_request_duration_seconds',
      'How long answers took.',
      ['method', 'route'],
      requests,
    ),
  }
}
