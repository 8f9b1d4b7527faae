/**
 * The limits of the database itself that a growing installation meets: one COPY, one merge, sessions on a source, WAL
 * and checkpoints. The figures of docs/guides/scaling.md.
 *
 *   node scripts/build.mjs && node bench/limits.mjs --rows 1000000 --json figures.json
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { from as copyFrom, to as copyTo } from 'pg-copy-streams'
import { removeEmbedded, startEmbedded } from '../dist/embedded/index.js'

const { values: options } = parseArgs({
  options: { rows: { type: 'string', default: '1000000' }, json: { type: 'string' } },
})
const ROWS = Number(options.rows)
const COLUMNS = 'id bigint, title text, body text, rating int, modified timestamptz'
const HALF_SECOND = 500
const READ = 'SELECT sum(rating), max(title) FROM source WHERE id > $1::bigint AND id <= $1::bigint + 1000'

const home = mkdtempSync(join(tmpdir(), 'vitrina-bench-'))
const server = await startEmbedded({
  home,
  settings: { checkpoint_timeout: '1h', shared_buffers: '1GB', max_connections: '200' },
})
const client = await connect()
try {
  // Not an option of the server: that could not be changed later.
  await setWalSize('16GB')
  await client.query(`
    CREATE TABLE source (${COLUMNS}, PRIMARY KEY (id));
    INSERT INTO source SELECT n, 'title ' || n, repeat(md5(n::text), 6), n % 10, now() FROM generate_series(1, ${ROWS}) n;
    CREATE UNLOGGED TABLE staging (${COLUMNS})`)
  await client.query('VACUUM ANALYZE')
  const size = await client.query("SELECT pg_total_relation_size('source')::float8 AS bytes")
  const figures = {
    ...{ cores: availableParallelism(), load: round(loadavg()[0]), rows: ROWS },
    bytes_per_row: round(size.rows[0].bytes / ROWS),
    copy: await copies(),
    merge: await merges(),
    sessions: await sessions(),
    checkpoints: await checkpoints(),
  }
  console.log(JSON.stringify(figures, null, 2))
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(figures, null, 2)}\n`)
} finally {
  await client.end()
  await server.stop()
  await removeEmbedded(home)
  rmSync(home, { recursive: true, force: true })
}

async function setWalSize(size) {
  await client.query(`ALTER SYSTEM SET max_wal_size = '${size}'`)
  await client.query('SELECT pg_reload_conf()')
  for (let now = ''; now !== size; ) now = (await client.query('SHOW max_wal_size')).rows[0].max_wal_size
}

async function connect() {
  const one = new pg.Client({ connectionString: server.url })
  await one.connect()
  return one
}

/** Ranges of the key at once, each through one COPY into an empty table without indexes. */
async function copies() {
  const found = {}
  for (const streams of [1, 2, 4]) {
    await client.query(`DROP TABLE IF EXISTS mart; CREATE TABLE mart (${COLUMNS})`)
    const seconds = await timed(() =>
      Promise.all(Array.from({ length: streams }, (_, n) => copyRange(n, streams))),
    )
    found[`${streams} streams`] = { rows_per_second: Math.round(ROWS / seconds) }
  }
  return found
}

async function copyRange(n, streams) {
  const [reader, writer] = await Promise.all([connect(), connect()])
  const [low, high] = [Math.floor((n * ROWS) / streams), Math.floor(((n + 1) * ROWS) / streams)]
  const range = `SELECT * FROM source WHERE id > ${low} AND id <= ${high}`
  await pipeline(
    reader.query(copyTo(`COPY (${range}) TO STDOUT (FORMAT binary)`)),
    writer.query(copyFrom('COPY mart FROM STDIN (FORMAT binary)')),
  )
  await Promise.all([reader.end(), writer.end()])
}

