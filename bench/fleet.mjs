/**
 * Many pipelines on many runners: what one claim costs with a long history, how many runs a second the meta store
 * sustains without any transfer, and how long real runners need for one small run of every pipeline.
 *
 *   node scripts/build.mjs && node bench/fleet.mjs
 *   node bench/fleet.mjs --small
 *   node bench/fleet.mjs --only claims,store,runs --json figures.json
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { removeEmbedded, startEmbedded } from '../dist/embedded/index.js'
import { LOGINS, loginPassword } from '../dist/model/logins.js'
import { Database } from '../dist/store/database.js'
import { migrate } from '../dist/store/migrate.js'
import { grantRoles } from '../dist/store/roles.js'
import { RunQueueRepository } from '../dist/store/runs/run-queue.repository.js'
import { startRunner } from './lib.mjs'

const { values: options } = parseArgs({
  options: {
    small: { type: 'boolean', default: false },
    only: { type: 'string', default: 'claims,store,runs' },
    runners: { type: 'string', default: '1,2,4' },
    json: { type: 'string' },
  },
})
const SIZES = options.small
  ? { pipelines: 1_000, history: 20_000, claims: 200, seconds: 3, fleet: 50, rows: 100 }
  : { pipelines: 10_000, history: 1_000_000, claims: 1_000, seconds: 15, fleet: 1_000, rows: 1_000 }
const wanted = new Set(options.only.split(','))
const TAGS = 20
/** Runs at once that a runner of the store benchmark pretends to have. */
const SLOTS = 4
const LEASE = 30

