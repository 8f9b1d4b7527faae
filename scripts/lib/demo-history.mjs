/**
 * Pipelines in every state, each with a history. Written with SQL as the administrator, because real runs would take
 * days.
 */
export async function addHistory(client) {
  await client.query('SELECT setseed(0.42)')
  for (const pipeline of PIPELINES) await addPipeline(client, pipeline)
  await client.query("UPDATE etl.etl_pipelines SET schedule_interval = '15m' WHERE name = 'film_dim_full'")
  await client.query(
    "UPDATE etl.etl_pipelines SET schedule_interval = '0 * * * *' WHERE name = 'genre_dim_full'",
  )
  for (const name of ['film_dim_full', 'film_rating_agg_full', 'genre_dim_full'])
    await addRuns(client, { name, rows: name === 'genre_dim_full' ? 26 : 1000, every: 15, skip: 1 })
  await client.query(
    "UPDATE etl.etl_pipelines SET next_run_at = now() + interval '6 minutes' WHERE name = 'film_dim_full'",
  )
  for (const found of COMPARISONS) await addComparison(client, found)
}

/** Name, hours ago, rows, and what differed. */
const COMPARISONS = [
  { name: 'film_dim_full', hours: 0, rows: 71 },
  { name: 'genre_dim_full', hours: 0, rows: 26 },
  { name: 'person_dim', hours: 0, rows: 4_810, missing: 2, different: 1 },
  { name: 'user_retention', hours: 3, rows: 52_118 },
  { name: 'watch_minutes', hours: 26, rows: 210_334, missing: 14 },
  { name: 'weekly_top', hours: 40, rows: 100 },
]

async function addComparison(client, { name, hours, rows, missing = 0, different = 0 }) {
  await client.query(
    `INSERT INTO etl.etl_comparisons (pipeline_id, deep, at, duration_ms, config_version, matches, source_rows, target_rows, missing, different)
     SELECT id, true, now() - make_interval(hours => $2::int), 840, config_version, $4::int + $5::int = 0, $3::int, $3::int - $4::int, $4::int, $5::int
       FROM etl.etl_pipelines WHERE name = $1`,
    [name, hours, rows, missing, different],
  )
}

/** name, schedule, rows of a run, minutes between runs, minutes since the last, and what is special. */
const PIPELINES = [
  { name: 'film_search_index', schedule: '5m', rows: 12_400, every: 5, idle: 4, state: 'running' },
  { name: 'person_dim', schedule: '30m', rows: 4_810, every: 30, idle: 12 },
  { name: 'rating_by_day', schedule: '1h', rows: 98_200, every: 60, idle: 21, failures: 3, state: 'failed' },
  { name: 'review_sentiment', schedule: '15m', rows: 7_204, every: 15, idle: 6, quarantined: 12 },
  { name: 'user_retention', schedule: '0 6 * * *', rows: 52_118, every: 1440, idle: 507 },
  { name: 'view_progress', schedule: '10m', rows: 31_050, every: 10, idle: 55, state: 'paused' },
  { name: 'watch_minutes', schedule: '15m', rows: 210_334, every: 15, idle: 15, state: 'retrying' },
  { name: 'session_funnel', schedule: '20m', rows: 18_220, every: 20, idle: 50 },
  { name: 'subscription_churn', schedule: '1h', rows: 6_040, every: 60, idle: 31, empty: true },
  { name: 'search_terms', schedule: '15m', rows: 44_900, every: 15, idle: 9, state: 'queued' },
  { name: 'weekly_top', schedule: null, rows: 100, every: 10_080, idle: 3_100 },
  { name: 'archive_2019', schedule: null, rows: 8_000_112, every: 40_000, idle: 131_000, state: 'disabled' },
  { name: 'trailer_clicks', schedule: '30m', rows: 0, count: 0 },
]

async function addPipeline(client, { name, schedule, state = 'idle', quarantined = 0, ...past }) {
  await client.query(
    `INSERT INTO etl.etl_pipelines (name, source_query, target_table, schedule_interval, key_columns, enabled, next_run_at)
     VALUES ($1, 'SELECT id AS film_id, title FROM content.film_work', 'analytics.' || $1, $2::text, '{film_id}', $3,
             CASE WHEN $2::text IS NOT NULL THEN now() + make_interval(mins => $4) END)`,
    [name, schedule, state !== 'disabled', 4 + ((name.length * 7) % 26)],
  )
  await addRuns(client, { name, ...past })
  if (quarantined > 0) await addQuarantine(client, name, quarantined)
  await enter(client, name, { state, rows: past.rows })
}

