/**
 * One pipeline between two databases, into an empty mart, in one stream and in parts, against `COPY | COPY` in binary into
 * the same table. Measured in turns; the result is a ratio of medians: COPY / Vitrina, so 1 is the speed of COPY and more
 * is faster. `cpu_s` are the CPU seconds of runner and server for a million rows: on a machine with few cores they say
 * more than the time.
 *
 *   npm run build && node bench/parts.mjs --rows 10000000 --parts 1,2,4,8 --rounds 3
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { from as copyFrom, to as copyTo } from 'pg-copy-streams'
import { removeEmbedded, startEmbedded } from '../dist/embedded/index.js'
import { migrate } from '../dist/store/migrate.js'
import { grantRoles } from '../dist/store/roles.js'
import {
  connected,
  cpuSecondsOf,
  keptConnections,
  median,
  peakMemory,
  postmasterOf,
  startRunner,
  stopRunner,
} from './lib.mjs'

const { values: options } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000000' },
    rounds: { type: 'string', default: '3' },
    parts: { type: 'string', default: '1,2,4' },
  },
})
const ROWS = Number(options.rows)
const PARTS = options.parts.split(',')
const COLUMNS =
  'id bigint PRIMARY KEY, film_id uuid NOT NULL, rating smallint NOT NULL, note text, modified timestamptz NOT NULL'
const NAMES = { COPY: 'COPY | COPY', 1: 'one stream', again: 'one stream, nothing changed' }

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
    RUNNER_CONCURRENCY: '16',
  })
  const samples = new Map([['COPY', []], ...PARTS.map((parts) => [parts, []]), ['again', []]])
  for (let round = 0; round < Number(options.rounds); round++) {
    samples.get('COPY').push(await measured(copy))
    for (const parts of PARTS) samples.get(parts).push(await measured(() => run(parts)))
    if (PARTS.includes('1')) samples.get('again').push(await measured(again))
  }
  const limit = median(samples.get('COPY').map(({ ms }) => ms))
  console.table(
    [...samples]
      .filter(([, taken]) => taken.length > 0)
      .map(([how, taken]) => ({
        how: NAMES[how] ?? `parallelism ${how}`,
        ms: Math.round(median(taken.map(({ ms }) => ms))),
        ratio: Number((limit / median(taken.map(({ ms }) => ms))).toFixed(2)),
        cpu_s: Number(((median(taken.map(({ cpu }) => cpu)) / ROWS) * 1e6).toFixed(2)),
        parts: taken[0].parts ?? null,
      })),
  )
  console.log(`${ROWS} rows, peak memory of the runner: ${peakMemory(runner.pid)} MiB`)
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
    `INSERT INTO ugc.big SELECT n, md5(n::text)::uuid, n % 10, repeat('x', (n % 50)::int), now() - n * interval '1 second' FROM generate_series(1::bigint, $1) AS n`,
    [ROWS],
  )
  await query('main', 'VACUUM ANALYZE ugc.big')
  await grantRoles({ administratorUrl: urlOf('main'), sourceSchemas: ['ugc'], targetSchemas: ['analytics'] })
  await query('dwh', 'CREATE SCHEMA analytics')
  for (const parts of PARTS)
    await query(
      'main',
      `INSERT INTO etl.etl_pipelines (name, source_query, target_table, key_columns, target_connection, parallelism)
       VALUES ($1, 'SELECT * FROM ugc.big', $2, '{id}', 'dwh', $3)`,
      [`big_${parts}`, `analytics.big_${parts}`, parts === 'auto' ? null : Number(parts)],
    )
}

/** The limit: one COPY out of one database into the table of the other, with its key. */
async function copy() {
  await query('dwh', `DROP TABLE IF EXISTS analytics.big_copy; CREATE TABLE analytics.big_copy (${COLUMNS})`)
  return {
    work: () =>
      connected(urlOf('main'), (from) =>
        connected(urlOf('dwh'), (to) =>
          pipeline(
            from.query(copyTo('COPY (SELECT * FROM ugc.big ORDER BY id) TO STDOUT (FORMAT binary)')),
            to.query(copyFrom('COPY analytics.big_copy FROM STDIN (FORMAT binary)')),
          ),
        ),
      ),
  }
}

async function run(parts) {
  await query(
    'dwh',
    `DROP TABLE IF EXISTS analytics.big_${parts}; CREATE TABLE analytics.big_${parts} (${COLUMNS})`,
  )
  return { work: () => runOnce(parts, 'rows_inserted') }
}

/** A full pass into the mart that the last one has filled. */
async function again() {
  return { work: () => runOnce('1', 'rows_unchanged') }
}

async function runOnce(parts, counted) {
  const [{ current_run_id: id }] = await query(
    'main',
    "UPDATE etl.etl_pipelines SET status = 'RUN_REQUESTED' WHERE name = $1 RETURNING current_run_id",
    [`big_${parts}`],
  )
  for (;;) {
    const [one] = await query(
      'main',
      `SELECT status, error, parts_total, ${counted}::int AS counted FROM etl.etl_runs WHERE id = $1`,
      [id],
    )
    if (one.status === 'SUCCESS' && one.counted === ROWS) return { parts: one.parts_total }
    if (!['REQUESTED', 'RUNNING'].includes(one.status)) throw new Error(`${one.status}: ${one.error}`)
    await wait(50)
  }
}

async function measured(prepared) {
  const { work } = await prepared()
  await query('main', 'CHECKPOINT')
  const [began, cpu] = [performance.now(), cpuSeconds()]
  const facts = await work()
  return { ms: performance.now() - began, cpu: cpuSeconds() - cpu, ...(facts ?? {}) }
}

/** Of this process, of the runner, and of every process of the server, also those that have ended. */
function cpuSeconds() {
  const own = process.cpuUsage()
  return cpuSecondsOf([runner.pid, postmaster]) + (own.user + own.system) / 1e6
}
