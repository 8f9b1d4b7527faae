import { PHASES } from '../model/claim.js'

/** What Prometheus calls a family: one name, one meaning, whoever exposes it. docs/reference/metrics.md is made from these. */
export interface Family {
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  readonly labelNames: readonly string[]
  readonly buckets?: readonly number[]
  /**
   * `api`, `runner`: counted by that process for itself. `fleet`: told by every API from the meta store, for all
   * runners together. `both`: by the API for all runners, by a runner for itself.
   */
  readonly from: 'api' | 'runner' | 'fleet' | 'both'
}

/** What pipelines without series of their own share. */
export const OTHER = '(other)'

export const STAGES = ['read', 'inserted', 'updated', 'unchanged', 'deleted', 'quarantined'] as const

export const BUILD = {
  name: 'vitrina_build_info',
  type: 'gauge',
  help: 'Always 1; the version is the label.',
  labelNames: ['version'],
  from: 'both',
} as const satisfies Family
export const META_STORE_UP = {
  name: 'vitrina_meta_store_up',
  type: 'gauge',
  help: 'Whether the meta store answered this scrape. Where it is 0, everything that is read from there is absent.',
  labelNames: [],
  from: 'fleet',
} as const satisfies Family
export const PIPELINES = {
  name: 'vitrina_pipelines',
  type: 'gauge',
  help: 'Pipelines, by their status now. RUN_REQUESTED is the queue.',
  labelNames: ['status'],
  from: 'fleet',
} as const satisfies Family
export const PIPELINE_STATUS = {
  name: 'vitrina_pipeline_status',
  type: 'gauge',
  help: 'Always 1; the labels tell the status of the pipeline now, and whether it is enabled.',
  labelNames: ['pipeline', 'status', 'enabled'],
  from: 'fleet',
} as const satisfies Family
export const PIPELINES_WITHOUT_SERIES = {
  name: 'vitrina_pipelines_without_series',
  type: 'gauge',
  help: 'Pipelines that have no series of their own in this answer, because there are more than METRICS_MAX_PIPELINES. Their counts are under pipeline="(other)".',
  labelNames: [],
  from: 'fleet',
} as const satisfies Family
export const RUNS = {
  name: 'vitrina_runs_total',
  type: 'counter',
  help: 'Runs that ended, by how they ended: SUCCESS, FAILED, PAUSED, CANCELLED.',
  labelNames: ['pipeline', 'status'],
  from: 'both',
} as const satisfies Family
export const ROWS = {
  name: 'vitrina_rows_total',
  type: 'counter',
  help: `Rows, by what became of them: ${STAGES.join(', ')}.`,
  labelNames: ['pipeline', 'stage'],
  from: 'both',
} as const satisfies Family
export const RUN_DURATION = {
  name: 'vitrina_run_duration_seconds',
  type: 'histogram',
  help: 'How long runs took, from their first claim to their end.',
  labelNames: ['pipeline'],
  // The database counts by the same bounds (etl.duration_place): others need a migration.
  buckets: [0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 14_400],
  from: 'both',
} as const satisfies Family
export const LAST_SUCCESS = {
  name: 'vitrina_last_success_timestamp_seconds',
  type: 'gauge',
  help: 'When a run of the pipeline last ended well.',
  labelNames: ['pipeline'],
  from: 'both',
} as const satisfies Family
export const WATERMARK = {
  name: 'vitrina_watermark_timestamp_seconds',
  type: 'gauge',
  help: 'How far an incremental pipeline has come, where its key is a time. Absent where it is not.',
  labelNames: ['pipeline'],
  from: 'fleet',
} as const satisfies Family
export const NEXT_RUN = {
  name: 'vitrina_next_run_timestamp_seconds',
  type: 'gauge',
  help: 'When the schedule of an enabled pipeline starts its next run. In the past: it is overdue.',
  labelNames: ['pipeline'],
  from: 'fleet',
} as const satisfies Family
export const OLDEST_REQUEST = {
  name: 'vitrina_oldest_request_timestamp_seconds',
  type: 'gauge',
  help: 'When the run was requested that waits longest for a runner. Absent: none waits.',
  labelNames: [],
  from: 'fleet',
} as const satisfies Family
export const HEARTBEAT = {
  name: 'vitrina_runner_heartbeat_timestamp_seconds',
  type: 'gauge',
  help: 'The last sign of life: of a runner, and from the API of the runner that gave the latest one.',
  labelNames: [],
  from: 'both',
} as const satisfies Family
export const RUNNERS = {
  name: 'vitrina_runners',
  type: 'gauge',
  help: 'Runners that gave a sign of life in the last 15 s.',
  labelNames: [],
  from: 'fleet',
} as const satisfies Family
export const RUNNER_SLOTS = {
  name: 'vitrina_runner_slots',
  type: 'gauge',
  help: 'Pipelines that these runners can work on at the same time.',
  labelNames: [],
  from: 'fleet',
} as const satisfies Family
export const BATCH_DURATION = {
  name: 'vitrina_batch_duration_seconds',
  type: 'histogram',
  help: `How long batches took: total, and their phases ${PHASES.join(', ')}. Phases of rows that pass through the runner overlap; where they do not, reading is a part of writing.`,
  labelNames: ['pipeline', 'phase'],
  buckets: [0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10, 30, 60],
  from: 'runner',
} as const satisfies Family
export const RETRIES = {
  name: 'vitrina_retries_total',
  type: 'counter',
  help: 'Attempts that failed and were repeated, by the code of the error.',
  labelNames: ['pipeline', 'code'],
  from: 'runner',
} as const satisfies Family
export const RECOVERIES = {
  name: 'vitrina_recoveries_total',
  type: 'counter',
  help: 'Runs taken over from a runner that went silent.',
  labelNames: [],
  from: 'runner',
} as const satisfies Family
export const QUEUE_WAIT = {
  name: 'vitrina_queue_wait_seconds',
  type: 'histogram',
  help: 'How long runs were requested before a runner claimed them.',
  labelNames: [],
  buckets: [0.05, 0.1, 0.5, 1, 2, 5, 15, 60, 300, 1800],
  from: 'runner',
} as const satisfies Family
export const REQUESTS = {
  name: 'vitrina_http_requests_total',
  type: 'counter',
  help: 'Answered requests, by the pattern of their path.',
  labelNames: ['method', 'route', 'status'],
  from: 'api',
} as const satisfies Family
export const REQUEST_DURATION = {
  name: 'vitrina_http_request_duration_seconds',
  type: 'histogram',
  help: 'How long answers took.',
  labelNames: ['method', 'route'],
  buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
  from: 'api',
} as const satisfies Family
export const RECONCILE_ROWS = {
  name: 'vitrina_reconcile_rows',
  type: 'gauge',
  help: 'Rows that the last deep comparison through this API found: missing, extra, different.',
  labelNames: ['pipeline', 'kind'],
  from: 'api',
} as const satisfies Family

export const FAMILIES: readonly Family[] = [
  BUILD,
  META_STORE_UP,
  PIPELINES,
  PIPELINE_STATUS,
  PIPELINES_WITHOUT_SERIES,
  RUNS,
  ROWS,
  RUN_DURATION,
  LAST_SUCCESS,
  WATERMARK,
  NEXT_RUN,
  OLDEST_REQUEST,
  HEARTBEAT,
  RUNNERS,
  RUNNER_SLOTS,
  BATCH_DURATION,
  RETRIES,
  RECOVERIES,
  QUEUE_WAIT,
  REQUESTS,
  REQUEST_DURATION,
  RECONCILE_ROWS,
]
