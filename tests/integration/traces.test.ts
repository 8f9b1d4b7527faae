import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aPipeline } from '../support/builders.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { aCollector, type Collector, type ReceivedSpan } from '../support/otlp.js'
import { type SpawnedVitrina, spawnVitrina } from '../support/processes.js'
import { requestRun, runEnded } from '../support/runs.js'
import { waitFor } from '../support/wait.js'

const TOKEN = 'a-token-that-no-trace-may-hold'
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const CALLER = '00f067aa0ba902b7'

interface Stand {
  readonly database: TestDatabase
  readonly collector: Collector
  readonly folder: string
  readonly api: SpawnedVitrina
  readonly runner: SpawnedVitrina
  readonly url: string
}
let stand: Stand

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'vitrina traces '))
  await mkdir(join(folder, 'pipelines/typescript'), { recursive: true })
  await writeFile(
    join(folder, 'pipelines/typescript/films.ts'),
    "import { task } from 'vitrina'\ntask('shout', (rows) => rows.map((row) => ({ ...row, title: row.title.toUpperCase() })))\n",
  )
  const [database, collector] = [await aDatabase({ cinema: true }), await aCollector()]
  const env = {
    DATABASE_URL: database.url,
    RUNNER_POLL_INTERVAL_MS: '100',
    OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=cinema%20one',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
  }
  const api = spawnVitrina(['api'], { ...env, VITRINA_PORT: '0', VITRINA_API_TOKEN: TOKEN }, { cwd: folder })
  const runner = spawnVitrina(['runner'], env, { cwd: folder })
  const [, url = ''] = await api.waitForOutput(/API\s+(http\S+)\/api\/v1/)
  stand = { database, collector, folder, api, runner, url }
})
afterAll(async () => {
  await stand?.collector.close()
  if (stand !== undefined) await rm(stand.folder, { recursive: true, force: true })
})

