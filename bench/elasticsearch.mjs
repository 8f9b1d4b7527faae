import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { generate } from '../dist/cinema/index.js'
import { removeEmbedded, startEmbedded } from '../dist/embedded/index.js'
import { migrate } from '../dist/store/migrate.js'
import { grantRoles } from '../dist/store/roles.js'
import { parallelBulk, pgsync } from './elasticsearch/competitors.mjs'
import { startElasticsearch } from './elasticsearch/server.mjs'
import { connected, median, peakMemory, startRunner } from './lib.mjs'

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    rows: { type: 'string', default: '200000' },
    only: { type: 'string' },
    full: { type: 'boolean', default: false },
  },
})
const COLUMNS = ['id', 'film_id', 'user_id', 'rating', 'created', 'modified']
const QUERY = `SELECT ${COLUMNS.join(', ')} FROM ugc.ratings`
const MODES = ['update', 'index']
/** The mapping that Vitrina creates for these columns; the others get the same index. */
const PROPERTIES = {
  id: { type: 'keyword', ignore_above: 8191 },
  film_id: { type: 'keyword', ignore_above: 8191 },
  user_id: { type: 'keyword', ignore_above: 8191 },
  rating: { type: 'short' },
  created: { type: 'date' },
  modified: { type: 'date' },
}

const home = mkdtempSync(join(tmpdir(), 'vitrina-bench-'))
const server = await startEmbedded({
  home,
  settings: {
    max_wal_size: '4GB',
    checkpoint_timeout: '30min',
    shared_buffers: '512MB',
    wal_level: 'logical',
  },
})
const database = Object.assign(new URL(server.url), { pathname: '/main' }).href
const closing = []
let runner = null
try {
  const { url: search, stop } = await startElasticsearch(options.full)
  closing.push(stop)
  await prepare()
  runner = startRunner({ DATABASE_URL: database, ELASTICSEARCH_URL: search, ALLOWED_ES_INDEXES: 'bench_*' })
  const ways = []
  // The first turn of each warms the servers up and is not counted.
  for (const way of await waysOf(search)) if (await works(search, way)) ways.push(way)
  const samples = Object.fromEntries(ways.map(({ name }) => [name, []]))
  for (let round = 0; round < Number(options.rounds); round++)
    for (const way of ways) samples[way.name].push(await measure(search, way))
  report(samples)
  console.log(`peak memory of the runner: ${peakMemory(runner.pid)} MiB`)
} finally {
  runner?.kill('SIGTERM')
  if (runner !== null) await new Promise((resolve) => runner.once('exit', resolve))
  for (const stop of closing.reverse()) await stop()
  await server.stop()
  await removeEmbedded(home)
  rmSync(home, { recursive: true, force: true })
}

async function prepare() {
  await query('CREATE DATABASE main', server.url)
  await migrate(database)
  await connected(database, (client) =>
    generate(client, { films: 5000, ratings: Number(options.rows), seed: 1 }),
  )
  await grantRoles({
    administratorUrl: database,
    sourceSchemas: ['content', 'ugc'],
    targetSchemas: ['analytics'],
  })
  for (const mode of MODES)
    await query(
      `INSERT INTO etl.etl_pipelines (name, source_query, target_table, key_columns, target_options)
        VALUES ('${mode}', '${QUERY}', 'es:bench_${mode}', '{id}', '{"write_mode": "${mode}"}')`,
    )
  await query('VACUUM ANALYZE')
}

/** The requested candidates that are available. */
async function waysOf(search) {
  const isWanted = ({ name }) => options.only === undefined || options.only.split(',').includes(name)
  const ways = MODES.map((mode) => ({ name: mode, run: () => runPipeline(mode) })).filter(isWanted)
  const others = [
    {
      name: 'bulk500',
      open: parallelBulk,
      run: (way, index) => way.run(index, { threads: 4, chunk: 500, operation: 'index' }),
    },
    {
      name: 'bulk5000',
      open: parallelBulk,
      run: (way, index) => way.run(index, { threads: 4, chunk: 5000, operation: 'index' }),
    },
    {
      name: 'upsert500',
      open: parallelBulk,
      run: (way, index) => way.run(index, { threads: 4, chunk: 500, operation: 'update' }),
    },
    { name: 'pgsync', open: pgsync, run: (way, index) => way.run(index) },
  ]
  for (const { name, open, run } of others.filter(isWanted)) {
    const way = await open({ database, search, query: QUERY, columns: COLUMNS })
    if ('missing' in way) {
      console.log(`${name} is skipped: ${way.missing}`)
      continue
    }
    closing.push(way.stop)
    ways.push({ name, isOther: true, run: async (index) => (await run(way, index)) * 1000 })
  }
  return ways
}

/** A competitor that cannot run here must not prevent the other measurements. */
async function works(search, way) {
  try {
    await measure(search, way)
    return true
  } catch (error) {
    if (!way.isOther) throw error
    console.log(
      `${way.name} is left out: ${String(error.stderr || error.message)
        .trim()
        .split('\n')
        .slice(-3)
        .join(' ')}`,
    )
    return false
  }
}

/** Fills an empty index, which must contain every row afterwards. */
async function measure(search, { name, isOther, run }) {
  const index = `bench_${name}`
  await fetch(`${search}/${index}`, { method: 'DELETE' })
  if (isOther) await createIndex(search, index)
  await query('CHECKPOINT')
  const took = await run(index)
  const { count } = await (await fetch(`${search}/${index}/_count`)).json()
  const [{ rows }] = await query('SELECT count(*)::int AS rows FROM ugc.ratings')
  if (count !== rows) throw new Error(`${name} wrote ${count} documents of ${rows}`)
  console.log(JSON.stringify({ way: name, ms: Math.round(took), documents: count }))
  await fetch(`${search}/${index}`, { method: 'DELETE' })
  return took
}

/** pgsync adds its own field to the documents. */
async function createIndex(search, index) {
  const properties = { ...PROPERTIES, _meta: { type: 'object', enabled: false } }
  const body = JSON.stringify({ settings: { gc_deletes: '1h' }, mappings: { dynamic: 'strict', properties } })
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(`${search}/${index}`, { method: 'PUT', headers, body })
  if (!answer.ok) throw new Error(await answer.text())
}

function report(samples) {
  const names = Object.keys(samples)
  const rows = names.map((name) => {
    const ratios = MODES.filter((mode) => names.includes(mode)).map((mode) => [
      `/ ${mode}`,
      Number((rounded(samples[name]) / rounded(samples[mode])).toFixed(2)),
    ])
    return { way: name, ms: rounded(samples[name]), ...Object.fromEntries(ratios) }
  })
  for (const row of rows) console.log(JSON.stringify(row))
  console.table(rows)
}

async function runPipeline(name) {
  const began = performance.now()
  const [{ current_run_id: id }] = await query(
    `UPDATE etl.etl_pipelines SET status = 'RUN_REQUESTED' WHERE name = '${name}' RETURNING current_run_id`,
  )
  for (;;) {
    const [run] = await query(`SELECT status, error FROM etl.etl_runs WHERE id = '${id}'`)
    if (run.status === 'SUCCESS') return performance.now() - began
    if (run.status === 'FAILED') throw new Error(`${name}: ${run.error}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

function query(text, url = database) {
  return connected(url, async (client) => (await client.query(text)).rows)
}

function rounded(numbers) {
  return Math.round(median(numbers))
}
