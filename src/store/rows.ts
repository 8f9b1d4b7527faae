import { inFieldOrder } from '../model/check.js'
import type { Manager, Pipeline, Task } from '../model/pipeline.js'
import { PIPELINE_FIELD_NAMES } from '../model/pipeline-fields.js'
import { type PipelineColumns, specOf } from '../model/pipeline-spec.js'
import type { Run } from '../model/run.js'
import type { PipelineStatus } from '../model/status.js'
import { fromColumns, type SnakeCaseRow } from './from-columns.js'

/** Timestamps are read as text: a JS Date drops microseconds. */
export const PIPELINE_COLUMNS = `
  p.id, ${PIPELINE_FIELD_NAMES.map((name) => `p.${name}`).join(', ')}, p.status, p.config_version, p.managed_by,
  etl.rfc3339(p.created_at) AS created_at, etl.rfc3339(p.updated_at) AS updated_at,
  (SELECT coalesce(jsonb_agg(jsonb_build_object('id', t.id, 'orderIndex', t.order_index, 'taskType', t.task_type, 'body', t.body,
                    'sourceTable', t.source_table, 'targetTable', t.target_table) ORDER BY t.order_index), '[]')
     FROM etl.etl_pipeline_tasks t WHERE t.pipeline_id = p.id) AS tasks`

export interface PipelineRow extends PipelineColumns {
  id: string
  status: PipelineStatus
  config_version: number
  managed_by: Manager
  created_at: string
  updated_at: string
  tasks: Task[]
}

export function toPipeline(row: PipelineRow): Pipeline {
  return {
    ...specOf(row),
    id: row.id,
    // Written by hand, both may be NULL; only a table is converted to a query.
    sourceQuery: row.source_query ?? (row.source_table === null ? '' : null),
    checks: inFieldOrder(row.checks),
    status: row.status,
    configVersion: row.config_version,
    managedBy: row.managed_by,
    tasks: row.tasks,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

/**
 * Why planned runs do not start yet, by pipeline. It depends on no row, so the statement computes it once, and only if it
 * needs it: etl.why_held for each run of a wave of 300 took 48 s.
 */
const HELD_BACK = `(SELECT jsonb_object_agg(h.pipeline_id, jsonb_build_object(
    'code', h.code, 'upstream', (SELECT u.name FROM etl.etl_pipelines u WHERE u.id = h.upstream_id)))
  FROM etl.pending_pipelines() h WHERE h.code IS NOT NULL)`

export const RUN_COLUMNS = `
  r.id, r.pipeline_id, p.name AS pipeline_name, r.status, r.trigger, r.attempt, r.strategy, r.way, r.guarantee, r.config_version, r.runner_id,
  etl.rfc3339(r.requested_at) AS requested_at, etl.rfc3339(r.started_at) AS started_at, etl.rfc3339(r.finished_at) AS finished_at,
  round(extract(epoch FROM coalesce(r.finished_at, clock_timestamp()) - r.started_at) * 1000)::float8 AS duration_ms,
  r.rows_read, r.rows_written, r.rows_inserted, r.rows_updated, r.rows_unchanged, r.rows_deleted, r.rows_quarantined, r.rows_duplicate,
  r.batches, r.parts_total, r.parts_done, r.error, r.error_code, r.error_hint, r.held_back, CASE WHEN r.status <> 'REQUESTED' THEN NULL WHEN p.current_run_id = r.id THEN etl.why_waiting(p.id) ELSE ${HELD_BACK} -> p.id::text END AS waiting, r.cost_blocks_read, r.cost_wal_bytes, r.external_ref, r.cancel_requested,
  split_part(r.traceparent, '-', 2) AS trace_id, r.attempts`

export type RunRow = SnakeCaseRow<Omit<Run, 'cost'>> & {
  cost_blocks_read: number | null
  cost_wal_bytes: number | null
}

export function toRun({ cost_blocks_read: blocksRead, cost_wal_bytes: walBytes, ...row }: RunRow): Run {
  const cost = blocksRead === null || walBytes === null ? null : { blocksRead, walBytes }
  return { ...fromColumns<Omit<Run, 'cost'>>(row), cost }
}