/** One INSERT … ON CONFLICT of all rows: the statement that ends every batch. */
async function merges() {
  await client.query('INSERT INTO staging SELECT * FROM source')
  const found = {}
  for (const indexes of [0, 2]) {
    await client.query(`DROP TABLE IF EXISTS mart; CREATE TABLE mart (${COLUMNS}, PRIMARY KEY (id))`)
    if (indexes > 0) await client.query('CREATE INDEX ON mart (title); CREATE INDEX ON mart (modified)')
    const named = indexes === 0 ? '' : `, ${indexes} more indexes`
    found[`insert${named}`] = await merge()
    await client.query('VACUUM ANALYZE mart')
    found[`unchanged${named}`] = await merge()
    await client.query('UPDATE staging SET rating = rating + 1')
    found[`update${named}`] = await merge()
  }
  return found
}

async function merge() {
  await client.query('CHECKPOINT')
  const [{ lsn }] = (await client.query('SELECT pg_current_wal_insert_lsn() AS lsn')).rows
  const seconds = await timed(() =>
    client.query(`
      INSERT INTO mart AS m SELECT * FROM staging
      ON CONFLICT (id) DO UPDATE SET title = excluded.title, body = excluded.body, rating = excluded.rating, modified = excluded.modified
       WHERE ROW(m.title, m.body, m.rating, m.modified) IS DISTINCT FROM
             ROW(excluded.title, excluded.body, excluded.rating, excluded.modified)`),
  )
  const wal = await client.query('SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), $1)::float8 AS bytes', [
    lsn,
  ])
  return {
    rows_per_second: Math.round(ROWS / seconds),
    wal_bytes_per_row: Math.round(wal.rows[0].bytes / ROWS),
  }
}

/** Sessions that read 1,000 rows each, again and again: what they get done together, and how long each waits. */
async function sessions() {
  const found = {}
  for (const count of [1, 2, 8, 32, 128]) {
    const clients = await Promise.all(Array.from({ length: count }, connect))
    const times = []
    const until = performance.now() + 4 * HALF_SECOND
    await Promise.all(
      clients.map(async (one) => {
        while (performance.now() < until) {
          const low = Math.floor(Math.random() * (ROWS - 1_000))
          times.push(1000 * (await timed(() => one.query(READ, [low]))))
        }
      }),
    )
    await Promise.all(clients.map((one) => one.end()))
    found[`${count} sessions`] = {
      queries_per_second: Math.round(times.length / 2),
      p95_ms: quantile(times, 0.95),
    }
  }
  return found
}

/** The same updates with rare and with frequent checkpoints: after each, the first change of a page is logged whole. */
async function checkpoints() {
  const found = {}
  for (const [name, setting] of [
    ['max_wal_size 16GB', '16GB'],
    ['max_wal_size 64MB', '64MB'],
  ]) {
    await setWalSize(setting)
    await client.query(
      `DROP TABLE IF EXISTS mart; CREATE TABLE mart (${COLUMNS}, PRIMARY KEY (id)) WITH (fillfactor = 70)`,
    )
    await client.query('INSERT INTO mart SELECT * FROM source')
    await client.query('VACUUM ANALYZE mart')
    await client.query('CHECKPOINT')
    const [{ lsn }] = (await client.query('SELECT pg_current_wal_insert_lsn() AS lsn')).rows
    const seconds = await timed(async () => {
      // Twenty batches, each all over the table.
      for (let batch = 0; batch < 20; batch++)
        await client.query('UPDATE mart SET rating = rating + 1 WHERE id % 20 = $1', [batch])
    })
    const wal = await client.query(
      'SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), $1)::float8 AS bytes',
      [lsn],
    )
    found[name] = {
      rows_per_second: Math.round(ROWS / seconds),
      wal_bytes_per_row: Math.round(wal.rows[0].bytes / ROWS),
    }
  }
  return found
}

async function timed(work) {
  const since = performance.now()
  await work()
  return (performance.now() - since) / 1000
}

function quantile(values, share) {
  const sorted = [...values].sort((a, b) => a - b)
  return round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))])
}

function round(value) {
  return Math.round(value * 100) / 100
}
