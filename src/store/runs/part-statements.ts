import type { NamedStatement } from '../../model/engine.js'
import { HELD } from '../status-lists.js'
import { BATCH_COLUMNS, COUNTS } from './run-counts.js'

/** A part that killed its runner this often is not tried again. */
const MAX_DEATHS = 3

/**
 * Claims a part. Parts of a run whose holder is silent, or that is about to pause or end, are not claimed. A runner
 * ($6 is NULL) leaves parts to the engine of their run, unless they were handed to runners; an engine claims those of the
 * plan that it was submitted with, which is identified by its snapshot.
 */
export function claimSql(returning: string, isAllowed = 'true'): string {
  return `
  WITH candidate AS (
    SELECT q.run_id, q.part, q.status = 'RUNNING' AS died FROM etl.etl_run_parts q
      JOIN etl.etl_runs r ON r.id = q.run_id
      JOIN etl.etl_pipelines p ON p.id = r.pipeline_id AND p.current_run_id = r.id
     WHERE (q.status = 'PENDING' OR (q.status = 'RUNNING' AND q.lease_until < clock_timestamp()))
       AND ($3::uuid IS NULL OR q.run_id = $3)
       AND etl.runner_takes($4::jsonb, p.tags)
       AND ($5::integer IS NULL OR q.part = $5)
       AND CASE WHEN $6::text IS NULL THEN q.by_runner OR coalesce(r.parts_plan -> 'job' ->> 'engine', 'local') = 'local'
                ELSE NOT q.by_runner AND r.parts_plan ->> 'snapshot' = $6 END
       AND r.status = 'RUNNING' AND NOT r.cancel_requested
       AND p.status = 'RUNNING' AND p.enabled AND p.lease_until >= clock_timestamp()
       AND (r.parts_plan ->> 'fence')::bigint = p.fence
       AND (SELECT count(*) FROM etl.etl_run_parts o
             WHERE o.run_id = q.run_id AND o.status = 'RUNNING' AND o.lease_until >= clock_timestamp())
           < (r.parts_plan ->> 'width')::integer
       AND ${isAllowed}
     ORDER BY p.requested_at, q.part FOR UPDATE OF q SKIP LOCKED LIMIT 1)
  UPDATE etl.etl_run_parts q
     SET status = 'RUNNING', owner = $1, fence = p.fence, lease_until = clock_timestamp() + make_interval(secs => $2),
         attempts = q.attempts + 1, deaths = q.deaths + c.died::integer, error = NULL, started_at = clock_timestamp()
    FROM candidate c, etl.etl_runs r, etl.etl_pipelines p
   WHERE q.run_id = c.run_id AND q.part = c.part AND r.id = q.run_id AND p.id = r.pipeline_id
  RETURNING ${returning}`
}

/**
 * The limits of connections ($7) allow another part of the run. A run counts once if none of its parts is in progress, so
 * that one of them is always allowed.
 */
export const WITHIN_LIMITS = `(NOT EXISTS (SELECT FROM etl.etl_run_parts o
             WHERE o.run_id = q.run_id AND o.status = 'RUNNING' AND o.lease_until >= clock_timestamp())
           OR NOT EXISTS (SELECT FROM jsonb_each_text($7::jsonb) l
             WHERE lower(l.key) IN (etl.source_side(p.source_connection), etl.target_side(p.target_connection, p.target_table))
               AND l.value::bigint <= etl.connection_use(l.key)))`

const OWN_PART = "WHERE run_id = $1 AND part = $2 AND attempts = $3 AND status = 'RUNNING'"
const OWN_VALUES = ['run', 'part', 'claim'] as const

/**
 * What happens to the line of a part, as runners and engines do it. `claim` is the number of the claim: a process whose
 * part was claimed again changes nothing.
 */
