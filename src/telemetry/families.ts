import { PHASES } from '../model/claim.js'

/**
 * A metric family of Prometheus: one name, one meaning, in every process. docs/reference/metrics.md is generated from
 * these.
 */
export interface Family {
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  readonly labelNames: readonly string[]
  readonly buckets?: readonly number[]
  /**
   * `api`, `runner`: counted by that process for itself. `fleet`: reported by every API from the meta store, for all
   * runners together. `both`: by the API for all runners, by a runner for itself.
   */
  readonly from: 'api' | 'runner' | 'fleet' | 'both'
}

/** Shared by pipelines without their own series. */
export const OTHER_LABEL = '(other)'

export const STAGES = ['read', 'inserted', 'updated', 'unchanged', 'deleted', 'quarantined'] as const

export const BUILD = {
  name: 'vitrina_build_info',
  type: 'gauge',
  help: 'Always 1; the label is the version.',
  labelNames: ['version'],
  from: 'both',
} as const satisfies Family
export const META_STORE_UP = {
  name: 'vitrina_meta_store_up',
  type: 'gauge',
  help: 'Whether the meta store responded to this scrape. If 0, all metrics read from it are absent.',
  labelNames: [],
  from: 'fleet',
} as const satisfies Family
export const PIPELINES = {
  name: 'vitrina_pipelines',
  type: 'gauge',
  help: 'Pipelines by current status. RUN_REQUESTED is the queue.',
  labelNames: ['status'],
  from: 'fleet',
} as const satisfies Family
export const PIPELINE_STATUS = {
  name: 'vitrina_pipeline_status',
  type: 'gauge',
  help: 'Always 1; the labels are the current status of the pipeline and whether it is enabled.',
  labelNames: ['pipeline', 'status', 'enabled'],
  from: 'fleet',
} as const satisfies Family
export const PIPELINES_WITHOUT_SERIES = {
  name: 'vitrina_pipelines_without_series',
  type: 'gauge',
  help: 'Pipelines without their own series in this response, because there are more than METRICS_MAX_PIPELINES. Their counts are under pipeline="(other)".',
  labelNames: [],
  from: 'fleet',
} as const satisfies Family
export const RUNS = {
  name: 'vitrina_runs_total',
  type: 'counter',
  help: 'Ended runs by result: SUCCESS, FAILED, PAUSED, CANCELLED.',
  labelNames: ['pipeline', 'status'],
  from: 'both',
} as const satisfies Family
export const ROWS = {
  name: 'vitrina_rows_total',
  type: 'counter',
  help: `Rows by stage: ${STAGES.join(', ')}.`,
  labelNames: ['pipeline', 'stage'],
  from: 'both',
} as const satisfies Family
export const RUN_DURATION = {
  name: 'vitrina_run_duration_seconds',
  type: 'histogram',
  help: 'Duration of runs, from the first claim to the end.',
  labelNames: ['pipeline'],
  // The database uses the same bounds (etl.duration_place): changing them needs a migration.
  buckets: [0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 14_400],
  from: 'both',
} as const satisfies Family
export const LAST_SUCCESS = {
  name: 'vitrina_last_success_timestamp_seconds',
  type: 'gauge',
  help: 'Time of the last successful run of the pipeline.',
  labelNames: ['pipeline'],
  from: 'both',
} as const satisfies Family
export const WATERMARK = {
  name: 'vitrina_watermark_timestamp_seconds',
  type: 'gauge',
  help: 'Position of an incremental pipeline, if its key is a time. Absent if it is not.',
  labelNames: ['pipeline'],
  from: 'fleet',
} as const satisfies Family
export const NEXT_RUN = {
  name: 'vitrina_next_run_timestamp_seconds',
  type: 'gauge',
  help: 'Time of the next scheduled run of an enabled pipeline. In the past: it is overdue.',
  labelNames: ['pipeline'],
  from: 'fleet',
} as const satisfies Family
export const DATA_AS_OF = {
  name: 'vitrina_data_as_of_timestamp_seconds',
  type: 'gauge',
  help: 'The mart of the pipeline contains everything that was committed in its source before this time.',
  labelNames: ['pipeline'],
  from: 'fleet',
} as const satisfies Family
export const FRESHNESS_LIMIT = {
  name: 'vitrina_freshness_limit_seconds',
  type: 'gauge',
  help: 'How old the data of the pipeline may become. No series: not limited.',
  labelNames: ['pipeline'],
  from: 'fleet',
} as const satisfies Family
export const OLDEST_REQUEST = {
  name: 'vitrina_oldest_request_timestamp_seconds',
  type: 'gauge',
  help: 'Request time of the run that has waited longest for a runner. Absent: none waits.',
  labelNames: [],
  from: 'fleet',
} as const satisfies Family
export const HEARTBEAT = {
  name: 'vitrina_runner_heartbeat_timestamp_seconds',
  type: 'gauge',
  help: 'Time of the last heartbeat: of a runner, and from the API the latest of all runners.',
  labelNames: [],
  from: 'both',
} as const satisfies Family
export const RUNNERS = {
  name: 'vitrina_runners',
  type: 'gauge',
  help: 'Runners with a heartbeat in the last 15 s.',
  labelNames: [],
  from: 'fleet',
} as const satisfies Family
export const RUNNER_SLOTS = {
  name: 'vitrina_runner_slots',
  type: 'gauge',
  help: 'Pipelines that these runners can run at the same time.',
  labelNames: [],
  from: 'fleet',
} as const satisfies Family
export const SOURCE_CAPTURED = {
  name: 'vitrina_source_captured',
  type: 'gauge',
  help: 'Whether a runner captures the changes of a source without an error. Absent for a source that no pipeline has read yet.',
  labelNames: ['source'],
  from: 'fleet',
} as const satisfies Family
export const SOURCE_LAG = {
  name: 'vitrina_source_lag_bytes',
  type: 'gauge',
  help: 'WAL of a source that was not captured yet, as last seen.',
  labelNames: ['source'],
  from: 'fleet',
} as const satisfies Family
export const SOURCE_HELD = {
  name: 'vitrina_source_held_bytes',
  type: 'gauge',
  help: 'WAL that a source keeps on its disk for the replication slot, as last seen. At VITRINA_WAL_KEEP_MB the slot is dropped.',
  labelNames: ['source'],
  from: 'fleet',
} as const satisfies Family
export const SOURCE_GENERATION = {
  name: 'vitrina_source_generation_timestamp_seconds',
  type: 'gauge',
  help: 'When the current replication slot of a source was created. It changes when a slot was lost.',
  labelNames: ['source'],
  from: 'fleet',
} as const satisfies Family
export const SOURCE_PIPELINE_LAG = {
  name: 'vitrina_source_pipeline_lag_bytes',
  type: 'gauge',
  help: 'WAL between the position of a pipeline and the end of the change log, for the pipeline that is furthest behind. Entries are kept for it.',
  labelNames: ['source'],
  from: 'fleet',
} as const satisfies Family
export const BATCH_DURATION = {
  name: 'vitrina_batch_duration_seconds',
  type: 'histogram',
  help: `Duration of batches: total, and the phases ${PHASES.join(', ')}. Phases overlap for rows that pass through the runner. A database that reads and writes in one statement reports it as writing.`,
  labelNames: ['pipeline', 'phase'],
  buckets: [0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10, 30, 60],
  from: 'runner',
} as const satisfies Family
export const RETRIES = {
  name: 'vitrina_retries_total',
  type: 'counter',
  help: 'Failed attempts that were retried, by error code.',
  labelNames: ['pipeline', 'code'],
  from: 'runner',
} as const satisfies Family
export const RECOVERIES = {
  name: 'vitrina_recoveries_total',
  type: 'counter',
  help: 'Runs taken over from a silent runner.',
  labelNames: [],
  from: 'runner',
} as const satisfies Family
export const QUEUE_WAIT = {
  name: 'vitrina_queue_wait_seconds',
  type: 'histogram',
  help: 'Time from the request of a run to its claim.',
  labelNames: [],
  buckets: [0.05, 0.1, 0.5, 1, 2, 5, 15, 60, 300, 1800],
  from: 'runner',
} as const satisfies Family
export const RUN_BLOCKS = {
  name: 'vitrina_run_blocks_read_total',
  type: 'counter',
  help: 'Blocks of tables and indexes that runs accessed in their databases. Absent for servers before PostgreSQL 18.',
  labelNames: ['pipeline'],
  from: 'runner',
} as const satisfies Family
export const RUN_WAL = {
  name: 'vitrina_run_wal_bytes_total',
  type: 'counter',
  help: 'Bytes of WAL that runs wrote in their databases. Absent for servers before PostgreSQL 18.',
  labelNames: ['pipeline'],
  from: 'runner',
} as const satisfies Family
export const AUDITS_FAILED = {
  name: 'vitrina_audits_failed_total',
  type: 'counter',
  help: 'Audits of incremental runs that found rows which differ from the query.',
  labelNames: ['pipeline'],
  from: 'runner',
} as const satisfies Family
export const CHECKS = {
  name: 'vitrina_checks_total',
  type: 'counter',
  help: 'Results of data checks: passed, warned, quarantined, failed, error. A check that fails in several batches of a run counts for each.',
  labelNames: ['pipeline', 'status'],
  from: 'runner',
} as const satisfies Family
export const CHECK_FAILED_ROWS = {
  name: 'vitrina_check_failed_rows_total',
  type: 'counter',
  help: 'Rows that failed a data check, by what happens to them: warned, quarantined, failed.',
  labelNames: ['pipeline', 'status'],
  from: 'runner',
} as const satisfies Family
export const REQUESTS = {
  name: 'vitrina_http_requests_total',
  type: 'counter',
  help: 'Responses by route pattern.',
  labelNames: ['method', 'route', 'status'],
  from: 'api',
} as const satisfies Family
export const REQUEST_DURATION = {
  name: 'vitrina_http_request_duration_seconds',
  type: 'histogram',
  help: 'Duration of responses.',
  labelNames: ['method', 'route'],
  buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
  from: 'api',
} as const satisfies Family
export const RECONCILE_ROWS = {
  name: 'vitrina_reconcile_rows',
  type: 'gauge',
  help: 'Rows found by the last deep comparison through this API: missing, extra, different.',
  labelNames: ['pipeline', 'kind'],
  from: 'api',
} as const satisfies Family

