import type { AuditEntry, BatchHistory, FleetRunner, PartHistory, RunLogLine } from '../../model/history.js'
import type { AuditFilter, Page, PageRequest, RunLogFilter } from '../../ports/catalog.js'
import type { Queryable } from '../database.js'
import { HELD } from '../status-lists.js'
import { pageOf, readNumberCursor } from './page.js'

export async function listBatches(
  database: Queryable,
  runId: string,
  { limit, cursor }: PageRequest,
): Promise<Page<BatchHistory>> {
  const rows = await database.query<BatchHistory>(
    `SELECT batch, attempt, step, rows_read AS "rowsRead", rows_inserted AS "rowsInserted", rows_updated AS "rowsUpdated",
            rows_unchanged AS "rowsUnchanged", rows_deleted AS "rowsDeleted", rows_quarantined AS "rowsQuarantined",
            rows_duplicate AS "rowsDuplicate", first_key AS "firstKey", last_key AS "lastKey", duration_ms AS "durationMs",
            read_ms AS "readMs", transform_ms AS "transformMs", write_ms AS "writeMs", checkpoint_ms AS "checkpointMs",
            etl.rfc3339(finished_at) AS "finishedAt"
       FROM etl.etl_run_batches WHERE run_id = $1 AND ($2::bigint IS NULL OR batch < $2) ORDER BY batch DESC LIMIT $3`,
    [runId, readNumberCursor(cursor), limit + 1],
  )
  return pageOf(rows, limit, (row) => [row.batch])
}

/** In the order of their keys. */
export async function listParts(
  database: Queryable,
  runId: string,
  { limit, cursor }: PageRequest,
): Promise<Page<PartHistory>> {
  const rows = await database.query<PartHistory>(
    `SELECT part, status, lo AS "afterKey", hi AS "lastKey", owner AS "runnerId", etl.rfc3339(lease_until) AS "leaseUntil",
            attempts, rows, etl.rfc3339(started_at) AS "startedAt", etl.rfc3339(finished_at) AS "finishedAt"
       FROM etl.etl_run_parts WHERE run_id = $1 AND ($2::bigint IS NULL OR part > $2) ORDER BY part LIMIT $3`,
    [runId, readNumberCursor(cursor), limit + 1],
  )
  return pageOf(rows, limit, (row) => [row.part])
}

/** In the order in which they were logged. `errors` leaves out information; `q` also searches the fields. */
export async function listLog(
  database: Queryable,
  runId: string,
  { limit, cursor, errors = false, after = 0, before, attempt, q, last = false }: RunLogFilter,
): Promise<Page<RunLogLine>> {
  const rows = await database.query<RunLogLine & { id: number }>(
    `SELECT id, run_id AS "runId", etl.rfc3339(at) AS at, level, message, fields FROM etl.etl_run_log
      WHERE run_id = $1 AND ($2::bigint IS NULL OR id ${last ? '<' : '>'} $2) AND id > $5 AND (NOT $3 OR level IN ('warn', 'error'))
        AND ($6::integer IS NULL OR fields @> jsonb_build_object('attempt', $6::integer))
        AND ($7::text IS NULL OR strpos(lower(message || ' ' || fields::text), lower($7)) > 0)
        AND ($8::bigint IS NULL OR id < $8)
      ORDER BY id ${last ? 'DESC' : 'ASC'} LIMIT $4`,
    [runId, readNumberCursor(cursor), errors, limit + 1, after, attempt ?? null, q ?? null, before ?? null],
  )
  const page = pageOf(rows, limit, (row) => [row.id])
  return last ? { ...page, items: [...page.items].reverse() } : page
}

/** Runners that hold pipelines first: they are what a user looks for. */
export function listRunners(database: Queryable): Promise<FleetRunner[]> {
  return database.query<FleetRunner>(
    `SELECT r.id, r.host, r.pid, r.version, r.concurrency, r.tags, r.connection_limits AS "connectionLimits", etl.rfc3339(r.started_at) AS "startedAt",
            etl.rfc3339(r.heartbeat_at) AS "heartbeatAt", etl.rfc3339(r.stopped_at) AS "stoppedAt",
            greatest(0, round(date_part('epoch', clock_timestamp() - r.heartbeat_at) * 1000)) AS "heartbeatAgeMs",
            (SELECT coalesce(jsonb_agg(jsonb_build_object('pipelineId', p.id, 'name', p.name, 'status', p.status,
                      'runId', p.current_run_id, 'leaseUntil', etl.rfc3339(p.lease_until)) ORDER BY p.name), '[]')
               FROM etl.etl_pipelines p
              WHERE p.lease_owner = r.id AND p.status IN ${HELD}) AS holds
       FROM etl.etl_runners r ORDER BY r.stopped_at IS NOT NULL, r.heartbeat_at DESC, r.id LIMIT 1000`,
  )
}

export async function listAudit(database: Queryable, filter: AuditFilter): Promise<Page<AuditEntry>> {
  const rows = await database.query<AuditEntry>(
    `SELECT id, etl.rfc3339(at) AS at, actor, action, target_kind AS "targetKind", target_id AS "targetId",
            target_name AS "targetName", diff, request_id AS "requestId"
       FROM etl.etl_audit
      WHERE ($1::text IS NULL OR target_id = $1)
        AND ($2::text IS NULL OR action = $2 OR $2 LIKE '%.' AND starts_with(action, $2))
        AND ($3::bigint IS NULL OR id < $3)
        AND ($5::text IS NULL OR strpos(lower(actor), lower($5)) > 0)
        AND ($6::text IS NULL OR request_id = $6)
        AND ($7::timestamptz IS NULL OR at >= $7) AND ($8::timestamptz IS NULL OR at < $8)
        AND ($9::text IS NULL OR target_id = $9 OR diff ->> 'pipeline_id' = $9)
        AND ($10::bigint IS NULL OR id = $10)
      ORDER BY id DESC LIMIT $4`,
    [
      filter.targetId ?? null,
      filter.action ?? null,
      readNumberCursor(filter.cursor),
      filter.limit + 1,
      filter.actor ?? null,
      filter.requestId ?? null,
      filter.since ?? null,
      filter.until ?? null,
      filter.pipelineId ?? null,
      filter.id ?? null,
    ],
  )
  return pageOf(rows, filter.limit, (row) => [row.id])
}