export const PART_STATEMENTS = {
  /** One claim at a time: two of them would both find one place free. */
  lock: { text: "SELECT pg_advisory_xact_lock(hashtext('vitrina.parts'))", values: [] },
  /** Claims of runs and of parts count at the same limits, one at a time. Taken before `lock`. */
  lock_limits: { text: 'SELECT pg_advisory_xact_lock(1986622066, 1)', values: [] },
  /** A function that ends its process would end one after another. */
  fail_deadly: {
    text: `UPDATE etl.etl_run_parts SET status = 'FAILED', lease_until = NULL, error = jsonb_build_object('code', 'RUNNER_DIED_AGAIN',
            'message', 'Runners died ' || deaths + 1 || ' times in a row while executing part ' || part || '.',
            'hint', 'Check the log and the memory of the runner; more parallelism makes smaller parts. Then start the run again manually.')
      WHERE status = 'RUNNING' AND lease_until < clock_timestamp() AND deaths + 1 >= ${MAX_DEATHS}`,
    values: [],
  },
  claim: {
    text: claimSql(
      "q.attempts AS claim, r.attempt, array_to_string(q.lo, ', ') AS first_key, array_to_string(q.hi, ', ') AS last_key",
    ),
    values: ['owner', 'lease', 'run', 'tags', 'part', 'snapshot'],
  },
  /** Whether the part can still be claimed, and by whom. */
  state: {
    text: `SELECT q.status, q.by_runner FROM etl.etl_run_parts q JOIN etl.etl_runs r ON r.id = q.run_id
             JOIN etl.etl_pipelines p ON p.id = r.pipeline_id AND p.current_run_id = r.id
            WHERE q.run_id = $1 AND q.part = $2 AND p.fence = $3 AND p.status IN ${HELD} AND r.status = 'RUNNING'
              AND r.parts_plan ->> 'snapshot' = $4`,
    values: ['run', 'part', 'fence', 'snapshot'],
  },
  renew: {
    text: `UPDATE etl.etl_run_parts q SET lease_until = clock_timestamp() + make_interval(secs => $4)
         FROM etl.etl_runs r JOIN etl.etl_pipelines p ON p.id = r.pipeline_id
        WHERE q.run_id = $1 AND q.part = $2 AND q.attempts = $3 AND q.status = 'RUNNING'
          AND r.id = q.run_id AND r.status = 'RUNNING' AND p.fence = $5 AND p.status IN ${HELD}
       RETURNING p.status = 'PAUSE_REQUESTED' AS pause, r.cancel_requested AS cancel, p.batch_size`,
    values: [...OWN_VALUES, 'lease', 'fence'],
  },
  /**
   * The lock on the run makes a takeover and a forced cancel wait for the commit of the part, or the part see them. It is
   * taken first: a runner that waits for it, because another one froze with it, can still renew the lease of its part.
   */
  count_rows: {
    text: `UPDATE etl.etl_runs r SET deaths = 0, batches = r.batches + 1, parts_done = r.parts_done + 1, rows_written = r.rows_written + $3,
            ${COUNTS.map((column, n) => `${column} = r.${column} + $${n + 4}`).join(', ')}
       FROM etl.etl_pipelines p
      WHERE r.id = $1 AND r.status = 'RUNNING' AND p.id = r.pipeline_id AND p.fence = $2 AND p.status IN ${HELD} RETURNING r.rows_quarantined`,
    values: ['run', 'fence', 'rows_written', ...COUNTS],
  },
  complete: {
    text: `UPDATE etl.etl_run_parts SET status = 'DONE', lease_until = NULL, rows = $4, counts = $5, finished_at = clock_timestamp()
      ${OWN_PART} RETURNING part`,
    values: [...OWN_VALUES, 'rows_read', 'counts'],
  },
  record: {
    text: `INSERT INTO etl.etl_run_batches (run_id, ${BATCH_COLUMNS.join(', ')}) VALUES ($1, ${BATCH_COLUMNS.map((_, n) => `$${n + 2}`).join(', ')})
     ON CONFLICT (run_id, batch) DO UPDATE SET ${BATCH_COLUMNS.map((column) => `${column} = excluded.${column}`).join(', ')}, finished_at = clock_timestamp()`,
    values: ['run', ...BATCH_COLUMNS],
  },
  fail: {
    text: `UPDATE etl.etl_run_parts SET status = 'FAILED', lease_until = NULL, error = $4 ${OWN_PART}`,
    values: [...OWN_VALUES, 'error'],
  },
  release: {
    text: `UPDATE etl.etl_run_parts SET status = 'PENDING', lease_until = NULL ${OWN_PART}`,
    values: OWN_VALUES,
  },
  /** A runner finds out which rows the mart rejects, and what is wrong with a function. */
  hand_over: {
    text: `UPDATE etl.etl_run_parts SET status = 'PENDING', lease_until = NULL, by_runner = true, error = $4 ${OWN_PART}`,
    values: [...OWN_VALUES, 'error'],
  },
} as const satisfies Record<string, NamedStatement>