async function post(path: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${stand.url}/api/v1${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}`, ...headers },
  })
}

async function get(path: string): Promise<Response> {
  return fetch(`${stand.url}/api/v1${path}`, { headers: { authorization: `Bearer ${TOKEN}` } })
}

/** The spans of a trace, once its run span has arrived: that one ends last. */
function spansOf(traceId: string): Promise<ReceivedSpan[]> {
  const { collector } = stand
  return waitFor(
    async () => {
      const found = collector.spans.filter((span) => span.traceId === traceId)
      return found.some(({ name }) => name === 'run') && found
    },
    { what: `the spans of trace ${traceId}` },
  )
}

function childrenOf(spans: readonly ReceivedSpan[], parent: ReceivedSpan): ReceivedSpan[] {
  return spans.filter((span) => span.parentSpanId === parent.spanId)
}

describe('a run requested by a traced caller', () => {
  it('is below the request: request, run, attempt, batch, phases', async () => {
    const { id } = await aPipeline(stand.database, {
      type: 'PYTHON',
      keyColumns: ['film_id'],
      tasks: [
        { taskType: 'SQL', body: 'SELECT id AS film_id, title FROM content.film_work' },
        { taskType: 'PYTHON', body: 'shout' },
      ],
    })
    const answer = await post(`/pipelines/${id}/run`, { traceparent: `00-${TRACE}-${CALLER}-01` })
    const { run_id } = (await answer.json()) as { run_id: string }
    await runEnded(stand.database, run_id)
    const spans = await spansOf(TRACE)
    const [request] = spans.filter(({ parentSpanId }) => parentSpanId === CALLER)
    expect(request).toMatchObject({
      name: 'POST /api/v1/pipelines/:id/run',
      kind: 2,
      service: 'vitrina-api',
      attributes: { 'http.response.status_code': 202, 'http.route': '/api/v1/pipelines/:id/run' },
    })
    const [run] = childrenOf(spans, request!)
    expect(run).toMatchObject({
      name: 'run',
      kind: 5,
      service: 'vitrina-runner',
      status: { code: 0 },
      attributes: { 'vitrina.run.id': run_id, 'vitrina.run.status': 'SUCCESS', 'vitrina.run.trigger': 'api' },
    })
    const [attempt, ...more] = childrenOf(spans, run!)
    expect([attempt?.name, more]).toEqual(['attempt', []])
    expect(attempt?.attributes).toMatchObject({ 'vitrina.attempt': 1, 'vitrina.way': 'rows' })
    const [batch] = childrenOf(spans, attempt!)
    expect(batch?.attributes).toMatchObject({ 'vitrina.batch': 1, 'vitrina.rows.read': 71 })
    const phases = childrenOf(spans, batch!)
    expect(phases.map(({ name }) => name)).toEqual(['read', 'transform', 'write', 'checkpoint'])
    expect(phases[1]!.attributes).toEqual({ 'vitrina.transforms': ['shout'] })
    expect(phases[2]!.attributes).toMatchObject({
      'db.system.name': 'postgresql',
      'db.operation.batch.size': 71,
    })
    for (const phase of phases)
      expect([phase.from >= batch!.from, phase.to <= batch!.to]).toEqual([true, true])
  })

  it('has its trace in the API and in the logs of both processes', async () => {
    const { id } = await aPipeline(stand.database, {
      sourceQuery: 'SELECT id, title FROM content.film_work',
      keyColumns: ['id'],
    })
    const traceId = 'a'.repeat(32)
    const answer = await post(`/pipelines/${id}/run?wait=30s`, { traceparent: `00-${traceId}-${CALLER}-01` })
    const { run_id } = (await answer.json()) as { run_id: string }
    expect(await (await get(`/runs/${run_id}`)).json()).toMatchObject({
      trace_id: traceId,
      status: 'SUCCESS',
    })
    const spans = await spansOf(traceId)
    const batch = spans.find(({ name }) => name === 'batch')!
    expect(childrenOf(spans, batch).map(({ name }) => name)).toEqual(['write', 'checkpoint'])
    expect(linesWith(stand.api, traceId)).toContain('Run requested.')
    expect(linesWith(stand.runner, traceId)).toEqual(
      expect.arrayContaining(['Run started.', 'Batch 1 done.', 'Run succeeded.']),
    )
  })

  it('is not recorded if the caller does not keep its trace, but still has its id', async () => {
    const { id } = await aPipeline(stand.database, {
      sourceQuery: 'SELECT id, title FROM content.film_work',
      keyColumns: ['id'],
    })
    const traceId = 'b'.repeat(32)
    await post(`/pipelines/${id}/run?wait=30s`, { traceparent: `00-${traceId}-${CALLER}-00` })
    // The runner logs the end of a run after the request that waits for it can see it.
    await waitFor(async () => linesWith(stand.runner, traceId).includes('Run succeeded.'), {
      what: 'the end of the run in the log',
    })
    // Whatever would have been sent was sent before this.
    await spansOf(await runBySql(id))
    expect(stand.collector.spans.filter((span) => span.traceId === traceId)).toEqual([])
  })
})

/** Returns the trace of a run without a traced caller. */
async function runBySql(id: string): Promise<string> {
  const runId = await requestRun(stand.database, id)
  await runEnded(stand.database, runId)
  return runId.replaceAll('-', '')
}

function linesWith(program: SpawnedVitrina, traceId: string): string[] {
  const lines = program.stderr.split('\n').filter((line) => line.startsWith('{'))
  return lines
    .map((line) => JSON.parse(line))
    .flatMap((line) => (line.trace_id === traceId ? [line.msg] : []))
}

describe('a run without a traced caller', () => {
  it('is a separate trace, found by the id of the run', async () => {
    const { id } = await aPipeline(stand.database, {
      sourceQuery: 'SELECT id, title FROM content.film_work',
      keyColumns: ['id'],
    })
    const spans = await spansOf(await runBySql(id))
    expect(spans.find(({ name }) => name === 'run')).toMatchObject({
      parentSpanId: null,
      attributes: { 'vitrina.run.trigger': 'sql' },
    })
  })

  it('reports a failure by its code, without values, queries or secrets', async () => {
    const { id } = await aPipeline(stand.database, {
      sourceQuery: "SELECT id, (title || 'hunter2')::integer AS number FROM content.film_work",
      keyColumns: ['id'],
    })
    await get('/pipelines?q=in-the-query')
    const spans = await spansOf(await runBySql(id))
    const [attempt] = spans.filter(({ name }) => name === 'attempt')
    expect(attempt).toMatchObject({ status: { code: 2 } })
    expect(attempt!.attributes).toMatchObject({ 'db.response.status_code': '22P02' })
    expect(attempt!.attributes['error.type']).toMatch(/^[A-Z_]+$/)
    expect(spans.find(({ name }) => name === 'run')).toMatchObject({
      status: { code: 2 },
      attributes: { 'vitrina.run.status': 'FAILED', 'error.type': expect.stringMatching(/^VTR-\d{4}/) },
    })
    const password = new URL(stand.database.url).password
    const sent = stand.collector.bodies.join('\n')
    for (const secret of ['hunter2', 'SELECT', TOKEN, 'in-the-query', ...(password === '' ? [] : [password])])
      expect(sent).not.toContain(secret)
  })
})

describe('what is sent', () => {
  it('has the headers and the resource of the environment', async () => {
    await waitFor(async () => stand.collector.bodies.length > 0, { what: 'the first spans' })
    expect(stand.collector.headers[0]).toMatchObject({
      'x-tenant': 'cinema one',
      'content-type': 'application/json',
    })
    expect(stand.collector.bodies[0]).toContain('deployment.environment.name')
  })

  it('is complete when the processes are stopped', async () => {
    const { id } = await aPipeline(stand.database, {
      sourceQuery: 'SELECT id, title FROM content.film_work',
      keyColumns: ['id'],
    })
    const traceId = await runBySql(id)
    stand.runner.kill('SIGTERM')
    expect(await stand.runner.exited).toBe(0)
    expect(
      stand.collector.spans.filter((span) => span.traceId === traceId && span.name === 'run'),
    ).toHaveLength(1)
  })
})
