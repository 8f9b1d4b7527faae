/**
 * The order of pipelines: how long the decision takes which of 1,000 pipelines in a graph of 10 levels are due, and how
 * long a row needs through a chain of 5 marts with a real runner.
 *
 *   node scripts/build.mjs && node bench/order.mjs
 *   node bench/order.mjs --small
 *   node bench/order.mjs --json figures.json
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { removeEmbedded, startEmbedded } from '../dist/embedded/index.js'
import { LOGINS, loginPassword } from '../dist/model/logins.js'
import { migrate } from '../dist/store/migrate.js'
import { grantRoles } from '../dist/store/roles.js'
import { connected, startRunner, stopRunner } from './lib.mjs'

const { values: options } = parseArgs({
  options: { small: { type: 'boolean', default: false }, json: { type: 'string' } },
})
const LEVELS = 10
const WIDTH = options.small ? 20 : 100
const ROUNDS = options.small ? 50 : 300
const CHAIN = 5
const CHANGES = options.small ? 5 : 40

const home = mkdtempSync(join(tmpdir(), 'vitrina-bench-'))
const server = await startEmbedded({ home })
const figures = {
  cores: availableParallelism(),
  load: loadavg()[0],
  pipelines: LEVELS * WIDTH,
  levels: LEVELS,
}
try {
  figures.decision_ms = await onDatabase('decision', decisions)
  figures.chain_ms = await onDatabase('chain', chain)
  console.log(JSON.stringify(figures, null, 2))
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(figures, null, 2)}\n`)
} finally {
  await server.stop()
  await removeEmbedded(home)
  rmSync(home, { recursive: true, force: true })
}

async function onDatabase(name, work) {
  await connected(server.url, (admin) => admin.query(`CREATE DATABASE ${name}`))
  const url = Object.assign(new URL(server.url), { pathname: `/${name}` }).href
  await migrate(url)
  return connected(url, async (client) => {
    await client.query('CREATE SCHEMA IF NOT EXISTS content; CREATE SCHEMA IF NOT EXISTS analytics')
    const schemas = { sourceSchemas: ['content', 'analytics'], targetSchemas: ['analytics'] }
    await grantRoles({ administratorUrl: url, ...schemas })
    return work(client, url)
  })
}

function summary(times) {
  const sorted = [...times].sort((a, b) => a - b)
  const at = (share) =>
    Number(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))].toFixed(2))
  return { median: at(0.5), p95: at(0.95), max: at(1), count: times.length }
}

/** Each pipeline reads the marts of three pipelines of the level above, 2,700 edges in all. */
async function decisions(client, url) {
  await client.query(
    `INSERT INTO etl.etl_pipelines (name, source_query, target_table)
     SELECT format('p_%s_%s', l, n), 'SELECT 1 AS id', format('analytics.p_%s_%s', l, n)
       FROM generate_series(0, $1::int - 1) l, generate_series(0, $2::int - 1) n`,
    [LEVELS, WIDTH],
  )
  await client.query(
    `INSERT INTO etl.etl_pipeline_reads (pipeline_id, identity)
     SELECT p.id, format('|analytics.p_%s_%s', l - 1, (n * 7 + k * 13) % $2)
       FROM generate_series(1, $1::int - 1) l, generate_series(0, $2::int - 1) n, generate_series(0, 2) k
       JOIN LATERAL (SELECT id FROM etl.etl_pipelines WHERE name = format('p_%s_%s', l, n)) p ON true`,
    [LEVELS, WIDTH],
  )
  await client.query('SELECT etl.refresh_edges(id) FROM etl.etl_pipelines')
  await client.query('ANALYZE')
  const [{ ids }] = (
    await client.query(
      "SELECT array_agg(id ORDER BY name) AS ids FROM etl.etl_pipelines WHERE name LIKE 'p\\_0\\_%'",
    )
  ).rows
  const runner = new pg.Client({ connectionString: login(url, 'writer') })
  await runner.connect()
  const found = {}
  try {
    const [{ pid }] = (await runner.query('SELECT pg_backend_pid() AS pid')).rows
    const decide = () => runner.query('SELECT etl.request_due_runs()')
    found.nothing_due = await times(pid, decide)
    found.a_root_ended = await times(pid, decide, {
      before: (n) => client.query('SELECT etl.mark_followers($1, now())', [ids[n % ids.length]]),
      after: () => endAll(client),
    })
    // One request of each pipeline of the wave: every level begins when the one above has ended.
    const waves = []
    for (let round = 0; round < 3; round++) {
      for (const id of ids) await client.query('SELECT etl.mark_followers($1, now())', [id])
      for (;;) {
        const from = performance.now()
        const { rows } = await runner.query('SELECT * FROM etl.pending_pipelines()')
        waves.push(performance.now() - from)
        await runner.query('SELECT etl.request_due_runs()')
        if (rows.length === 0) break
        await endAll(client, 1)
      }
    }
    found.a_wave_through_every_level = summary(waves)
    await client.query(
      "INSERT INTO etl.etl_due (pipeline_id, upstream_id, since) SELECT id, $1, now() - interval '1 minute' FROM etl.etl_pipelines WHERE id <> $1",
      [ids[0]],
    )
    found.every_pipeline_marked = await times(pid, () =>
      runner.query('SELECT count(*) FROM etl.pending_pipelines()'),
    )
    return found
  } finally {
    await runner.end()
  }
}

