/**
 * Operations that users wait for: a deep reconcile of two tables with a million rows, equal and with ten differing rows,
 * as a ratio to counting and summing both sides by hand; and the list of 1,000 pipelines with a million runs.
 *
 *   node bench/control.mjs
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { passFingerprint } from '../dist/checkpoints/checkpoint.js'
import { removeEmbedded, startEmbedded } from '../dist/embedded/index.js'
import { SqlGuard } from '../dist/guard/index.js'
import { Session } from '../dist/postgres/session.js'
import { MartReconciler } from '../dist/reconcile/reconciler.js'
import { committedBy, momentOf } from '../dist/sources/postgres/changes.js'
import { CatalogRepository } from '../dist/store/catalog/catalog.repository.js'
import { Database } from '../dist/store/database.js'
import { migrate } from '../dist/store/migrate.js'

const ROWS = 1_000_000
const home = mkdtempSync(join(tmpdir(), 'vitrina-bench-'))
const server = await startEmbedded({ home, settings: { max_wal_size: '4GB', shared_buffers: '512MB' } })
try {
  await migrate(server.url)
  await prepare()
  console.log(JSON.stringify({ reconcile: await reconcile() }))
  console.log(JSON.stringify({ list_of_1000_pipelines_ms: await list() }))
} finally {
  await server.stop()
  await removeEmbedded(home)
  rmSync(home, { recursive: true, force: true })
}

async function prepare() {
  await query(`
    CREATE SCHEMA content;
    CREATE TABLE content.source AS SELECT md5(g::text)::uuid AS id, md5((g * 7)::text) AS title, g % 10 AS rating, now() AS modified FROM generate_series(1, ${ROWS}) g;
    ALTER TABLE content.source ADD PRIMARY KEY (id);
    CREATE TABLE analytics.mart (LIKE content.source INCLUDING INDEXES);
    INSERT INTO analytics.mart SELECT * FROM content.source;
    INSERT INTO etl.etl_pipelines (name, source_query, target_table, shared_target)
      SELECT 'pipeline ' || n, 'SELECT id, title, rating, modified FROM content.source', 'analytics.mart', true FROM generate_series(1, 1000) n;
    INSERT INTO etl.etl_runs (pipeline_id, status, requested_at, started_at, finished_at)
      SELECT p.id, 'SUCCESS', now() - n * interval '1 minute', now() - n * interval '1 minute', now() - n * interval '1 minute'
        FROM etl.etl_pipelines p, generate_series(1, 1000) n`)
  await query('VACUUM ANALYZE')
}

/** Both tables, one after the other: count, and a checksum over every row. */
async function byHand() {
  for (const table of ['content.source', 'analytics.mart']) {
    await query(
      `SELECT count(*), sum(hashtextextended(ROW(id, title, rating, modified)::text, 0)) FROM ${table}`,
    )
  }
}

async function reconcile() {
  const reconciler = new MartReconciler({
    guard: new SqlGuard({ sourceSchemas: ['content'] }),
    readerUrl: server.url,
    martUrl: server.url,
    connections: new Map(),
  })
  const pipeline = {
    id: await anyPipeline(),
    status: 'IDLE',
    capture: 'key',
    deletes: 'ignore',
    fullStrategy: 'upsert',
    sourceQuery: 'SELECT id, title, rating, modified FROM content.source',
    sourceTable: null,
    sourceColumns: [],
    targetTable: 'analytics.mart',
    keyColumns: ['id'],
    tasks: [],
    mode: 'full',
    sourceConnection: null,
    targetConnection: null,
    incrementalKey: null,
  }
  await pretendToHaveRun(pipeline)
  const compare = () =>
    reconciler.compare(pipeline, {
      deep: true,
      sampleSize: 100,
      signal: new AbortController().signal,
    })
  const times = { hand: [], equal: [], differing: [] }
  for (let round = 0; round < 3; round++) {
    times.hand.push(await timed(byHand))
    times.equal.push(await timed(compare))
    await query(
      "UPDATE analytics.mart SET title = 'tampered' WHERE id IN (SELECT id FROM content.source ORDER BY id LIMIT 10)",
    )
    times.differing.push(
      await timed(async () => {
        const { deep } = await compare()
        if (deep.different.count !== 10) throw new Error(`found ${deep.different.count} instead of 10`)
      }),
    )
    await query(
      "UPDATE analytics.mart m SET title = s.title FROM content.source s WHERE s.id = m.id AND m.title = 'tampered'",
    )
  }
  const hand = median(times.hand)
  return {
    equal_to_by_hand: ratio(median(times.equal), hand),
    ten_differing_to_equal: ratio(median(times.differing), median(times.equal)),
  }
}

async function anyPipeline() {
  const [{ id }] = await query('SELECT id FROM etl.etl_pipelines ORDER BY name LIMIT 1')
  return id
}

/** The state after a full pass: differences are traced to rows changed since. */
async function pretendToHaveRun(pipeline) {
  const session = await Session.open(server.url, 'bench', new AbortController().signal)
  const query = await new SqlGuard({ sourceSchemas: ['content'] }).textToRun(pipeline.sourceQuery, session)
  const fingerprint = passFingerprint(pipeline, query, pipeline.keyColumns)
  const read = { source: await momentOf(session), mart: await committedBy(session), fingerprint }
  await session.rows('UPDATE etl.etl_state SET position = $2 WHERE pipeline_id = $1', [
    pipeline.id,
    JSON.stringify({ read }),
  ])
  await session.close()
}

async function list() {
  const database = new Database(server.url, { name: 'bench', size: 4 })
  const catalog = new CatalogRepository(database)
  const times = []
  for (let n = 0; n < 200; n++) times.push(await timed(() => catalog.listPipelines({ limit: 50 })))
  await database.close()
  return { p50: percentile(times, 0.5), p95: percentile(times, 0.95) }
}

async function query(text) {
  const client = new pg.Client({ connectionString: server.url })
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

async function timed(work) {
  const began = performance.now()
  await work()
  return performance.now() - began
}

function median(numbers) {
  return percentile(numbers, 0.5)
}

function percentile(numbers, share) {
  const sorted = [...numbers].sort((a, b) => a - b)
  return Number(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))].toFixed(1))
}

function ratio(a, b) {
  return Number((a / b).toFixed(2))
}
