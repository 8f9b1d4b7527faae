import { expect, it, onTestFinished } from 'vitest'
import { readSettings } from '../../src/config/settings.js'
import { startRunner } from '../../src/main/runner.js'
import { createLog } from '../../src/telemetry/log.js'
import { createMeter } from '../../src/telemetry/meter.js'
import { anApi } from '../support/api.js'
import { aPipeline } from '../support/builders.js'
import { aDatabase } from '../support/database.js'
import { requestRun, runEnded } from '../support/runs.js'
import { waitFor } from '../support/wait.js'

const CANARY = 'canary-5f1e'

/** A rejected connection, and one without a response: both with a secret in their address. */
function canaries(url: string): Map<string, string> {
  const refused = new URL(url)
  refused.password = CANARY
  const unreachable = new URL(url)
  unreachable.password = CANARY
  unreachable.port = '1'
  return new Map([
    ['refused', refused.href],
    ['unreachable', unreachable.href],
  ])
}

const draftFrom = (connection: string) => ({
  name: `from_${connection}`,
  source_query: 'SELECT id AS film_id FROM content.film_work',
  source_connection: connection,
  target_table: 'analytics.canary',
  key_columns: ['film_id'],
})

it('R6.3 shows no secret in any response, log line, run or metric, whatever fails', async () => {
  const database = await aDatabase({ cinema: true })
  const connections = canaries(database.url)
  const lines: string[] = []
  const log = createLog({
    service: 'runner',
    version: '0',
    level: 'debug',
    format: 'json',
    destination: { write: (line) => void lines.push(line) },
  })
  const meter = createMeter({ version: '0' })
  const env = Object.fromEntries(
    [...connections].map(([name, url]) => [`VITRINA_CONNECTION_${name.toUpperCase()}_URL`, url]),
  )
  const runner = await startRunner(
    readSettings({ DATABASE_URL: database.url, RUNNER_POLL_INTERVAL_MS: '100', ...env }),
    { log, meter },
  )
  onTestFinished(() => runner.stop())
  const api = anApi(database.loginUrl('meta'), {
    readerUrl: database.loginUrl('reader'),
    connections: [...connections.keys()],
    urls: connections,
    probed: {
      databases: [...connections].map(([name, url]) => ({
        name,
        setting: name,
        urls: [url],
        allowLists: [],
      })),
      sinks: [],
    },
  })

  const answers: string[] = []
  for (const side of ['sourceConnection', 'targetConnection'] as const) {
    const { id } = await aPipeline(database, { [side]: 'refused' })
    expect(await runEnded(database, await requestRun(database, id))).toMatchObject({ status: 'FAILED' })
    answers.push((await api.post(`/pipelines/${id}/run?wait=10s`)).body)
    const lost = await aPipeline(database, { [side]: 'unreachable' })
    await requestRun(database, lost.id)
    await waitFor(async () => lines.some((line) => line.includes(lost.id) && line.includes('ECONNREFUSED')), {
      what: 'the lost connection to be logged',
    })
    for (const pipeline of [id, lost.id]) {
      for (const path of ['validate', 'preview', 'reconcile/repair'])
        answers.push((await api.post(`/pipelines/${pipeline}/${path}`)).body)
      for (const path of [
        '',
        '/status',
        '/state',
        '/runs',
        '/reconcile?deep=true',
        '/versions',
        '/quarantine',
      ])
        answers.push((await api.get(`/pipelines/${pipeline}${path}`)).body)
      answers.push((await api.patch(`/pipelines/${pipeline}?dry_run=true`, { batch_size: 7 })).body)
      const { items } = (await api.get(`/pipelines/${pipeline}/runs`)).json() as { items: { id: string }[] }
      for (const { id: runId } of items)
        for (const path of ['', '/log', '/batches'])
          answers.push((await api.get(`/runs/${runId}${path}`)).body)
    }
  }
  answers.push(
    (await api.call({ method: 'GET', url: '/pipelines', headers: { authorization: `Bearer ${CANARY}` } }))
      .body,
  )
  for (const path of ['/validate', '/preview', '/pipelines?dry_run=true'])
    for (const [name] of connections) answers.push((await api.post(path, draftFrom(name))).body)
  for (const path of [
    '/runs',
    '/runners',
    '/audit',
    '/tokens',
    '/metrics',
    '/health/ready',
    '/connections',
    '/settings',
    '/about',
  ])
    answers.push((await api.get(path)).body)
  const stored: string[] = []
  for (const table of ['etl_runs', 'etl_run_log', 'etl_events', 'etl_audit', 'etl_quarantine'])
    for (const { text } of await database.query<{ text: string }>(
      `SELECT t::text AS text FROM etl.${table} t`,
    ))
      stored.push(text)

  const everything = [
    ...answers,
    ...lines,
    ...api.lines.map((line) => JSON.stringify(line)),
    await meter.text(),
    ...stored,
  ]
  expect(everything.length).toBeGreaterThan(40)
  expect(everything.filter((text) => text.includes(CANARY))).toEqual([])
})
