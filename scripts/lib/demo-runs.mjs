/** The history of runs of the demo: attempts, batches with their times, log lines. */
export async function addRunStories(client) {
  await failedThrice(client)
  await takenOver(client)
  // The newest run of a pipeline that usually writes thousands of rows wrote none.
  await client.query(
    `UPDATE etl.etl_runs SET rows_written = 0, rows_inserted = 0, rows_unchanged = rows_read WHERE id = ${newest('person_dim', 'SUCCESS')}`,
  )
}

const newest = (name, status) => `
  (SELECT r.id FROM etl.etl_runs r JOIN etl.etl_pipelines p ON p.id = r.pipeline_id
    WHERE p.name = '${name}' AND r.status = '${status}' ORDER BY r.requested_at DESC LIMIT 1)`

async function failedThrice(client) {
  const run = newest('rating_by_day', 'FAILED')
  const past = (
    attempt,
  ) => `jsonb_build_object('attempt', ${attempt}, 'end', 'failed', 'runnerId', 'runner-2',
    'endedAt', etl.rfc3339(r.started_at + interval '${attempt * 3} s'), 'errorCode', 'DATABASE_ERROR',
    'error', 'canceling statement due to lock timeout (attempt ${attempt})', 'errorHint', 'See who holds the lock in pg_stat_activity.')`
  await client.query(
    `UPDATE etl.etl_runs r SET attempt = 3, runner_id = 'runner-2', attempts = jsonb_build_array(${past(1)}, ${past(2)}),
            batches = 4, error = 'A key column is NULL in 3 rows, first user_id of day 2026-11-14.', error_code = 'KEY_NULL',
            error_hint = 'Leave such rows out of the query, or give them a key.' WHERE r.id = ${run}`,
  )
  await addBatches(client, run, { count: 4, hasTransforms: false })
  await addLines(client, run, 3)
}

async function takenOver(client) {
  const run = newest('watch_minutes', 'RUNNING')
  await client.query(
    `UPDATE etl.etl_runs r SET runner_id = 'runner-2', strategy = 'tasks_full', way = 'rows', attempts = jsonb_build_array(jsonb_build_object(
            'attempt', 1, 'end', 'runner_died', 'runnerId', 'runner-1', 'endedAt', etl.rfc3339(r.started_at + interval '6 s'),
            'error', NULL, 'errorCode', NULL, 'errorHint', NULL)) WHERE r.id = ${run}`,
  )
  await addBatches(client, run, { count: 7, hasTransforms: true })
  await addLines(client, run, 2)
}

async function addBatches(client, run, { count, hasTransforms }) {
  await client.query(
    `INSERT INTO etl.etl_run_batches (run_id, batch, attempt, step, rows_read, rows_inserted, rows_updated, rows_unchanged, rows_deleted,
            rows_quarantined, rows_duplicate, first_key, last_key, duration_ms, read_ms, transform_ms, write_ms, checkpoint_ms, finished_at)
     SELECT r.id, n, r.attempt, 'full', 10000, 1204, 8796, 0, 0, 0, 0, '2026-11-15 10:0' || n || ':07, a1', '2026-11-15 10:0' || n || ':59, c4',
            470 + 60 * (n % 3), 120 + 90 * (n % 4), CASE WHEN $2 THEN 60 + 30 * (n % 2) END, 450 + 60 * (n % 3), 12,
            r.started_at + n * interval '1.1 s'
       FROM etl.etl_runs r, generate_series(1, $1::int) n WHERE r.id = ${run}`,
    [count, hasTransforms],
  )
}

async function addLines(client, run, attempts) {
  await client.query(
    `INSERT INTO etl.etl_run_log (run_id, at, level, message, fields)
     SELECT r.id, r.started_at + (a - 1) * interval '3 s' + line.n * interval '0.4 s', line.level, line.message,
            line.fields || jsonb_build_object('attempt', a)
       FROM etl.etl_runs r, generate_series(1, $1::int) a,
            (VALUES (1, 'info', 'Run planned.', '{"strategy": "sql_full", "way": "relay"}'::jsonb),
                    (2, 'info', 'Batch 1 done.', '{"rows": 10000, "duration_ms": 512}'),
                    (3, 'warn', 'Attempt failed, retrying.', '{"wait_ms": 1043, "code": "DATABASE_ERROR"}')) AS line(n, level, message, fields)
      WHERE r.id = ${run}`,
    [attempts],
  )
}