const home = mkdtempSync(join(tmpdir(), 'vitrina-bench-'))
const server = await startEmbedded({ home, settings: { max_wal_size: '8GB', shared_buffers: '1GB' } })
const figures = { cores: availableParallelism(), load: loadavg()[0], sizes: SIZES }
let client
try {
  if (wanted.has('claims')) figures.claims = await onDatabase('claims', claims)
  if (wanted.has('store')) figures.store = await onDatabase('store', store)
  if (wanted.has('runs')) figures.runs = await onDatabase('runs', runs)
  console.log(JSON.stringify(figures, null, 2))
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(figures, null, 2)}\n`)
} finally {
  await server.stop()
  await removeEmbedded(home)
  rmSync(home, { recursive: true, force: true })
}

async function onDatabase(name, work) {
  const admin = new pg.Client({ connectionString: server.url })
  await admin.connect()
  await admin.query(`CREATE DATABASE ${name}`)
  await admin.end()
  const url = Object.assign(new URL(server.url), { pathname: `/${name}` }).href
  await migrate(url)
  client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query('CREATE SCHEMA IF NOT EXISTS content; CREATE SCHEMA IF NOT EXISTS analytics')
    await grantRoles({ administratorUrl: url, sourceSchemas: ['content'], targetSchemas: ['analytics'] })
    return await work(url)
  } finally {
    await client.end()
  }
}

function loginUrl(url, login) {
  return Object.assign(new URL(url), { username: LOGINS[login], password: loginPassword(url, login) }).href
}

/** Pipelines with one of 20 tags and one of three connections, and their history. */
async function addPipelines(count, history) {
  await client.query(
    `INSERT INTO etl.etl_pipelines (name, source_query, target_table, tags, source_connection)
     SELECT 'pipeline ' || n, 'SELECT 1 AS id', 'analytics.mart_' || n, ARRAY['tag-' || n % ${TAGS}],
            (ARRAY[NULL, 'crm', 'erp'])[n % 3 + 1]
       FROM generate_series(1, $1::int) n`,
    [count],
  )
  await client.query('ALTER TABLE etl.etl_runs DISABLE TRIGGER USER')
  await client.query(
    `INSERT INTO etl.etl_runs (pipeline_id, status, requested_at, started_at, finished_at, attempt, rows_read, batches)
     SELECT p.id, 'SUCCESS', at, at, at + interval '1 second', 1, 1000, 1
       FROM (SELECT id, row_number() OVER () AS n FROM etl.etl_pipelines) p,
            LATERAL (SELECT now() - (g * interval '1 hour' + p.n * interval '1 second') AS at
                       FROM generate_series(1, $1::int) g) times`,
    [Math.round(history / count)],
  )
  await client.query('ALTER TABLE etl.etl_runs ENABLE TRIGGER USER')
  await client.query('VACUUM ANALYZE')
}

async function request(condition) {
  await client.query(`UPDATE etl.etl_pipelines SET status = 'RUN_REQUESTED' WHERE ${condition}`)
}

/** Every run ends, so that the next case begins with an idle fleet. */
async function reset() {
  await client.query("UPDATE etl.etl_pipelines SET status = 'RUNNING' WHERE status = 'RUN_REQUESTED'")
  await client.query("UPDATE etl.etl_pipelines SET status = 'IDLE' WHERE status <> 'IDLE'")
  await client.query('TRUNCATE etl.etl_events')
  await client.query('VACUUM ANALYZE etl.etl_pipelines, etl.etl_runs')
}

async function claims(url) {
  await addPipelines(SIZES.pipelines, SIZES.history)
  const database = {
    claims: new Database(loginUrl(url, 'writer'), { name: 'vitrina-runner', size: 1 }),
    rest: new Database(loginUrl(url, 'writer'), { name: 'vitrina-runner', size: 1 }),
  }
  const free = Object.fromEntries(Array.from({ length: TAGS }, (_, n) => [`tag-${n}`, 4]))
  const everything = { free: null, limits: {} }
  try {
    const found = {}
    found.every_pipeline_queued = await claimTimes(database, 'true', everything)
    found.one_in_a_hundred_queued = await claimTimes(database, "right(name, 2) = '00'", everything)
    found.with_slots_by_tag = await claimTimes(database, 'true', { free, limits: {} })
    const limits = { main: 50, crm: 2, erp: 5_000 }
    found.with_limits_of_connections = await claimTimes(database, 'true', { free: null, limits })
    found.nothing_queued = await claimTimes(database, 'false', everything)
    await client.query("UPDATE etl.etl_pipelines SET tags = ARRAY['only-' || replace(name, ' ', '-')]")
    found.every_pipeline_with_its_own_tag = await claimTimes(database, 'true', everything)
    return found
  } finally {
    await database.claims.close()
    await database.rest.close()
  }
}

/** Claims and, as a runner does, ends runs, so that about 50 are in progress. Only the claims are timed. */
async function claimTimes(database, condition, capacity) {
  await request(condition)
  const queue = new RunQueueRepository(database.claims)
  const ends = new RunQueueRepository(database.rest)
  const [{ pid }] = await database.claims.query('SELECT pg_backend_pid() AS pid')
  const cpu = cpuMs([pid])
  const times = []
  /** What the machine adds to any statement, in the same moments. */
  const floor = []
  const held = []
  for (let n = 0; n < SIZES.claims; n++) {
    const from = performance.now()
    const claim = await queue.claim('bench', LEASE, capacity)
    times.push(performance.now() - from)
    if (claim !== null) held.push(claim)
    const then = performance.now()
    await database.rest.query('SELECT 1')
    floor.push(performance.now() - then)
    if (held.length > 50) await ends.finish(held.shift(), { status: 'SUCCESS' })
  }
  const cpu_ms = round((cpuMs([pid]) - cpu) / SIZES.claims)
  await reset()
  return { cpu_ms, ...quantiles(times), select_1_p95_ms: quantiles(floor).p95_ms }
}

/** Requests, claims and ends runs from four runners with four slots each, as fast as they can. */
async function store(url) {
  await addPipelines(SIZES.pipelines, SIZES.history)
  const found = {}
  for (const [name, limits] of [
    ['free', {}],
    ['with_limits_of_connections', { main: 1_000, crm: 1_000, erp: 1_000 }],
  ]) {
    const pools = Array.from({ length: 4 }, () => aPool(url))
    const counts = { claimed: 0, ended: 0 }
    const before = cpuMs(await backends())
    const until = performance.now() + SIZES.seconds * 1000
    const worker = async (database, n) => {
      const queue = new RunQueueRepository(database)
      while (performance.now() < until) {
        const claim = await queue.claim(`bench-${n}`, LEASE, { free: null, limits })
        if (claim === null) await delay(5)
        else {
          counts.claimed += 1
          await queue.finish(claim, { status: 'SUCCESS' })
          counts.ended += 1
        }
      }
    }
    const requester = async () => {
      while (performance.now() < until) {
        await request(
          "id IN (SELECT id FROM etl.etl_pipelines WHERE status = 'IDLE' LIMIT greatest(0, 500 - (SELECT count(*) FROM etl.etl_pipelines WHERE status = 'RUN_REQUESTED')))",
        )
        await delay(100)
      }
    }
    await Promise.all([
      requester(),
      ...pools.flatMap((pool, n) => Array.from({ length: SLOTS }, () => worker(pool, n))),
    ])
    const cpu = cpuMs(await backends()) - before
    await Promise.all(pools.map((pool) => pool.close()))
    found[name] = {
      runs_per_second: round(counts.ended / SIZES.seconds),
      cpu_ms_per_run: round(cpu / counts.ended),
    }
    await reset()
  }
  return found
}

/** Those of this database, of the requester too. */
async function backends() {
  const { rows } = await client.query('SELECT pid FROM pg_stat_activity WHERE datname = current_database()')
  return rows.map(({ pid }) => pid)
}

/** CPU time of processes so far. Unlike elapsed time, it hardly depends on what else the machine does. */
function cpuMs(pids) {
  const ticks = pids.map((pid) => {
    const [, fields] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')
    const [user, system] = fields.split(' ').slice(11, 13).map(Number)
    return user + system
  })
  return ticks.reduce((sum, one) => sum + one, 0) * 10
}

function aPool(url) {
  return new Database(loginUrl(url, 'writer'), { name: 'vitrina-runner', size: SLOTS + 2 })
}

/** Real runner processes: every pipeline has as many changed rows, and runs once. */
async function runs(url) {
  const { fleet, rows } = SIZES
  await client.query(`
    CREATE TABLE content.item (pipeline int, id int, name text, modified timestamptz NOT NULL DEFAULT clock_timestamp(), PRIMARY KEY (pipeline, id));
    INSERT INTO content.item SELECT p, n, 'name ' || n FROM generate_series(1, ${fleet}) p, generate_series(1, ${rows}) n;
    CREATE INDEX ON content.item (pipeline, modified, id);
    INSERT INTO etl.etl_pipelines (name, source_query, target_table, mode, incremental_key, incremental_id_key, key_columns, tags)
      SELECT 'pipeline ' || p, 'SELECT id, name, modified FROM content.item WHERE pipeline = ' || p, 'analytics.mart_' || p,
             'incremental', 'modified', 'id', '{id}', ARRAY['tag-' || p % ${TAGS}] FROM generate_series(1, ${fleet}) p`)
  await client.query('GRANT SELECT ON content.item TO vitrina_reader')
  await oneRound(url, 2)
  const found = {}
  for (const count of options.runners.split(',').map(Number)) {
    await client.query("UPDATE content.item SET name = name || '.', modified = clock_timestamp()")
    await client.query('VACUUM ANALYZE content.item')
    found[`${count} runners`] = await oneRound(url, count)
  }
  return found
}

async function oneRound(url, count) {
  const runners = Array.from({ length: count }, () =>
    startRunner({ DATABASE_URL: url, RUNNER_CONCURRENCY: String(SLOTS) }),
  )
  await waitUntil(async () => {
    const { rows } = await client.query(
      'SELECT count(*)::int AS n FROM etl.etl_runners WHERE stopped_at IS NULL',
    )
    return rows[0].n === count
  })
  const from = performance.now()
  await request("status = 'IDLE'")
  await waitUntil(async () => {
    const { rows } = await client.query(
      "SELECT count(*)::int AS n FROM etl.etl_pipelines WHERE status <> 'IDLE'",
    )
    return rows[0].n === 0
  })
  const seconds = (performance.now() - from) / 1000
  for (const runner of runners) runner.kill('SIGTERM')
  await Promise.all(runners.map((runner) => new Promise((resolve) => runner.once('exit', resolve))))
  const { rows } = await client.query(
    `SELECT count(*)::int AS runs, sum(rows_read)::int AS rows, count(*) FILTER (WHERE status <> 'SUCCESS')::int AS failed,
            percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM finished_at - started_at) * 1000) AS run_ms
       FROM (SELECT DISTINCT ON (pipeline_id) * FROM etl.etl_runs ORDER BY pipeline_id, requested_at DESC) last`,
  )
  const [{ runs: ended, rows: read, failed, run_ms }] = rows
  if (failed > 0) throw new Error(`${failed} runs failed`)
  return {
    seconds: round(seconds),
    runs_per_second: round(ended / seconds),
    rows_per_second: round(read / seconds),
    median_run_ms: round(run_ms),
  }
}

async function waitUntil(isTrue) {
  while (!(await isTrue())) await delay(50)
}

function quantiles(times) {
  const sorted = [...times].sort((a, b) => a - b)
  const at = (share) => round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))])
  return { p50_ms: at(0.5), p95_ms: at(0.95), p99_ms: at(0.99) }
}

function round(value) {
  return Math.round(value * 100) / 100
}
