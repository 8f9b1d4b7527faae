/**
 * What an incremental run costs when little has changed. Each figure is a ratio to the full query of the same run, or to
 * the blocks of its tables.
 *
 *   node scripts/build.mjs && node bench/incremental.mjs
 *   node bench/incremental.mjs --rows 200000 --rounds 5 --only wal,key,xmin,live
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { removeEmbedded, startEmbedded } from '../dist/embedded/index.js'
import { migrate } from '../dist/store/migrate.js'
import { grantRoles } from '../dist/store/roles.js'
import { median, startRunner, stopRunner } from './lib.mjs'

const { values: options } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000000' },
    rounds: { type: 'string', default: '5' },
    only: { type: 'string', default: 'wal,key,xmin,live,plain' },
  },
})
const ROWS = Number(options.rows)
const FILMS = ROWS / 50
const wanted = new Set(options.only.split(','))

const STATS = `SELECT f.id AS film_id, f.title, count(r.id) AS ratings, avg(r.score)::numeric(12, 4) AS score,
       max(r.modified) AS updated_at
  FROM content.film f JOIN content.rating r ON r.film_id = f.id GROUP BY f.id`

const home = mkdtempSync(join(tmpdir(), 'vitrina-bench-'))
const server = await startEmbedded({
  home,
  settings: {
    ...{ wal_level: 'logical', max_wal_size: '8GB', checkpoint_timeout: '30min', shared_buffers: '1GB' },
    ...{ autovacuum: 'off', max_replication_slots: '10', max_wal_senders: '10' },
  },
})
const url = Object.assign(new URL(server.url), { pathname: '/bench' }).href
let runner = null
let client
const table = []
try {
  await prepare()
  runner = startRunner({
    DATABASE_URL: url,
    VITRINA_CAPTURE_DATABASE_URL: url,
    ALLOWED_SOURCE_SCHEMAS: 'content',
    RUNNER_POLL_INTERVAL_MS: '100',
  })
  await rows(
    `INSERT INTO etl.etl_pipelines (name, source_query, target_table, key_columns, mode, full_strategy)
     VALUES ('stats_full', $1, 'analytics.stats_full', ARRAY['film_id'], 'full', 'replace')`,
    [STATS],
  )
  await run('stats_full')
  if (wanted.has('wal')) await changes('wal', {})
  if (wanted.has('key')) await changes('key', { incremental_key: 'updated_at' })
  if (wanted.has('xmin')) await changes('xmin', {})
  if (wanted.has('plain')) await plain()
  if (wanted.has('live')) await live()
  console.table(table)
} finally {
  await client?.end()
  await stopRunner(runner)
  await server.stop()
  await removeEmbedded(home)
  rmSync(home, { recursive: true, force: true })
}

async function prepare() {
  const admin = new pg.Client({ connectionString: server.url })
  await admin.connect()
  await admin.query('CREATE DATABASE bench')
  await admin.end()
  await migrate(url)
  client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(`
    CREATE SCHEMA IF NOT EXISTS content; CREATE SCHEMA IF NOT EXISTS analytics;
    CREATE TABLE content.film (id int PRIMARY KEY, title text, modified timestamptz NOT NULL DEFAULT now());
    CREATE TABLE content.rating (id int, film_id int NOT NULL, score int, modified timestamptz NOT NULL DEFAULT now());
    INSERT INTO content.film SELECT n, 'film ' || n FROM generate_series(1, ${FILMS}) n;
    INSERT INTO content.rating SELECT n, n % ${FILMS} + 1, n % 10 FROM generate_series(1, ${ROWS}) n;
    ALTER TABLE content.rating ADD PRIMARY KEY (id);
    CREATE UNIQUE INDEX rating_identity ON content.rating (id, film_id);
    ALTER TABLE content.rating REPLICA IDENTITY USING INDEX rating_identity;
    CREATE INDEX ON content.rating (film_id); CREATE INDEX ON content.rating (modified); CREATE INDEX ON content.film (modified)`)
  await grantRoles({ administratorUrl: url, sourceSchemas: ['content'], targetSchemas: ['analytics'] })
  await client.query('VACUUM ANALYZE')
}

/** 10 changed rows, nothing changed, and a tenth of the rows changed. */
async function changes(capture, { incremental_key = null }) {
  const name = `stats_${capture}`
  await create(name, { query: STATS, key: 'film_id', capture, incremental_key })
  await run(name)
  const full = []
  const few = []
  const none = []
  let blocks = Number.POSITIVE_INFINITY
  for (let round = 0; round < Number(options.rounds); round++) {
    full.push(await timeOf(`EXPLAIN (ANALYZE, TIMING OFF) ${STATS}`))
    none.push((await run(name)).ms)
    await touch(10, round)
    const before = await blocksRead()
    few.push((await run(name)).ms)
    blocks = Math.min(blocks, (await blocksRead()) - before)
  }
  const many = []
  const whole = []
  for (let round = 0; round < 3; round++) {
    await touch(ROWS / 10, round)
    many.push((await run(name)).ms)
    whole.push((await run('stats_full')).ms)
  }
  const [{ pages }] = await rows(
    "SELECT (sum(pg_relation_size(c.oid)) / 8192)::int AS pages FROM pg_class c WHERE c.relnamespace = 'content'::regnamespace AND relkind = 'r'",
  )
  await requireEqual(name, STATS, 'film_id')
  report(`${capture}: 10 of ${ROWS} rows`, {
    run_ms: median(few),
    of_full_query: median(few) / median(full),
    blocks,
    of_table_blocks: blocks / pages,
    of_full_accesses: blocks / (await accessesOf(STATS)),
  })
  report(`${capture}: nothing changed`, { run_ms: median(none), of_full_query: median(none) / median(full) })
  report(`${capture}: a tenth changed`, {
    run_ms: median(many),
    of_full_query: median(many) / median(full),
    of_full_run: median(many) / median(whole),
  })
}

