import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { FAMILIES } from '../../src/telemetry/families.js'
import { aPipeline } from '../support/builders.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { ROOT } from '../support/deployment.js'
import { spawnVitrina } from '../support/processes.js'
import { type Exposed, exposedBy, familyOf } from '../support/prometheus.js'
import { readPromql } from '../support/promql.js'
import { requestRun, runEnded } from '../support/runs.js'

const TOKEN = 'a-token-for-prometheus'

let database: TestDatabase
let api: Map<string, Exposed>
let runner: Map<string, Exposed>
let texts: { api: string; runner: string }

beforeAll(async () => {
  database = await aDatabase({ cinema: true })
  const env = { DATABASE_URL: database.url, RUNNER_POLL_INTERVAL_MS: '100', LOG_LEVEL: 'info' }
  const server = spawnVitrina(['api'], { ...env, VITRINA_PORT: '0', VITRINA_API_TOKEN: TOKEN })
  const worker = spawnVitrina(['runner'], { ...env, RUNNER_METRICS_PORT: '0' })
  const [, url = ''] = await server.waitForOutput(/API\s+(http\S+)\/api\/v1/)
  const [, port = ''] = await worker.waitForOutput(/"port":(\d+),"msg":"Serving metrics and health/)
  const get = (path: string) => fetch(`${url}${path}`, { headers: { authorization: `Bearer ${TOKEN}` } })
  await doSomeWork(get)
  texts = {
    api: await (await get('/metrics')).text(),
    runner: await (await fetch(`http://127.0.0.1:${port}/metrics`)).text(),
  }
  api = exposedBy(texts.api)
  runner = exposedBy(texts.runner)
})

async function doSomeWork(get: (path: string) => Promise<Response>): Promise<void> {
  // As a captor leaves it that has ended.
  await database.query(`WITH head AS (
      INSERT INTO etl.etl_change_heads (connection, slot, publication, generation, has_slot, held_bytes, lag_bytes, upto)
      VALUES ('gone', 's', 's', 1700000000000, true, 4096, 1024, '0/200') RETURNING id)
    INSERT INTO etl.etl_change_positions (head, pipeline_id, generation, end_lsn)
    SELECT head.id, p.id, 1700000000000, '0/100' FROM head, etl.etl_pipelines p LIMIT 1`)
  const good = await aPipeline(database, {
    name: 'good',
    mode: 'incremental',
    incrementalKey: 'updated_at',
    incrementalIdKey: 'film_id',
    scheduleInterval: '1h',
  })
  const bad = await aPipeline(database, {
    name: 'bad',
    sourceQuery: 'SELECT id AS film_id, title::integer AS number FROM content.film_work',
  })
  const waiting = await aPipeline(database, { name: 'waiting', enabled: false })
  for (const { id } of [good, bad]) await runEnded(database, await requestRun(database, id))
  await get(`/pipelines/${good.id}/reconcile?deep=true`)
  await get(`/pipelines/${waiting.id}`)
}

describe('R7.2 what processes expose', () => {
  it('has the names and labels of the reference', () => {
    for (const [from, exposed] of [
      ['api', api],
      ['runner', runner],
    ] as const) {
      for (const [name, { labels }] of exposed) {
        const family = FAMILIES.find((one) => one.name === name)
        const known = [...(family?.labelNames ?? []), ...(family?.buckets === undefined ? [] : ['le'])]
        expect([from, name, family?.name]).toEqual([from, name, name])
        if (labels.size > 0) expect([name, [...labels.keys()].sort()]).toEqual([name, [...known].sort()])
      }
    }
    for (const { name, from } of FAMILIES) {
      if (from !== 'runner') expect([...api.keys()]).toContain(name)
      if (from === 'runner' || from === 'both') expect([...runner.keys()]).toContain(name)
    }
  })

  it('reports successes and failures, durations, rows, lag and the next runs', () => {
    for (const text of [texts.api, texts.runner]) {
      expect(text).toContain('vitrina_runs_total{pipeline="good",status="SUCCESS"} 1')
      expect(text).toContain('vitrina_runs_total{pipeline="bad",status="FAILED"} 1')
      expect(text).toContain('vitrina_rows_total{pipeline="good",stage="inserted"} 71')
      expect(text).toMatch(/vitrina_run_duration_seconds_count\{pipeline="good"\} 1/)
      expect(text).toMatch(/vitrina_last_success_timestamp_seconds\{pipeline="good"\} \d{10}/)
      expect(text).toMatch(/vitrina_runner_heartbeat_timestamp_seconds \d{10}/)
    }
    expect(texts.api).toMatch(/vitrina_watermark_timestamp_seconds\{pipeline="good"\} \d{10}/)
    expect(texts.api).toMatch(/vitrina_next_run_timestamp_seconds\{pipeline="good"\} \d{10}/)
    expect(texts.api).toContain('vitrina_pipeline_status{pipeline="bad",status="FAILED",enabled="true"} 1')
    expect(texts.api).toContain('vitrina_pipeline_status{pipeline="waiting",status="IDLE",enabled="false"} 1')
    expect(texts.api).toContain('vitrina_reconcile_rows{pipeline="good",kind="missing"} 0')
    expect(texts.api).toContain('vitrina_source_captured{source="gone"} 0')
    expect(texts.api).toContain('vitrina_source_held_bytes{source="gone"} 4096')
    expect(texts.api).toContain('vitrina_source_generation_timestamp_seconds{source="gone"} 1700000000')
    expect(texts.api).toMatch(/^vitrina_runners 1$/m)
    expect(texts.api).toMatch(/^vitrina_runner_slots 4$/m)
    expect(texts.runner).toMatch(
      /vitrina_batch_duration_seconds_count\{pipeline="good",phase="checkpoint"\} [1-9]/,
    )
  })
})

interface Question {
  readonly where: string
  readonly expr: string
}

function alerts(): Question[] {
  const { groups } = parse(readFileSync(join(ROOT, 'deploy/prometheus/alerts.yml'), 'utf8')) as {
    groups: { rules: { alert: string; expr: string }[] }[]
  }
  return groups.flatMap(({ rules }) => rules.map(({ alert, expr }) => ({ where: alert, expr })))
}

interface Panel {
  readonly title: string
  readonly targets?: readonly { readonly expr: string }[]
}

function dashboard(): { panels: Panel[]; templating: { list: { name: string; definition?: string }[] } } {
  return JSON.parse(readFileSync(join(ROOT, 'deploy/grafana/vitrina.json'), 'utf8'))
}

function panels(): Question[] {
  return dashboard().panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({ where: title, expr })),
  )
}

