/**
 * What data checks cost: the same rows, with and without checks, in batches. Measured in turns; `cost` is the median of
 * the CPU seconds of runner and server with checks, over that without, minus 1: on a busy machine they say more than the
 * time. `bad rows` has one row in a thousand that fails a check
 * with on_failure "warn", so that every batch is stored and checked on its own.
 *
 *   npm run build && node bench/checks.mjs --rows 500000 --rounds 5
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { removeEmbedded, startEmbedded } from '../dist/embedded/index.js'
import { migrate } from '../dist/store/migrate.js'
import { grantRoles } from '../dist/store/roles.js'
import { cpuSecondsOf, keptConnections, median, postmasterOf, startRunner, stopRunner } from './lib.mjs'

const { values: options } = parseArgs({
  options: {
    rows: { type: 'string', default: '300000' },
    rounds: { type: 'string', default: '5' },
    batch: { type: 'string', default: '50000' },
  },
})
const ROWS = Number(options.rows)
const COLUMNS =
  'id bigint PRIMARY KEY, film_id integer NOT NULL, kind text NOT NULL, rating numeric NOT NULL, note text, modified timestamptz NOT NULL'
const onFailure = (check) => ({ on_failure: 'fail', ...check })
const CHECKS = [
  { name: 'note', type: 'not_null', columns: ['note', 'kind'] },
  { name: 'kind', type: 'accepted_values', column: 'kind', values: ['film', 'show', 'short'] },
  { name: 'rating', type: 'range', column: 'rating', min: 0, max: 10 },
  { name: 'sensible', type: 'expression', sql: 'length(note) < 100 OR rating > 5' },
  { name: 'films', type: 'relationship', column: 'film_id', to: 'analytics.films', to_column: 'id' },
].map(onFailure)
const UNIQUE = [...CHECKS, onFailure({ name: 'once', type: 'unique', column: 'id', over: 'batch' })]
const BAD = [...CHECKS, { name: 'bad', type: 'range', column: 'rating', max: 9.98, on_failure: 'warn' }]
const VARIANTS = {
  plain: [],
  three: CHECKS.slice(0, 3),
  expression: CHECKS.slice(3, 4),
  relationship: CHECKS.slice(4),
  five: CHECKS,
  'five and unique': UNIQUE,
  'bad rows': BAD,
}
const ROUTES = { pushdown: null, relay: 'dwh' }

const home = mkdtempSync(join(tmpdir(), 'vitrina-bench-'))
const server = await startEmbedded({
  home,
  settings: { max_wal_size: '8GB', checkpoint_timeout: '30min', shared_buffers: '512MB' },
})
const urlOf = (name) => Object.assign(new URL(server.url), { pathname: `/${name}` }).href
const { query, close } = keptConnections(urlOf)
let runner = null
let postmaster = null
try {
  await prepare()
  postmaster = await postmasterOf(server.url)
  runner = startRunner({
    DATABASE_URL: urlOf('main'),
    VITRINA_CONNECTION_DWH_URL: urlOf('dwh'),
    ALLOWED_SOURCE_SCHEMAS: 'ugc',
  })
  const samples = new Map()
  for (let round = 0; round < Number(options.rounds); round++)
    for (const route of Object.keys(ROUTES)) await measureRound(route, samples)
  const of = (route, kind, variant) => {
    const taken = samples.get(`${route} ${kind} ${variant}`)
    return { ms: median(taken.map(({ ms }) => ms)), cpu: median(taken.map(({ cpu }) => cpu)) }
  }
  console.table(
    Object.keys(ROUTES).flatMap((route) =>
      ['fill', 'merge'].flatMap((kind) =>
        Object.keys(VARIANTS).map((variant) => ({
          route,
          kind,
          checks: variant,
          ms: Math.round(of(route, kind, variant).ms),
          cpu_s: Number(of(route, kind, variant).cpu.toFixed(2)),
          cost: `${Math.round((of(route, kind, variant).cpu / of(route, kind, 'plain').cpu - 1) * 100)} %`,
        })),
      ),
    ),
  )
  console.log(`${ROWS} rows in batches of ${options.batch}, ${options.rounds} rounds`)
} finally {
  await stopRunner(runner)
  await close()
  await server.stop()
  await removeEmbedded(home)
  rmSync(home, { recursive: true, force: true })
}

async function prepare() {
  await query('postgres', 'CREATE DATABASE main')
  await query('postgres', 'CREATE DATABASE dwh')
  await migrate(urlOf('main'))
  await query('main', 'CREATE SCHEMA ugc')
  await query('main', `CREATE TABLE ugc.big (${COLUMNS})`)
  await query(
    'main',
    `INSERT INTO ugc.big SELECT n, n % 5000, (ARRAY['film', 'show', 'short'])[1 + n % 3], (n % 1000) / 100.0, 'note ' || n, now() - n * interval '1 second'
       FROM generate_series(1::bigint, $1) AS n`,
    [ROWS],
  )
  await query('main', 'VACUUM ANALYZE ugc.big')
  await query('main', 'CREATE SCHEMA IF NOT EXISTS analytics')
  await grantRoles({ administratorUrl: urlOf('main'), sourceSchemas: ['ugc'], targetSchemas: ['analytics'] })
  await query('dwh', 'CREATE SCHEMA analytics')
  for (const [route, connection] of Object.entries(ROUTES)) {
    await query(
      connection ?? 'main',
      'CREATE TABLE analytics.films AS SELECT n AS id FROM generate_series(0, 4999) n; ALTER TABLE analytics.films ADD PRIMARY KEY (id); ANALYZE analytics.films; GRANT SELECT ON analytics.films TO PUBLIC',
    )
    for (const [variant, checks] of Object.entries(VARIANTS))
      await query(
        'main',
        `INSERT INTO etl.etl_pipelines (name, source_query, target_table, key_columns, target_connection, batch_size, checks)
         VALUES ($1, 'SELECT * FROM ugc.big', $2, '{id}', $3, $4, $5)`,
        [
          `${route} ${variant}`,
          `analytics.${tableOf(route, variant)}`,
          connection,
          Number(options.batch),
          JSON.stringify(checks),
        ],
      )
  }
}

function tableOf(route, variant) {
  return `${route}_${variant}`.replaceAll(' ', '_')
}

/** Each variant fills an empty mart, and then every row has changed. */
async function measureRound(route, samples) {
  const database = ROUTES[route] ?? 'main'
  for (const variant of Object.keys(VARIANTS)) {
    const table = `analytics.${tableOf(route, variant)}`
    await query(
      database,
      `DROP TABLE IF EXISTS ${table}; CREATE TABLE ${table} (${COLUMNS}); GRANT ALL ON ${table} TO PUBLIC`,
    )
    note(samples, `${route} fill ${variant}`, await batchesOf(`${route} ${variant}`))
  }
  await query('main', "UPDATE ugc.big SET note = note || '.', rating = 9.99 - rating")
  await query('main', 'VACUUM ANALYZE ugc.big')
  for (const variant of Object.keys(VARIANTS))
    note(samples, `${route} merge ${variant}`, await batchesOf(`${route} ${variant}`))
  await query('main', 'UPDATE ugc.big SET note = left(note, -1), rating = 9.99 - rating')
  await query('main', 'VACUUM ANALYZE ugc.big')
}

function note(samples, name, taken) {
  samples.set(name, [...(samples.get(name) ?? []), taken])
}

/** How long the batches of a run took together, and what the run cost. */
async function batchesOf(name) {
  await query('main', 'CHECKPOINT')
  const before = cpuSeconds()
  const [{ current_run_id: id }] = await query(
    'main',
    "UPDATE etl.etl_pipelines SET status = 'RUN_REQUESTED' WHERE name = $1 RETURNING current_run_id",
    [name],
  )
  for (;;) {
    const [one] = await query(
      'main',
      `SELECT status, error, (SELECT sum(duration_ms) FROM etl.etl_run_batches WHERE run_id = r.id) AS ms, rows_read::int
         FROM etl.etl_runs r WHERE id = $1`,
      [id],
    )
    if (one.status === 'SUCCESS' && one.rows_read === ROWS) return { ms: one.ms, cpu: cpuSeconds() - before }
    if (!['REQUESTED', 'RUNNING'].includes(one.status))
      throw new Error(`${name}: ${one.status}: ${one.error}`)
    await wait(20)
  }
}

function cpuSeconds() {
  return cpuSecondsOf([runner.pid, postmaster])
}