/** A plain table by its key: 100,000 of 1,000,000 rows. */
async function plain() {
  const query = 'SELECT id, film_id, score, modified FROM content.rating'
  await create('plain', { query, key: 'id', capture: 'key', incremental_key: 'modified' })
  await run('plain')
  const took = []
  for (let round = 0; round < Number(options.rounds); round++) {
    await touch(ROWS / 10, round)
    took.push((await run('plain')).ms)
  }
  report('plain table by key: a tenth changed', { run_ms: median(took) })
}

/** From the commit in the source to the row in the mart, while 100 commits a second arrive. */
async function live() {
  await create('stats_live', { query: STATS, key: 'film_id', capture: 'wal', freshness: 'live' })
  await until(async () => {
    const [row] = await rows(
      "SELECT r.batches FROM etl.etl_runs r JOIN etl.etl_pipelines p ON p.current_run_id = r.id WHERE p.name = 'stats_live'",
    )
    return (row?.batches ?? 0) > 0
  })
  const reader = new pg.Client({ connectionString: url })
  await reader.connect()
  const seen = new Map()
  const took = []
  let isOver = false
  const watching = (async () => {
    while (!isOver || seen.size > 0) {
      const marts = await reader.query(
        'SELECT film_id, score::float8 AS score FROM analytics.stats_live WHERE film_id = ANY ($1)',
        [[...seen.keys()]],
      )
      const now = performance.now()
      for (const { film_id, score } of marts.rows) {
        const change = seen.get(film_id)
        if (change === undefined || score < change.score) continue
        took.push(now - change.at)
        seen.delete(film_id)
      }
      await delay(1)
    }
  })()
  const COMMITS = 1_000
  for (let n = 0; n < COMMITS; n++) {
    const at = performance.now()
    const film = 1 + (n % FILMS)
    const {
      rows: [row],
    } = await client.query(
      'WITH u AS (UPDATE content.rating SET score = 1000000, modified = clock_timestamp() WHERE film_id = $1 AND id = (SELECT min(id) FROM content.rating WHERE film_id = $1) RETURNING film_id) SELECT film_id FROM u',
      [film],
    )
    if (row !== undefined) seen.set(film, { score: 1_000, at: performance.now() })
    await delay(Math.max(0, 10 - (performance.now() - at)))
  }
  isOver = true
  await watching
  await reader.end()
  took.sort((a, b) => a - b)
  report('live: commit to mart row', {
    p50_ms: took[Math.floor(took.length / 2)],
    p95_ms: took[Math.floor(took.length * 0.95)],
    changes: took.length,
  })
  await rows("UPDATE etl.etl_pipelines SET status = 'PAUSE_REQUESTED' WHERE name = 'stats_live'")
}