describe.each([
  ['alert rule', alerts()],
  ['panel', panels()],
])('every %s', (_kind, questions) => {
  it.each(questions)('uses only exposed metrics: $where', ({ expr }) => {
    const { asked, groupedBy } = readPromql(expr)
    const all = exposedBy(texts.api, texts.runner)
    expect(asked.length).toBeGreaterThan(0)
    const families = asked.map(({ series }) => familyOf(series, all))
    expect(families).not.toContain(null)
    for (const [n, { matchers }] of asked.entries())
      for (const { label, op, value } of matchers) expectMatch(families[n]!, label, { op, value })
    const labels = families.flatMap((name) => labelsOf(name!))
    expect(groupedBy.filter((label) => !labels.includes(label))).toEqual([])
  })
})

function labelsOf(name: string): string[] {
  const family = FAMILIES.find((one) => one.name === name)!
  return [...family.labelNames, ...(family.buckets === undefined ? [] : ['le'])]
}

/** Values that never occur would make a rule that never fires. */
function expectMatch(name: string, label: string, { op, value }: { op: string; value: string }): void {
  expect(labelsOf(name)).toContain(label)
  const seen = exposedBy(texts.api, texts.runner).get(name)!.labels.get(label) ?? new Set()
  if (op === '=') expect([...KNOWN, ...seen]).toContain(value)
  if (op === '=~' && !value.startsWith('$') && !value.startsWith('5'))
    for (const one of value.split('|')) expect([...KNOWN, ...seen]).toContain(one)
}

/** Values that are there, though not at every moment. */
const KNOWN = ['IDLE', 'RUN_REQUESTED', 'RUNNING', 'PAUSE_REQUESTED', 'PAUSED', 'FAILED']

describe('the dashboard', () => {
  it('binds no data source, and lists pipelines by an existing label', () => {
    const { templating } = dashboard()
    expect(templating.list.map(({ name }) => name)).toEqual(['datasource', 'pipeline', 'console'])
    const [, metric, label] = /^label_values\((\w+), (\w+)\)$/.exec(templating.list[1]!.definition!)!
    expect(labelsOf(metric!)).toContain(label)
    const text = readFileSync(join(ROOT, 'deploy/grafana/vitrina.json'), 'utf8')
    expect([...text.matchAll(/"uid": "([^"]+)"/g)].every(([, uid]) => uid?.startsWith('$'))).toBe(true)
  })

  it('and the alert rules link to existing sections of the guide', () => {
    const guide = readFileSync(join(ROOT, 'docs/guides/operating.md'), 'utf8')
    const anchors = [...guide.matchAll(/^#+ (.*)$/gm)].map(([, title]) =>
      title!
        .toLowerCase()
        .replace(/[^a-z0-9 -]/g, '')
        .replaceAll(' ', '-'),
    )
    const rules = readFileSync(join(ROOT, 'deploy/prometheus/alerts.yml'), 'utf8')
    const links = [...rules.matchAll(/operating\.md#([a-z-]+)/g)].map(([, anchor]) => anchor)
    expect(links.length).toBe(alerts().length)
    expect(links.filter((anchor) => !anchors.includes(anchor!))).toEqual([])
  })
})