export const NOTIFICATIONS = {
  name: 'vitrina_notifications_total',
  type: 'counter',
  help: 'Attempts to deliver a notification by this API: sent, failed (and repeated later), dead (given up).',
  labelNames: ['channel', 'outcome'],
  from: 'api',
} as const satisfies Family
export const NOTIFICATIONS_WAITING = {
  name: 'vitrina_notifications_waiting',
  type: 'gauge',
  help: 'Notifications of each channel that are not delivered: pending, or dead until an operator settles them.',
  labelNames: ['channel', 'state'],
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
  DATA_AS_OF,
  FRESHNESS_LIMIT,
  OLDEST_REQUEST,
  HEARTBEAT,
  RUNNERS,
  RUNNER_SLOTS,
  SOURCE_CAPTURED,
  SOURCE_LAG,
  SOURCE_HELD,
  SOURCE_GENERATION,
  SOURCE_PIPELINE_LAG,
  BATCH_DURATION,
  RETRIES,
  RECOVERIES,
  QUEUE_WAIT,
  RUN_BLOCKS,
  RUN_WAL,
  AUDITS_FAILED,
  CHECKS,
  CHECK_FAILED_ROWS,
  REQUESTS,
  REQUEST_DURATION,
  RECONCILE_ROWS,
  NOTIFICATIONS,
  NOTIFICATIONS_WAITING,
]
