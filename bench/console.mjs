/**
 * Responsiveness of the console: a list of 1,000 pipelines with 100,000 runs, a log of 100,000 lines, and the delay from
 * an event to the screen. In a real Chromium, against a real API. Medians of several rounds: `ms` until it is visible,
 * `cpu_ms` the page's own work, which does not depend on the load of the machine, `longest_ms` the longest time the page
 * was unresponsive, `worst_ms` that of the worst round.
 *
 *   npm run build && node bench/console.mjs --rounds 7 --only list
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { chromium } from 'playwright-core'
import { removeEmbedded, startEmbedded } from '../dist/embedded/index.js'
import { migrate } from '../dist/store/migrate.js'
import { grantRoles } from '../dist/store/roles.js'
import { findBrowser, launchOptions } from '../scripts/lib/browser.mjs'

const { values: options } = parseArgs({
  options: { rounds: { type: 'string', default: '7' }, only: { type: 'string' } },
})
const ROUNDS = Number(options.rounds)
const PIPELINES = 1_000
const LINES = 100_000
const TOKEN = 'a-token-for-the-bench'
/** The DevTools session of each page, which reports its processor time. */
const sessions = new WeakMap()

const home = mkdtempSync(join(tmpdir(), 'vitrina-bench-'))
const server = await startEmbedded({ home })
const database = new pg.Client({ connectionString: server.url })
let api = null
let browser = null
try {
  await migrate(server.url)
  await grantRoles({ administratorUrl: server.url, sourceSchemas: [], targetSchemas: ['analytics'] })
  await database.connect()
  const runId = await prepare()
  api = await startApi()
  const found = findBrowser()
  if (found.missing) throw new Error(found.missing)
  browser = await chromium.launch(launchOptions(found.path))
  if (options.only !== 'log') await list()
  if (options.only !== 'list') await log(runId)
} finally {
  await browser?.close()
  if (api !== null) await api.stop()
  await database.end().catch(() => {})
  await server.stop()
  await removeEmbedded(home)
  rmSync(home, { recursive: true, force: true })
}

async function list() {
  report('answer of the overview, 1,000 lines', await overviewAnswers())
  const page = await openPage('/pipelines')
  report('list of 1,000: from data to screen', await listAppears(page))
  report('another 1,000 in their place', await listChanges(page))
  report('sort by another column', await sorting(page))
  report('scroll through all of it', await scrolling(page))
  report('event to screen', await eventsArrive(page))
}

async function log(runId) {
  const page = await openPage(`/runs/${runId}`)
  report('100,000 lines: one more page', await logPages(page))
  report('100,000 lines: a new line comes', await newLine(page, runId))
  report('100,000 lines: search by the server', await logSearch(page))
}

async function prepare() {
  await database.query(
    `INSERT INTO etl.etl_pipelines (name, source_query, target_table, schedule_interval)
     SELECT 'pipeline_' || lpad(n::text, 4, '0'), 'SELECT 1', 'analytics.mart_' || n, '15m' FROM generate_series(1, $1::int) n`,
    [PIPELINES],
  )
  await database.query(
    `INSERT INTO etl.etl_runs (pipeline_id, status, attempt, requested_at, started_at, finished_at, rows_read, rows_written)
     SELECT p.id, CASE WHEN n % 17 = 0 THEN 'FAILED' ELSE 'SUCCESS' END, 1, at, at, at + interval '3 s', 1000 + n, n
       FROM etl.etl_pipelines p, generate_series(1, 100) n, LATERAL (SELECT now() - n * interval '15 min' AS at) moment`,
  )
  const { rows } = await database.query('SELECT id FROM etl.etl_runs ORDER BY requested_at DESC LIMIT 1')
  await database.query(
    `INSERT INTO etl.etl_run_log (run_id, at, level, message, fields)
     SELECT $1, now(), 'info', 'Batch ' || n || ' done.', jsonb_build_object('attempt', 1, 'batch', n, 'rows', 10000, 'duration_ms', 212)
       FROM generate_series(1, $2::int) n`,
    [rows[0].id, LINES],
  )
  await database.query('VACUUM ANALYZE')
  return rows[0].id
}