async function create(name, { query, key, capture, incremental_key = null, freshness = null }) {
  if (capture === 'wal') {
    await publish()
  }
  await rows(
    `INSERT INTO etl.etl_pipelines (name, source_query, target_table, key_columns, mode, capture, incremental_key, freshness)
     VALUES ($1, $2, $3, $4, 'incremental', $5, $6, $7)`,
    [name, query, `analytics.${name}`, [key], capture, incremental_key, freshness],
  )
}

/** What "vitrina sources prepare main --apply" does. */
async function publish() {
  await rows(
    "INSERT INTO etl.etl_change_heads (connection, slot, publication) VALUES ('main', 'vitrina_bench', 'vitrina_bench') ON CONFLICT DO NOTHING",
  )
  const [known] = await rows("SELECT FROM pg_publication WHERE pubname = 'vitrina_bench'")
  if (known === undefined)
    await rows(
      'CREATE PUBLICATION vitrina_bench FOR TABLE content.film, content.rating WITH (publish_via_partition_root = true)',
    )
}

/** Other rows in each round, spread over the table. */
async function touch(count, round) {
  await rows(
    'UPDATE content.rating SET score = score + 1, modified = clock_timestamp() WHERE id IN (SELECT ($2::int + n * $3::int) % $4::int + 1 FROM generate_series(1, $1::int) n)',
    [count, round * 7, Math.floor(ROWS / count) + 1, ROWS],
  )
}

async function run(name) {
  const [{ current_run_id: id }] = await rows(
    "UPDATE etl.etl_pipelines SET status = 'RUN_REQUESTED' WHERE name = $1 RETURNING current_run_id",
    [name],
  )
  for (;;) {
    const [one] = await rows(
      'SELECT status, error, extract(epoch FROM finished_at - started_at)::float8 * 1000 AS ms FROM etl.etl_runs WHERE id = $1',
      [id],
    )
    if (one.status === 'SUCCESS') return one
    if (one.status === 'FAILED') throw new Error(`${name}: ${one.error}`)
    await delay(5)
  }
}

/** Blocks of the source tables and their indexes that any session has read, as soon as the server reports them. */
async function blocksRead() {
  await delay(1_500)
  await rows('SELECT pg_stat_force_next_flush()').catch(() => {})
  const [{ blocks }] = await rows(
    `SELECT sum(heap_blks_read + heap_blks_hit + coalesce(idx_blks_read + idx_blks_hit, 0))::int AS blocks
       FROM pg_statio_user_tables WHERE schemaname = 'content'`,
  )
  return blocks
}

/** Blocks that the full query accesses. */
async function accessesOf(query) {
  const [{ 'QUERY PLAN': plan }] = await rows(`EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) ${query}`)
  const { Plan: top } = plan[0]
  return top['Shared Hit Blocks'] + top['Shared Read Blocks']
}

async function requireEqual(name, query, key) {
  const [{ n }] = await rows(
    `SELECT count(*)::int AS n FROM (${query}) q FULL JOIN analytics.${name} m USING (${key}) WHERE q.* IS DISTINCT FROM m.*`,
  )
  if (n > 0) throw new Error(`${name} differs from its query in ${n} rows`)
}

async function timeOf(statement) {
  const began = performance.now()
  await rows(statement)
  return performance.now() - began
}

async function rows(text, values = []) {
  return (await client.query(text, values)).rows
}

async function until(look) {
  while (!(await look())) await delay(50)
}

function report(what, figures) {
  const rounded = Object.fromEntries(
    Object.entries(figures).map(([name, value]) => [name, Number(value.toPrecision(4))]),
  )
  const row = { case: what, ...rounded }
  table.push(row)
  console.log(JSON.stringify(row))
}