/** Ends of runs, `every` minutes apart, the last one a moment ago. */
async function addRuns(
  client,
  { name, rows, every = 15, count = 24, failures = 0, skip = 0, idle = 2, empty = false },
) {
  await client.query(
    `INSERT INTO etl.etl_runs (pipeline_id, status, trigger, attempt, requested_at, started_at, finished_at, strategy, way,
            rows_read, rows_written, rows_inserted, batches, error, error_code, error_hint)
     SELECT p.id, CASE WHEN bad THEN 'FAILED' ELSE 'SUCCESS' END, 'schedule', CASE WHEN bad THEN 3 ELSE 1 END, at, at, at + took,
            'sql_full', 'pushdown', read, read, read, greatest(1, read / 5000),
            CASE WHEN bad THEN 'A key column is NULL in 3 rows, first user_id of day 2026-11-14.' END,
            CASE WHEN bad THEN 'KEY_NULL' END, CASE WHEN bad THEN 'Leave such rows out of the query, or give them a key.' END
       FROM etl.etl_pipelines p, generate_series($5::int, $3::int) n,
            LATERAL (SELECT n <= $4 OR (n = 9 AND random() < 0.3) AS bad,
                            now() - make_interval(mins => ($2 * (n - 1) + $7)::int) AS at,
                            make_interval(secs => 1.5 + sqrt($6::float8 / 4000) + random() * 9 + CASE WHEN random() < 0.12 THEN 16 ELSE 0 END) AS took,
                            ($6::float8 * (0.9 + random() * 0.2) * CASE WHEN $8::boolean AND n = 1 THEN 0 ELSE 1 END)::bigint AS read) facts
      WHERE p.name = $1`,
    [name, every, count, failures, 1 + skip, rows, idle, empty],
  )
}

async function addQuarantine(client, name, count) {
  await client.query(
    `INSERT INTO etl.etl_quarantine (pipeline_id, run_id, row_key, columns, row_text, reason, sqlstate, refused_at)
     SELECT p.id, (SELECT id FROM etl.etl_runs WHERE pipeline_id = p.id ORDER BY requested_at DESC LIMIT 1),
            left(md5(n::text), 8) || '-4c1e-9a77-' || left(md5('x' || n), 12), '{review_id,film_id,author,score,written_at}',
            ARRAY[left(md5(n::text), 8) || '-4c1e-9a77-' || left(md5('x' || n), 12), md5('film' || n)::uuid::text,
                  CASE WHEN n % 3 = 0 THEN NULL ELSE 'Ada Lovelace' END, (9.5 + n * 0.15)::text, '2026-11-14 18:0' || n % 10 || ':11+00'],
            CASE WHEN n % 3 = 0 THEN 'null value in column "author" of relation "review_sentiment" violates not-null constraint'
                 ELSE 'numeric field overflow: a field with precision 3, scale 1 must round to an absolute value less than 10^2' END,
            CASE WHEN n % 3 = 0 THEN '23502' ELSE '22003' END, now() - make_interval(mins => 6)
       FROM etl.etl_pipelines p, generate_series(1, $2) n WHERE p.name = $1`,
    [name, count],
  )
}

/** In one transaction: the runner of the demo must not see an unfinished pipeline. */
async function enter(client, name, { state, rows }) {
  const move = (status) =>
    client.query('UPDATE etl.etl_pipelines SET status = $2 WHERE name = $1', [name, status])
  if (state === 'idle' || state === 'disabled') return
  await client.query('BEGIN')
  await move('RUN_REQUESTED')
  if (state === 'queued') {
    // No runner claims it: it was disabled while it waited.
    await client.query('UPDATE etl.etl_pipelines SET enabled = false WHERE name = $1', [name])
    return client.query('COMMIT')
  }
  await client.query(
    `UPDATE etl.etl_pipelines SET status = 'RUNNING', fence = fence + 1, lease_until = now() + interval '1 day',
            lease_owner = (SELECT id FROM etl.etl_runners ORDER BY heartbeat_at DESC LIMIT 1)
      WHERE name = $1`,
    [name],
  )
  await client.query(
    `UPDATE etl.etl_runs r SET status = $2, requested_at = now() - interval '15 s', started_at = now() - interval '14 s', attempt = $3,
            strategy = 'sql_full', way = 'pushdown', batches = 7, rows_read = $4::bigint, rows_written = $4::bigint,
            rows_inserted = $4::bigint, error_code = $5, error = $6, error_hint = $7, finished_at = CASE WHEN $2 = 'RUNNING' THEN NULL ELSE now() END
       FROM etl.etl_pipelines p WHERE p.name = $1 AND r.id = p.current_run_id`,
    [
      name,
      { failed: 'FAILED', paused: 'PAUSED' }[state] ?? 'RUNNING',
      state === 'retrying' ? 2 : 1,
      Math.round(rows * 0.62),
      { retrying: 'DATABASE_ERROR', failed: 'KEY_NULL' }[state] ?? null,
      state === 'failed' ? 'A key column is NULL in 3 rows, first user_id of day 2026-11-14.' : null,
      state === 'failed' ? 'Leave such rows out of the query, or give them a key.' : null,
    ],
  )
  if (state === 'failed') await move('FAILED')
  if (state === 'paused') {
    await move('PAUSE_REQUESTED')
    await move('PAUSED')
  }
  await client.query('COMMIT')
}