async function startApi() {
  const child = spawn(process.execPath, [join(import.meta.dirname, '../bin/vitrina.js'), 'api'], {
    cwd: home,
    env: {
      ...{ PATH: process.env.PATH, HOME: process.env.HOME, NO_COLOR: '1', LOG_LEVEL: 'warn' },
      ...{ DATABASE_URL: server.url, VITRINA_PORT: '0', VITRINA_API_TOKEN: TOKEN, API_RATE_LIMIT: '1000000' },
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = new Promise((resolve) => child.once('close', resolve))
  const url = await new Promise((resolve, reject) => {
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (text) => {
      output += text
      const [, found] = /API\s+(http\S+)\/api\/v1/.exec(output) ?? []
      if (found !== undefined) resolve(found)
    })
    void exited.then(() => reject(new Error(`the API ended:\n${output}`)))
  })
  const stop = () => {
    child.kill('SIGTERM')
    return exited
  }
  return { url, stop }
}

function ask(path, init = {}) {
  return fetch(`${api.url}/api/v1${path}`, { ...init, headers: { authorization: `Bearer ${TOKEN}` } })
}

async function openPage(path) {
  const { code } = await (await ask('/session/code', { method: 'POST' })).json()
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, locale: 'en-GB' })
  const page = await context.newPage()
  await page.addInitScript(`
    window.longTasks = []
    new PerformanceObserver((list) => longTasks.push(...list.getEntries().map(({ duration }) => duration)))
      .observe({ type: 'longtask', buffered: true })`)
  await page.goto(`${api.url}/ui${path}#code=${code}`)
  await page.locator('[data-live=live]').waitFor()
  return page
}

async function overviewAnswers() {
  const samples = []
  let bytes = 0
  for (let n = 0; n < ROUNDS * 10; n += 1) {
    const began = performance.now()
    bytes = (await (await ask(`/pipelines/overview?limit=${PIPELINES}`)).text()).length
    samples.push(performance.now() - began)
  }
  return { ms: median(samples), p95_ms: quantile(samples, 0.95), kB: Math.round(bytes / 1000) }
}

/** From the last byte of the response to the first frame with rows. */
async function listAppears(page) {
  const samples = []
  for (let n = 0; n < ROUNDS; n += 1) {
    await page.goto('about:blank')
    await page.goto(`${api.url}/ui/pipelines`, { waitUntil: 'commit' })
    samples.push(
      await page.evaluate(`new Promise((resolve) => {
        const look = () => {
          const answer = performance.getEntriesByType('resource').find(({ name }) => name.includes('/pipelines/overview'))
          if (document.querySelector('[data-row]') === null || answer === undefined) return requestAnimationFrame(look)
          resolve(performance.now() - answer.responseEnd)
        }
        look()
      })`),
    )
  }
  return { ms: median(samples), worst_ms: Math.round(Math.max(...samples)) }
}

/** Every prefix of the name matches all of them, with a new response each time. */
async function listChanges(page) {
  await page.getByText('1,000 pipelines shown').waitFor()
  const samples = []
  for (let n = 1; n <= Math.min(ROUNDS, 9); n += 1) {
    const q = 'pipeline_'.slice(0, n)
    const answered = page.waitForResponse((response) => response.url().includes(`q=${q}&`))
    samples.push(
      await measured(
        page,
        () => page.getByLabel('Filter by name or target').fill(q),
        async () => {
          await (await answered).finished()
          await page.locator('[class*=dimmed]').waitFor({ state: 'detached' })
        },
      ),
    )
  }
  await page.getByLabel('Filter by name or target').fill('')
  await page.waitForURL(/pipelines$/)
  return summary(samples)
}

/** The delay caused by an action: the time until the page has drawn the result, and its longest task. */
async function measured(page, action, until) {
  await page.evaluate('longTasks.length = 0')
  const cpu = await cpuMs(page)
  const began = performance.now()
  await action()
  await until()
  await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))')
  const ms = performance.now() - began
  const worked = (await cpuMs(page)) - cpu
  return { ms, cpu: worked, longest: await page.evaluate('Math.max(0, ...longTasks)') }
}

/** Time that the main thread of the page has used so far. */
async function cpuMs(page) {
  if (!sessions.has(page)) {
    const session = await page.context().newCDPSession(page)
    await session.send('Performance.enable', { timeDomain: 'threadTicks' })
    sessions.set(page, session)
  }
  const { metrics } = await sessions.get(page).send('Performance.getMetrics')
  return metrics.find(({ name }) => name === 'TaskDuration').value * 1000
}

function summary(samples) {
  return {
    ms: median(samples.map(({ ms }) => ms)),
    ...(samples[0].cpu === undefined ? {} : { cpu_ms: median(samples.map(({ cpu }) => cpu)) }),
    longest_ms: median(samples.map(({ longest }) => longest)),
    worst_ms: Math.round(Math.max(...samples.map(({ longest }) => longest))),
  }
}

