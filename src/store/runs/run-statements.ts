import { SESSION_PREFIX } from '../../model/claim.js'
import { kept } from '../../postgres/kept-statements.js'
import { HELD } from '../status-lists.js'
import { BATCH_COLUMNS, COUNTS } from './run-counts.js'

/** A pipeline that is to run all the time (`isLive`). */
const LIVE = "(p.freshness = 'live' AND p.mode = 'incremental' AND p.capture = 'wal')"

/** A cost that is not known leaves the sum as it is. */
export const ADDED_COST = `cost_blocks_read = coalesce(cost_blocks_read + $3, $3, cost_blocks_read),
  cost_wal_bytes = coalesce(cost_wal_bytes + $4, $4, cost_wal_bytes)`

export const END_FROZEN = kept(`SELECT pg_terminate_backend(a.pid, 1000) FROM etl.etl_pipelines p
         JOIN pg_stat_activity a ON a.application_name = '${SESSION_PREFIX}' || p.id || '/' || p.fence AND a.datname = current_database()
        WHERE p.status IN ${HELD} AND p.lease_until < clock_timestamp() AND pg_has_role(a.usesysid, 'USAGE')`)

export const REQUEST_DUE = kept('SELECT id FROM etl.request_due_runs() AS id')

export const REQUESTED_RESET = kept(
  'SELECT last_processed_key AS key, last_processed_id AS id FROM etl.etl_state WHERE pipeline_id = $1 AND reset',
)

export const TO_REPLAY = kept(`SELECT id, row_key AS key, columns, row_text AS texts FROM etl.etl_quarantine
        WHERE pipeline_id = $1 AND status = 'REPLAY_REQUESTED' ORDER BY id LIMIT 1000`)

// Of any run: a paused or failed one may have left them.
export const TO_REPAIR =
  kept(`SELECT q.id, q.key FROM etl.etl_repairs q JOIN etl.etl_runs r ON r.id = q.run_id
        WHERE r.pipeline_id = $1 AND q.repaired_at IS NULL ORDER BY q.id`)

// Each part follows a partial index: every tick asks, and most of ten thousand pipelines are not due.
export const DUE_SCHEDULES =
  kept(`SELECT etl.rfc3339(clock_timestamp()) AS now, p.id, p.name, p.schedule_interval AS schedule, p.schedule_timezone AS timezone,
              etl.rfc3339(p.next_run_at) AS next_run_at, ${LIVE} AS live
         FROM (SELECT 1) one LEFT JOIN (
           SELECT * FROM etl.etl_pipelines p WHERE p.freshness = 'live' AND ${LIVE} AND p.enabled AND p.status = 'IDLE'
           UNION ALL
           SELECT * FROM etl.etl_pipelines p WHERE p.schedule_interval IS NOT NULL AND p.next_run_at IS NULL AND p.enabled
              AND ${LIVE} IS NOT TRUE
           UNION ALL
           SELECT * FROM etl.etl_pipelines p WHERE p.schedule_interval IS NOT NULL AND p.next_run_at <= statement_timestamp()
              AND p.enabled AND p.status = 'IDLE' AND ${LIVE} IS NOT TRUE) p ON true`)

// One statement, and SKIP LOCKED: of several runners each pipeline is requested by one. Before its first run it has to be
// known which marts it reads, because they come first. A limit of one second leaves no time for the usual tick.
export const DUE_BY_FRESHNESS = kept(`WITH due AS (
         SELECT p.id, p.name, f.read_at IS NOT NULL OR p.id = ANY ($1::uuid[])
                OR etl.knows_reads(p.id) AS known
           FROM etl.etl_freshness f JOIN etl.etl_pipelines p ON p.id = f.pipeline_id
          WHERE f.due_at <= clock_timestamp() AND p.enabled AND p.status = 'IDLE' AND ${LIVE} IS NOT TRUE
            FOR NO KEY UPDATE OF p SKIP LOCKED),
       requested AS (
         UPDATE etl.etl_pipelines p SET status = 'RUN_REQUESTED'
           FROM due, set_config('vitrina.trigger', 'freshness', true) WHERE p.id = due.id AND due.known)
       SELECT due.id, due.name, due.known, again.ms FROM (SELECT 1) one LEFT JOIN due ON true LEFT JOIN LATERAL (
         SELECT date_part('epoch', f.due_at - clock_timestamp()) * 1000 AS ms FROM etl.etl_freshness f
          WHERE f.due_at > clock_timestamp() AND f.due_at < clock_timestamp() + interval '1 s' AND f.needed_seconds < 2
          ORDER BY f.due_at LIMIT 1) again ON true`)

export const CLAIM = kept('SELECT etl.claim_run($1, $2, $3, $4, $5) AS claimed')
export const FINISH = kept('SELECT etl.finish_run($1, $2, $3, $4) AS finished')

export const RENEW = kept(`
  UPDATE etl.etl_pipelines p SET lease_until = clock_timestamp() + make_interval(secs => $3)
   WHERE id = $1 AND fence = $2 AND lease_owner IS NOT NULL AND status IN ${HELD}
  RETURNING p.status, p.batch_size, (SELECT r.cancel_requested::text FROM etl.etl_runs r WHERE r.id = $4) AS cancel`)

const COUNT_TYPES = COUNTS.map((column) => `${column} bigint`).join(', ')
// One statement, one round trip: it is part of every batch. The rest depends on `held`, because the writing parts of
// a WITH are executed even if the last part finds nothing: a stale holder would have written its batch before it was
// rejected. Only a new batch resets the count of deaths: with the target in another database this precedes its
// COMMIT, and a runner that dies in between records the same batch again and again.
export const RECORD = kept(`
  WITH held AS (
    UPDATE etl.etl_pipelines SET lease_until = clock_timestamp() + make_interval(secs => $3)
     WHERE id = $1 AND fence = $2 AND lease_owner IS NOT NULL AND status IN ${HELD} RETURNING status, batch_size),
  run AS (
    UPDATE etl.etl_runs r SET deaths = CASE WHEN t.batches > r.batches THEN 0 ELSE r.deaths END, batches = t.batches,
           rows_written = t.rows_written, ${COUNTS.map((column) => `${column} = t.${column}`).join(', ')}
      FROM held, json_to_record($5::json -> 'totals') AS t(batches integer, rows_written bigint, ${COUNT_TYPES})
     WHERE r.id = $4 RETURNING r.cancel_requested),
  state AS (
    UPDATE etl.etl_state s SET last_processed_key = $5::json -> 'checkpoint' ->> 'key',
           last_processed_id = $5::json -> 'checkpoint' ->> 'id', updated_at = clock_timestamp()
      FROM held WHERE s.pipeline_id = $1 AND json_typeof($5::json -> 'checkpoint') = 'object'),
  batch AS (
    INSERT INTO etl.etl_run_batches (run_id, ${BATCH_COLUMNS.join(', ')})
    SELECT $4, ${BATCH_COLUMNS.map((column) => `b.${column}`).join(', ')}
      FROM held, json_to_record($5::json -> 'batch') AS b(batch integer, attempt integer, step text, first_key text, last_key text,
           duration_ms float8, read_ms float8, transform_ms float8, write_ms float8, checkpoint_ms float8, ${COUNT_TYPES})
    ON CONFLICT (run_id, batch) DO UPDATE
       SET ${BATCH_COLUMNS.map((column) => `${column} = excluded.${column}`).join(', ')}, finished_at = clock_timestamp())
  SELECT held.status, held.batch_size, run.cancel_requested::text AS cancel FROM held, run`)
