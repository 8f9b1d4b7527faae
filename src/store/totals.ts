import type { PipelineStatus } from '../model/status.js'
import type { Durations, PipelineTotals, Pulse } from '../model/totals.js'
import { ALIVE } from './alive.js'
import type { Queryable } from './database.js'

const STAGES = ['read', 'inserted', 'updated', 'unchanged', 'deleted', 'quarantined'] as const

/** What all runners did, for the metrics. Numbers only: an aggregate as a float keeps counts exact up to 2^53. */
interface TotalsRow {
  pipeline: string
  status: PipelineStatus
  enabled: boolean
  key: string | null
  next_run: number | null
  succeeded: number
  failed: number
  paused: number
  cancelled: number
  read: number
  inserted: number
  updated: number
  unchanged: number
  deleted: number
  quarantined: number
  seconds: number
  /** Runs by duration; null: none has ended yet. */
  durations: number[] | null
  last_success: number | null
  data_as_of: number | null
  budget: number | null
}

export async function runTotals(database: Queryable): Promise<PipelineTotals[]> {
  const rows = await database.query<TotalsRow>(TOTALS)
  return rows.map(({ succeeded, failed, paused, cancelled, ...row }) => ({
    pipeline: row.pipeline,
    status: row.status,
    enabled: row.enabled,
    runs: { SUCCESS: succeeded, FAILED: failed, PAUSED: paused, CANCELLED: cancelled },
    rows: {
      read: row.read,
      inserted: row.inserted,
      updated: row.updated,
      unchanged: row.unchanged,
      deleted: row.deleted,
      quarantined: row.quarantined,
    },
    durations: durationsOf(row.durations ?? [], row.seconds),
    lastSuccess: row.last_success,
    watermark: row.key === null ? null : secondsOf(row.key),
    nextRun: row.next_run,
    dataAsOf: row.data_as_of,
    freshnessLimit: row.budget,
  }))
}

const TIME = /^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}(\.\d+)?([+-]\d{2})?$/

/**
 * For a key in the format in which the database writes times. Parsed here: a cast of free text could fail the whole
 * scrape.
 */
function secondsOf(key: string): number | null {
  const [time, , zone = '+00'] = TIME.exec(key) ?? []
  if (time === undefined) return null
  const milliseconds = Date.parse(
    `${time
      .slice(0, 23)
      .replace(' ', 'T')
      .replace(/[+-]\d{2}$/, '')}${zone}:00`,
  )
  return Number.isNaN(milliseconds) ? null : milliseconds / 1000
}

/** The database counts each run once; Prometheus needs cumulative counts for each bound. */
function durationsOf(counts: readonly number[], seconds: number): Durations {
  let count = 0
  const within = counts.map((runs) => (count += runs))
  return { count, seconds, within: within.slice(0, -1) }
}

/**
 * Ended runs are kept as sums (migration 0008), so a scrape reads as many rows as there are pipelines, however long
 * the history is. The rows of runs in progress are added: otherwise a run of an hour would appear as a jump at its
 * end.
 */
const TOTALS = `
  SELECT p.name AS pipeline, p.status, p.enabled, CASE p.mode WHEN 'incremental' THEN s.last_processed_key END AS key,
         CASE WHEN p.enabled AND p.schedule_interval IS NOT NULL THEN date_part('epoch', p.next_run_at) END AS next_run,
         ${['succeeded', 'failed', 'paused', 'cancelled', 'seconds'].map((column) => `coalesce(t.${column}, 0)::float8 AS ${column}`).join(', ')},
         ${STAGES.map((stage) => `(coalesce(t.rows_${stage}, 0) + coalesce(now.${stage}, 0))::float8 AS ${stage}`).join(', ')},
         t.durations::float8[] AS durations, date_part('epoch', t.last_success) AS last_success,
         date_part('epoch', CASE p.freshness WHEN 'live' THEN etl.data_as_of(p.id) ELSE f.data_as_of END) AS data_as_of,
         f.budget_seconds::float8 AS budget
    FROM etl.etl_pipelines p
    LEFT JOIN etl.etl_state s ON s.pipeline_id = p.id
    LEFT JOIN etl.etl_freshness f ON f.pipeline_id = p.id
    LEFT JOIN etl.etl_run_totals t ON t.pipeline_id = p.id
    LEFT JOIN (SELECT pipeline_id, ${STAGES.map((stage) => `sum(rows_${stage}) AS ${stage}`).join(', ')}
                 FROM etl.etl_runs WHERE status = 'RUNNING' GROUP BY pipeline_id) now ON now.pipeline_id = p.id
   ORDER BY p.created_at, p.id`

export async function secondsSinceSuccess(database: Queryable, pipelineId: string): Promise<number | null> {
  // Newest first along the index, so that it reads one row, not the whole history.
  const [row] = await database.query<{ seconds: number }>(
    `SELECT date_part('epoch', clock_timestamp() - finished_at) AS seconds FROM etl.etl_runs
      WHERE pipeline_id = $1 AND status = 'SUCCESS' ORDER BY requested_at DESC, id DESC LIMIT 1`,
    [pipelineId],
  )
  return row?.seconds ?? null
}

export async function fleetPulse(database: Queryable): Promise<Pulse> {
  const [row] = await database.query<Pulse & { [column: string]: unknown }>(
    `SELECT date_part('epoch', max(heartbeat_at)) AS heartbeat, count(*) FILTER (WHERE ${IS_ALIVE}) AS runners,
            coalesce(sum(concurrency) FILTER (WHERE ${IS_ALIVE}), 0)::float8 AS slots,
            (SELECT date_part('epoch', min(requested_at)) FROM etl.etl_pipelines
              WHERE status = 'RUN_REQUESTED' AND enabled) AS "oldestRequest"
       FROM etl.etl_runners`,
  )
  return row!
}

const IS_ALIVE = `stopped_at IS NULL AND heartbeat_at > clock_timestamp() - ${ALIVE}`
