/**
 * Compares the engine with the database itself. Each case is measured in turns with a hand-written limit in the same run.
 * The result is a ratio of medians: limit / Vitrina, so 1 is the speed of the limit and more is faster.
 *
 *   npm run bench                     all cases
 *   npm run bench -- --rounds 5 --rows 1000000 --only ratings,agg
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { parseArgs } from 'node:util'
import { from as copyFrom, to as copyTo } from 'pg-copy-streams'
import { generate } from '../dist/cinema/index.js'
import { removeEmbedded, startEmbedded } from '../dist/embedded/index.js'
import { migrate } from '../dist/store/migrate.js'
import { grantRoles } from '../dist/store/roles.js'
import { connected, median, peakMemory, startRunner, stopRunner } from './lib.mjs'

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    rows: { type: 'string', default: '1000000' },
    films: { type: 'string', default: '200000' },
    only: { type: 'string' },
  },
})
const RATINGS = 'SELECT id, film_id, user_id, rating, created, modified FROM ugc.ratings'
const AGG =
  'SELECT film_id, avg(rating) AS avg_rating, count(*) AS rating_count, max(modified) AS updated_at FROM ugc.ratings GROUP BY film_id'
const FILMS = `SELECT f.id AS film_id, f.title, f.rating, f.type, g.genres, p.persons, f.modified AS updated_at
  FROM content.film_work f
  LEFT JOIN (SELECT gf.film_work_id, array_agg(g.name ORDER BY g.name) AS genres FROM content.genre_film_work gf JOIN content.genre g ON g.id = gf.genre_id GROUP BY 1) g ON g.film_work_id = f.id
  LEFT JOIN (SELECT pf.film_work_id, array_agg(p.full_name ORDER BY p.full_name) AS persons FROM content.person_film_work pf JOIN content.person p ON p.id = pf.person_id GROUP BY 1) p ON p.film_work_id = f.id`

/** One query into one mart, in one database and in two; into an empty mart and into a filled one. */
const CASES = [
  { name: 'ratings', key: 'id', query: RATINGS },
  { name: 'agg', key: 'film_id', query: AGG },
  { name: 'films', key: 'film_id', query: FILMS },
].filter((one) => options.only === undefined || options.only.split(',').includes(one.name))

const home = mkdtempSync(join(tmpdir(), 'vitrina-bench-'))
const server = await startEmbedded({
  home,
  settings: { max_wal_size: '4GB', checkpoint_timeout: '30min', shared_buffers: '512MB' },
})
const urlOf = (name) => Object.assign(new URL(server.url), { pathname: `/${name}` }).href
let runner = null
try {
  await prepare()
  runner = startRunner({ DATABASE_URL: urlOf('main'), VITRINA_CONNECTION_DWH_URL: urlOf('dwh') })
  const table = []
  for (const one of CASES) {
    for (const databases of [1, 2]) {
      const samples = { empty: { limit: [], vitrina: [] }, filled: { limit: [], vitrina: [] } }
      for (let round = 0; round < Number(options.rounds); round++) await measure(one, databases, samples)
      for (const [mart, { limit, vitrina }] of Object.entries(samples)) {
        const row = {
          case: one.name,
          databases,
          mart,
          limit_ms: tenths(limit),
          vitrina_ms: tenths(vitrina),
          ratio: Number((tenths(limit) / tenths(vitrina)).toFixed(2)),
        }
        table.push(row)
        console.log(JSON.stringify(row))
      }
    }
  }
  console.table(table)
  console.log(`peak memory of the runner: ${peakMemory(runner.pid)} MiB`)
  console.log(JSON.stringify(await latency()))
} finally {
  await stopRunner(runner)
  await server.stop()
  await removeEmbedded(home)
  rmSync(home, { recursive: true, force: true })
}

async function prepare() {
  await query('postgres', 'CREATE DATABASE main')
  await query('postgres', 'CREATE DATABASE dwh')
  await migrate(urlOf('main'))
  await connected(urlOf('main'), (client) =>
    generate(client, { films: Number(options.films), ratings: Number(options.rows), seed: 1 }),
  )
  await grantRoles({
    administratorUrl: urlOf('main'),
    sourceSchemas: ['content', 'ugc'],
    targetSchemas: ['analytics'],
  })
  await query('dwh', 'CREATE SCHEMA analytics')
  for (const one of CASES) {
    for (const [suffix, connection] of [
      ['1', null],
      ['2', 'dwh'],
    ]) {
      await query(
        'main',
        `INSERT INTO etl.etl_pipelines (name, source_query, target_table, key_columns, target_connection) VALUES ($1, $2, $3, $4, $5)`,
        [`${one.name}${suffix}`, one.query, `analytics.${one.name}_vitrina`, [one.key], connection],
      )
    }
  }
  await query('main', 'VACUUM ANALYZE')
}

