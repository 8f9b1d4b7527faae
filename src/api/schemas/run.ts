import { z } from 'zod'
import type { HeldBack, Run } from '../../model/run.js'
import { RUN_STATUSES } from '../../model/status.js'
import { pageOf, pageQuery } from './page.js'

const heldBackWire = z.object({
  reason: z.string(),
  pid: z.number().nullable(),
  since: z.string().nullable(),
})

export const runWire = z.object({
  id: z.string(),
  pipeline_id: z.string(),
  pipeline_name: z.string(),
  status: z.enum(RUN_STATUSES),
  trigger: z.string(),
  attempt: z.number(),
  strategy: z.string().nullable(),
  way: z.string().nullable(),
  guarantee: z.string().nullable(),
  config_version: z.number(),
  runner_id: z.string().nullable(),
  requested_at: z.string(),
  started_at: z.string().nullable(),
  finished_at: z.string().nullable(),
  duration_ms: z.number().nullable(),
  rows_read: z.number(),
  rows_written: z.number(),
  rows_inserted: z.number(),
  rows_updated: z.number(),
  rows_unchanged: z.number(),
  rows_deleted: z.number(),
  rows_quarantined: z.number(),
  rows_duplicate: z.number(),
  batches: z.number(),
  error: z.string().nullable(),
  error_code: z.string().nullable(),
  error_hint: z.string().nullable(),
  held_back: heldBackWire.nullable(),
})
export type RunWire = z.infer<typeof runWire>

export const runPage = pageOf(runWire)
export const runsOfPipelineQuery = z.strictObject(pageQuery)
export const listRunsQuery = z.strictObject({ ...pageQuery, pipeline_id: z.uuid().optional() })

export function runToWire(run: Run): RunWire {
  return {
    id: run.id,
    pipeline_id: run.pipelineId,
    pipeline_name: run.pipelineName,
    status: run.status,
    trigger: run.trigger,
    attempt: run.attempt,
    strategy: run.strategy,
    way: run.way,
    guarantee: run.guarantee,
    config_version: run.configVersion,
    runner_id: run.runnerId,
    requested_at: run.requestedAt,
    started_at: run.startedAt,
    finished_at: run.finishedAt,
    duration_ms: run.durationMs,
    rows_read: run.rowsRead,
    rows_written: run.rowsWritten,
    rows_inserted: run.rowsInserted,
    rows_updated: run.rowsUpdated,
    rows_unchanged: run.rowsUnchanged,
    rows_deleted: run.rowsDeleted,
    rows_quarantined: run.rowsQuarantined,
    rows_duplicate: run.rowsDuplicate,
    batches: run.batches,
    error: run.error,
    error_code: run.errorCode,
    error_hint: run.errorHint,
    held_back: run.heldBack === null ? null : heldBackToWire(run.heldBack),
  }
}

/** Field by field: what the runner stores beside them is not a promise to anyone. */
function heldBackToWire({ reason, pid, since }: HeldBack): z.infer<typeof heldBackWire> {
  return { reason, pid, since }
}