/** `backend`: its CPU time is what the machine would take without other load. */
async function times(backend, work, { before = async () => {}, after = async () => {} } = {}) {
  const found = []
  let cpu = 0
  for (let n = 0; n < ROUNDS; n++) {
    await before(n)
    const [spent, from] = [cpuMs(backend), performance.now()]
    await work()
    found.push(performance.now() - from)
    cpu += cpuMs(backend) - spent
    await after()
  }
  return { ...summary(found), mean_cpu: Number((cpu / ROUNDS).toFixed(2)) }
}

/** Clock ticks of 10 ms: only a mean over many rounds says something. */
function cpuMs(pid) {
  const [, fields] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')
  const [user, system] = fields.split(' ').slice(11, 13).map(Number)
  return (user + system) * 10
}

/** Ends every queued run. `rows`: as if it had changed so many. */
async function endAll(client, rows = 0) {
  await client.query("UPDATE etl.etl_pipelines SET status = 'RUNNING' WHERE status = 'RUN_REQUESTED'")
  await client.query(
    "UPDATE etl.etl_runs SET status = 'RUNNING', started_at = now() WHERE status = 'REQUESTED'",
  )
  await client.query(
    "UPDATE etl.etl_runs SET status = 'SUCCESS', finished_at = now(), rows_written = $1 WHERE status = 'RUNNING'",
    [rows],
  )
  await client.query("UPDATE etl.etl_pipelines SET status = 'IDLE' WHERE status = 'RUNNING'")
}

/** From the COMMIT of the changed row, whose pipeline is requested at once, until the last mart shows it. */
async function chain(client, url) {
  await client.query('CREATE TABLE content.numbers (id int PRIMARY KEY, n int NOT NULL)')
  await client.query('INSERT INTO content.numbers SELECT i, 0 FROM generate_series(1, 1000) i')
  await client.query('GRANT SELECT ON content.numbers TO vitrina_reader')
  for (let n = 1; n <= CHAIN; n++) {
    const source = n === 1 ? 'content.numbers' : `analytics.m${n - 1}`
    await client.query(`CREATE TABLE analytics.m${n} (id int PRIMARY KEY, n int NOT NULL)`)
    await client.query(`ALTER TABLE analytics.m${n} OWNER TO vitrina_writer`)
    await client.query(
      `WITH made AS (INSERT INTO etl.etl_pipelines (name, source_query, target_table, key_columns, full_strategy)
         VALUES ($1, $2, $3, '{id}', 'replace') RETURNING id)
       SELECT etl.note_reads(id, ARRAY[NULL], ARRAY[$4], ARRAY[$5], true) FROM made`,
      [`m${n}`, `SELECT id, n FROM ${source}`, `analytics.m${n}`, ...source.split('.')],
    )
  }
  const runner = startRunner({ DATABASE_URL: url, ALLOWED_SOURCE_SCHEMAS: 'content,analytics' })
  try {
    await untilShown(client, await change(client, 1))
    const found = []
    for (let value = 2; value <= CHANGES + 1; value++)
      found.push(await untilShown(client, await change(client, value)))
    return summary(found)
  } finally {
    await stopRunner(runner)
  }
}

async function change(client, value) {
  await client.query('UPDATE content.numbers SET n = $1 WHERE id = 500', [value])
  await client.query("UPDATE etl.etl_pipelines SET status = 'RUN_REQUESTED' WHERE name = 'm1'")
  return { value, from: performance.now() }
}

async function untilShown(client, { value, from }) {
  for (;;) {
    const { rowCount } = await client.query(`SELECT FROM analytics.m${CHAIN} WHERE id = 500 AND n = $1`, [
      value,
    ])
    if (rowCount === 1) break
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  const took = performance.now() - from
  // The next change begins when every run has ended.
  for (;;) {
    const { rowCount } = await client.query("SELECT FROM etl.etl_pipelines WHERE status <> 'IDLE'")
    if (rowCount === 0) return took
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
}

function login(url, name) {
  return Object.assign(new URL(url), { username: LOGINS[name], password: loginPassword(url, name) }).href
}
