import { refused } from './smoke-client.mjs'
import { Finding } from './smoke-finding.mjs'

const NAME = 'smoke_test_mart'
/** How a pipeline that an interrupted check left behind is recognised. */
const DESCRIPTION = 'Created by npm run smoke -- --write. Deleted when the check ends.'
const ROWS = 3
const WAIT_S = 30

/** Creates a pipeline without a schedule, runs it, compares the mart row by row, and deletes the pipeline again. */
export async function roundTrip({ client, options }) {
  const began = performance.now()
  const pipeline = await create(client, options.target)
  try {
    await runOnce(client, pipeline.id)
    await compare(client, pipeline.id)
  } finally {
    await remove(client, pipeline.id)
  }
  const seconds = ((performance.now() - began) / 1000).toFixed(1)
  return Finding.passed(
    `Created, ran, compared and deleted a pipeline (${seconds} s); its mart ${options.target} is kept, with ${ROWS} rows.`,
  )
}

async function create(client, target) {
  const body = {
    name: NAME,
    description: DESCRIPTION,
    source_query: `SELECT n AS id, 'row ' || n AS name FROM (VALUES (1), (2), (${ROWS})) AS rows (n)`,
    target_table: target,
    key_columns: ['id'],
    mode: 'full',
  }
  const first = await client.ask('/api/v1/pipelines', { method: 'POST', body })
  if (first.status === 201) return first.json
  if (first.status !== 409 || !(await removeLeftover(client))) throw refused('POST /pipelines', first)
  return (await client.get('/api/v1/pipelines', { method: 'POST', body })).json
}

/** False: another pipeline has this name. */
async function removeLeftover(client) {
  const { json } = await client.get(`/api/v1/pipelines?q=${NAME}`)
  const found = json.items.find(({ name }) => name === NAME)
  if (found?.description !== DESCRIPTION) return false
  await remove(client, found.id)
  return true
}

async function runOnce(client, id) {
  const path = `/api/v1/pipelines/${id}/run?wait=${WAIT_S}s`
  const { json } = await client.get(path, { method: 'POST', waitMs: WAIT_S * 1000 })
  const { run } = json
  if (run?.status === 'SUCCESS' && run.rows_read === ROWS) return
  if (run?.status === 'FAILED')
    throw Finding.failed(
      `The run failed: ${run.error_code} ${run.error}`,
      run.error_hint ?? 'See the log of the run.',
    )
  throw Finding.failed(
    `The run is ${run?.status ?? 'unknown'} after ${WAIT_S} s, with ${run?.rows_read ?? 0} of ${ROWS} rows read.`,
    'Check whether the runners have a free slot, and their log.',
  )
}

async function compare(client, id) {
  const { json } = await client.get(`/api/v1/pipelines/${id}/reconcile?deep=true`)
  const counts = [json.source?.count, json.target?.count].map(Number)
  if (json.matches && counts.every((count) => count === ROWS)) return
  throw Finding.failed(
    `The mart has ${counts[1]} rows and the source ${counts[0]}, or they differ.`,
    'Check whether another program writes to the mart.',
  )
}

/** Also one whose run has not ended. */
async function remove(client, id) {
  const path = `/api/v1/pipelines/${id}`
  const first = await client.ask(path, { method: 'DELETE' })
  if (first.status !== 409) return
  const { json } = await client.get(`${path}/status`)
  if (json.current_run !== null)
    await client.ask(`/api/v1/runs/${json.current_run.id}/cancel?force=true`, { method: 'POST' })
  await client.get(path, { method: 'DELETE' })
}