async function sorting(page) {
  await page.getByText('1,000 pipelines shown').waitFor()
  const samples = []
  for (let n = 0; n < ROUNDS; n += 1) {
    const name = n % 2 === 0 ? 'Last 20 runs' : 'Name'
    const column = page.getByRole('columnheader', { name })
    samples.push(
      await measured(
        page,
        () => column.getByRole('button').click(),
        () => page.locator(`[aria-sort]`, { hasText: name }).waitFor(),
      ),
    )
  }
  return summary(samples)
}

async function scrolling(page) {
  const samples = []
  for (let n = 0; n < ROUNDS; n += 1) {
    await page.evaluate('longTasks.length = 0')
    const cpu = await cpuMs(page)
    const frames = await page.evaluate(`(async () => {
      const main = document.getElementById('main')
      const frames = []
      for (let top = 0, last = performance.now(); top < main.scrollHeight; top += 400) {
        main.scrollTo({ top })
        await new Promise(requestAnimationFrame)
        frames.push(performance.now() - last)
        last = performance.now()
      }
      main.scrollTo({ top: 0 })
      return frames
    })()`)
    const worked = (await cpuMs(page)) - cpu
    samples.push({
      ms: median(frames),
      cpu: worked / frames.length,
      longest: await page.evaluate('Math.max(0, ...longTasks)'),
    })
  }
  const { ms, cpu_ms, ...rest } = summary(samples)
  return { frame_ms: ms, cpu_ms_of_a_frame: cpu_ms, ...rest }
}

async function eventsArrive(page) {
  const samples = []
  for (let n = 1; n <= ROUNDS; n += 1) {
    const name = `pipeline_${String(n).padStart(4, '0')}`
    const began = performance.now()
    await database.query("UPDATE etl.etl_pipelines SET status = 'RUN_REQUESTED' WHERE name = $1", [name])
    await page.locator('[data-row]', { hasText: name }).getByText('queued').waitFor()
    samples.push(performance.now() - began)
  }
  return { ms: median(samples), worst_ms: Math.round(Math.max(...samples)) }
}

/** Queries one element: a search through all lines would dominate the measurement. */
function loaded(page, lines) {
  const foot = page.locator('#run-log [class*=logFoot]', {
    hasText: new RegExp(`^${lines.toLocaleString('en-GB')} lines`),
  })
  return foot.waitFor({ timeout: 60_000 })
}

async function logPages(page) {
  await loaded(page, 1_000)
  const samples = []
  for (let lines = 2_000; lines <= LINES; lines += 1_000)
    samples.push(
      await measured(
        page,
        () => page.locator('#run-log').locator('xpath=./*/*/button').first().click(),
        () => loaded(page, lines),
      ),
    )
  const tenth = Math.floor(samples.length / 10)
  const first = median(samples.slice(0, tenth).map(({ ms }) => ms))
  const last = median(samples.slice(-tenth).map(({ ms }) => ms))
  return { ...summary(samples), last_tenth_to_first: ratio(last, first) }
}

async function newLine(page, runId) {
  const samples = []
  const send = () =>
    database.query('UPDATE etl.etl_runs SET cancel_requested = NOT cancel_requested WHERE id = $1', [runId])
  for (let n = 1; n <= ROUNDS; n += 1) {
    await database.query(
      "INSERT INTO etl.etl_run_log (run_id, at, level, message, fields) VALUES ($1, now(), 'info', 'One more.', '{}')",
      [runId],
    )
    samples.push(await measured(page, send, () => loaded(page, LINES + n)))
  }
  return summary(samples)
}

async function logSearch(page) {
  const samples = []
  for (let n = 1; n <= ROUNDS; n += 1)
    samples.push(
      await measured(
        page,
        () => page.getByLabel('Search log').fill(`Batch ${n * 9_001} done`),
        () =>
          page
            .getByRole('log')
            .getByText(`Batch ${n * 9_001} done.`)
            .waitFor(),
      ),
    )
  return summary(samples)
}

function report(what, figures) {
  console.log(JSON.stringify({ what, ...figures }))
}

function median(samples) {
  return quantile(samples, 0.5)
}

function quantile(samples, share) {
  const sorted = [...samples].sort((a, b) => a - b)
  return Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))])
}

function ratio(a, b) {
  return Number((a / Math.max(1, b)).toFixed(2))
}