/** An empty mart, then the same one with every row changed, by hand and by Vitrina in turn. */
async function measure(one, databases, samples) {
  const target = databases === 1 ? 'main' : 'dwh'
  const columns = await columnsOf(one.query)
  for (const who of ['limit', 'vitrina']) {
    const mart = `analytics.${one.name}_${who}`
    await query(target, `DROP TABLE IF EXISTS ${mart}`)
    await query(
      target,
      `CREATE TABLE ${mart} (${columns.map((c) => `${c.name} ${c.type}`).join(', ')}, PRIMARY KEY (${one.key}))`,
    )
    await query('main', 'CHECKPOINT')
    samples.empty[who].push(await timed(who, one, { databases, columns, mart }))
    await query(target, `UPDATE ${mart} SET ${touch(columns, one.key)}`)
    await query(target, `VACUUM ANALYZE ${mart}`)
    await query('main', 'CHECKPOINT')
    samples.filled[who].push(await timed(who, one, { databases, columns, mart }))
  }
}

async function timed(who, one, { databases, columns, mart }) {
  if (who === 'vitrina') return runPipeline(`${one.name}${databases}`)
  const began = performance.now()
  await (databases === 1
    ? query('main', `${insertInto(mart, columns)} ${one.query} ${onConflict(one.key, columns)}`)
    : copyAndMerge(one, columns, mart))
  return performance.now() - began
}

/** What `psql COPY | psql COPY` into a staging table and one merge would do. */
async function copyAndMerge(one, columns, mart) {
  await connected(urlOf('main'), (from) =>
    connected(urlOf('dwh'), async (to) => {
      await to.query(`CREATE TEMP TABLE staging (${columns.map((c) => `${c.name} ${c.type}`).join(', ')})`)
      await pipeline(
        from.query(copyTo(`COPY (${one.query}) TO STDOUT (FORMAT binary)`)),
        to.query(copyFrom('COPY staging FROM STDIN (FORMAT binary)')),
      )
      await to.query(`${insertInto(mart, columns)} SELECT * FROM staging ${onConflict(one.key, columns)}`)
    }),
  )
}

async function runPipeline(name) {
  const began = performance.now()
  const [{ current_run_id: id }] = await query(
    'main',
    "UPDATE etl.etl_pipelines SET status = 'RUN_REQUESTED' WHERE name = $1 RETURNING current_run_id",
    [name],
  )
  for (;;) {
    const [run] = await query('main', 'SELECT status, error FROM etl.etl_runs WHERE id = $1', [id])
    if (run.status === 'SUCCESS') return performance.now() - began
    if (run.status === 'FAILED') throw new Error(`${name}: ${run.error}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** From the request to the end of a run that moves one batch of 1,000 simple rows, and to its first committed row. */
async function latency() {
  await query(
    'main',
    'CREATE TABLE content.small AS SELECT g AS id, md5(g::text) AS text FROM generate_series(1, 1000) g',
  )
  await query('main', 'ALTER TABLE content.small ADD PRIMARY KEY (id); ANALYZE content.small')
  await query('main', 'GRANT SELECT ON content.small TO vitrina_reader')
  await query(
    'main',
    "INSERT INTO etl.etl_pipelines (name, source_query, target_table, key_columns, batch_size) VALUES ('small', 'SELECT id, text FROM content.small', 'analytics.small', '{id}', 1000)",
  )
  const batch = []
  const first = []
  for (let n = 0; n < 30; n++) {
    await query('main', 'DROP TABLE IF EXISTS analytics.small')
    await runPipeline('small')
    const [row] = await query(
      'main',
      `SELECT b.duration_ms, extract(epoch FROM b.finished_at - r.requested_at)::float8 * 1000 AS first_row_ms
      FROM etl.etl_runs r JOIN etl.etl_run_batches b ON b.run_id = r.id JOIN etl.etl_pipelines p ON p.current_run_id = r.id WHERE p.name = 'small'`,
    )
    batch.push(row.duration_ms)
    first.push(row.first_row_ms)
  }
  return { batch_of_1000_ms: tenths(batch), request_to_first_row_ms: tenths(first) }
}

async function columnsOf(text) {
  return connected(urlOf('main'), async (client) => {
    const { fields } = await client.query(`SELECT * FROM (${text}) q LIMIT 0`)
    const { rows } = await client.query(
      'SELECT format_type(t, m) AS type FROM unnest($1::oid[], $2::int[]) WITH ORDINALITY AS f(t, m, n) ORDER BY n',
      [fields.map((f) => f.dataTypeID), fields.map((f) => f.dataTypeModifier)],
    )
    return fields.map((field, index) => ({ name: field.name, type: rows[index].type }))
  })
}

function insertInto(mart, columns) {
  return `INSERT INTO ${mart} (${columns.map((c) => c.name).join(', ')})`
}

function onConflict(key, columns) {
  const set = columns.filter((c) => c.name !== key).map((c) => `${c.name} = excluded.${c.name}`)
  return `ON CONFLICT (${key}) DO UPDATE SET ${set.join(', ')}`
}

/** Makes every row of a mart differ from the source. */
function touch(columns, key) {
  const column = columns.find((c) => c.name !== key && c.type.startsWith('timestamp'))
  return `${column.name} = ${column.name} + interval '1 second'`
}

function query(name, text, values) {
  return connected(urlOf(name), async (client) => (await client.query(text, values)).rows)
}

function tenths(numbers) {
  return Math.round(median(numbers) * 10) / 10
}
