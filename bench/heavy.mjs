/**
 * One pipeline with a heavy Python function, cut into parts: one runner with one slot against two of them. More is
 * faster: 2 would be twice the speed.
 *
 *   npm run build && node bench/heavy.mjs --rows 2000000 --micros 100
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { removeEmbedded, startEmbedded } from '../dist/embedded/index.js'
import { migrate } from '../dist/store/migrate.js'
import { grantRoles } from '../dist/store/roles.js'
import { connected, keptConnections, median, peakMemory, startRunner, stopRunner } from './lib.mjs'

const { values: options } = parseArgs({
  options: {
    rows: { type: 'string', default: '2000000' },
    /** CPU time of the function for a row, about. */
    micros: { type: 'string', default: '100' },
    rounds: { type: 'string', default: '1' },
  },
})
const ROWS = Number(options.rows)
const ROUNDS = Number(options.rounds)
/** A round of SHA-256 of 32 bytes takes about half a microsecond in Python. */
const FUNCTION = `import hashlib
from vitrina import task

@task("heavy")
def heavy(rows):
    result = []
    for row in rows:
        digest = str(row["id"]).encode()
        for _ in range(${Number(options.micros) * 2}):
            digest = hashlib.sha256(digest).digest()
        result.append({**row, "digest": digest.hex()})
    return result
`

const home = mkdtempSync(join(tmpdir(), 'vitrina-bench-'))
const server = await startEmbedded({ home, settings: { max_wal_size: '8GB', shared_buffers: '512MB' } })
const urlOf = (name) => Object.assign(new URL(server.url), { pathname: `/${name}` }).href
const kept = keptConnections(urlOf)
const runners = []
try {
  const tasks = join(home, 'tasks')
  mkdirSync(tasks)
  writeFileSync(join(tasks, 'heavy.py'), FUNCTION)
  const id = await prepare()
  const taken = { 1: [], 2: [] }
  let content = null
  for (let round = 0; round < ROUNDS; round++)
    for (const count of [1, 2]) {
      while (runners.length < count)
        runners.push(
          startRunner({
            DATABASE_URL: urlOf('main'),
            ALLOWED_SOURCE_SCHEMAS: 'ugc',
            RUNNER_CONCURRENCY: '1',
            VITRINA_PYTHON_TASKS: tasks,
          }),
        )
      while (runners.length > count) await stopRunner(runners.pop())
      await alive(count)
      await query('DROP TABLE IF EXISTS analytics.heavy')
      await query(
        'CREATE TABLE analytics.heavy (id bigint PRIMARY KEY, name text, digest text); GRANT ALL ON analytics.heavy TO vitrina_writer',
      )
      const since = performance.now()
      const parts = await run(id)
      taken[count].push(performance.now() - since)
      const found = await contentOf()
      if (content !== null && found !== content) throw new Error('The marts differ.')
      content = found
      console.log(`${count} runners: ${Math.round(taken[count].at(-1))} ms, ${parts} parts`)
    }
  const [one, two] = [median(taken[1]), median(taken[2])]
  const memory = runners.map(({ pid }) => peakMemory(pid)).join(' and ')
  console.log(
    `${ROWS} rows: 2 runners are ${(one / two).toFixed(2)} times as fast as 1; peak memory of the runners: ${memory} MiB`,
  )
} finally {
  await Promise.all(runners.map(stopRunner))
  await kept.close()
  await server.stop()
  await removeEmbedded(home)
  rmSync(home, { recursive: true, force: true })
}

async function prepare() {
  await connected(server.url, (client) => client.query('CREATE DATABASE main'))
  await migrate(urlOf('main'))
  await query('CREATE SCHEMA ugc; CREATE SCHEMA IF NOT EXISTS analytics')
  await query('CREATE TABLE ugc.item (id bigint PRIMARY KEY, name text)')
  await query("INSERT INTO ugc.item SELECT n, 'name ' || n FROM generate_series(1::bigint, $1) AS n", [ROWS])
  await query('VACUUM ANALYZE ugc.item')
  await grantRoles({ administratorUrl: urlOf('main'), sourceSchemas: ['ugc'], targetSchemas: ['analytics'] })
  return connected(urlOf('main'), async (client) => {
    // A task plan is checked at the end of the transaction.
    await client.query('BEGIN')
    const { rows } = await client.query(
      `INSERT INTO etl.etl_pipelines (name, type, source_query, target_table, key_columns, parallelism)
       VALUES ('heavy', 'PYTHON', '', 'analytics.heavy', '{id}', 2) RETURNING id`,
    )
    await client.query(
      `INSERT INTO etl.etl_pipeline_tasks (pipeline_id, order_index, task_type, body)
       VALUES ($1, 1, 'SQL', 'SELECT id, name, NULL::text AS digest FROM ugc.item'), ($1, 2, 'PYTHON', 'heavy')`,
      [rows[0].id],
    )
    await client.query('COMMIT')
    return rows[0].id
  })
}

async function alive(count) {
  for (;;) {
    const [{ n }] = await query(
      "SELECT count(*)::int AS n FROM etl.etl_runners WHERE stopped_at IS NULL AND heartbeat_at > now() - interval '15 seconds'",
    )
    if (n === count) return
    await wait(100)
  }
}

async function run(id) {
  const [{ current_run_id: runId }] = await query(
    "UPDATE etl.etl_pipelines SET status = 'RUN_REQUESTED' WHERE id = $1 RETURNING current_run_id",
    [id],
  )
  for (;;) {
    const [one] = await query(
      'SELECT status, error, parts_total, rows_inserted::int FROM etl.etl_runs WHERE id = $1',
      [runId],
    )
    if (one.status === 'SUCCESS' && one.rows_inserted === ROWS) return one.parts_total
    if (!['REQUESTED', 'RUNNING'].includes(one.status)) throw new Error(`${one.status}: ${one.error}`)
    await wait(50)
  }
}

async function contentOf() {
  const [{ content }] = await query(
    "SELECT count(*) || ' ' || sum(hashtextextended(id || digest, 0)) AS content FROM analytics.heavy",
  )
  return content
}

function query(text, values) {
  return kept.query('main', text, values)
}
