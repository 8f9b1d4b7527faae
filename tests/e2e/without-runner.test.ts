import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { aPipeline } from '../support/builders.js'
import { aBrowser } from './support/browser.js'
import { tooWideForAPhone } from './support/phone.js'
import { aConsoleStand } from './support/stand.js'

/** Tests that need a server but no runner share one server: starting one takes longer than most of these tests. */
const stand = aConsoleStand({ hasRunner: false })
const browser = aBrowser()

const ASSETS = fileURLToPath(new URL('../../console/dist/assets', import.meta.url))
const BUDGET = 250_000

const YAML = `apiVersion: vitrina/v1
name: titles_from_yaml
source_query: SELECT id, title FROM content.film_work
target_table: analytics.titles_from_yaml
key_columns: [id]
---
pipelines:
  - name: film_dim_full
    description: changed by an import
  - name: genre_dim_full
    batch_size: many
`

describe('the first load', () => {
  it('needs at most 250 kB of compressed script', async () => {
    const { page } = await browser().visitor()
    const scripts = new Set<string>()
    page.on('response', (response) => {
      const [, file] = /\/ui\/assets\/([^/]+\.js)$/.exec(new URL(response.url()).pathname) ?? []
      if (file !== undefined) scripts.add(file)
    })
    await stand().open(page)
    await page.getByText('film_dim_full').waitFor()
    const bytes = [...scripts].map((file) => gzipSync(readFileSync(join(ASSETS, file))).length)
    expect(bytes.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(BUDGET)
  })

  it('loads no editor, no chart and no graph', async () => {
    const names = readdirSync(ASSETS).filter((file) => file.endsWith('.js'))
    const html = readFileSync(join(ASSETS, '../index.html'), 'utf8')
    for (const name of names.filter((file) => /Editor|Chart|Graph|Palette/.test(file)))
      expect(html).not.toContain(name)
  })

  it('has no script and no style inside the page', () => {
    const html = readFileSync(join(ASSETS, '../index.html'), 'utf8')
    expect(html).not.toMatch(/<script(?![^>]*\ssrc=)/)
    expect(html).not.toContain('<style')
  })
})

describe('the import', () => {
  it('plans the pipelines of a YAML file, and saves those that the server accepts', async () => {
    const { page, complaints } = await browser().visitor()
    await stand().open(page)
    await page.getByRole('link', { name: 'Import YAML' }).click()
    const choose = page.locator('input[type=file]')
    const file = (text: string) => ({ name: 'p.yaml', mimeType: 'text/yaml', buffer: Buffer.from(text) })
    await choose.setInputFiles(file('name: broken\nsource_query_file: a.sql\n'))
    await page.getByText('Line 1: source_query_file refers to another file.').waitFor()
    expect(await page.getByRole('button', { name: 'Plan' }).isDisabled()).toBe(true)

    await choose.setInputFiles(file(YAML))
    await page.getByRole('button', { name: 'Plan' }).click()
    const entry = (name: string) => page.getByRole('listitem', { name })
    await entry('titles_from_yaml').getByText('new', { exact: true }).waitFor()
    await entry('film_dim_full').getByText('changed by an import').waitFor()
    await entry('genre_dim_full').getByText('rejected', { exact: true }).waitFor()
    const names = async () => {
      const { data } = await stand().api.GET('/pipelines', { params: { query: { limit: 50 } } })
      return data!.items.map(({ name, description }) => `${name}: ${description}`)
    }
    expect((await names()).join()).not.toMatch(/titles_from_yaml|changed by an import/)

    await page.getByRole('button', { name: 'Apply 2 changes' }).click()
    await entry('titles_from_yaml').getByText('saved', { exact: true }).waitFor()
    await entry('film_dim_full').getByText('saved', { exact: true }).waitFor()
    expect(await names()).toEqual(
      expect.arrayContaining(['titles_from_yaml: ', 'film_dim_full: changed by an import']),
    )
    expect(await tooWideForAPhone(page)).toEqual([])
    // The browser logs the rejected plan itself, once.
    expect(complaints).toEqual([expect.stringContaining('422')])
  })
})

describe('a fleet without a runner', () => {
  it('explains why nothing runs', async () => {
    const { page, complaints } = await browser().visitor()
    await stand().open(page, '/')
    await page.getByText('No runner is alive. Start one:').waitFor()
    const { data } = await stand().api.GET('/pipelines', {})
    const [first] = data!.items
    await stand().api.POST('/pipelines/{id}/run', { params: { path: { id: first!.id } } })
    await page.getByText('1 pipeline is queued, but no runner is alive. Start one:').waitFor()
    const queue = page.getByRole('region', { name: 'Queue' }).getByRole('listitem')
    await queue.getByText(/^waiting for .+ · no runner alive$/).waitFor()
    await queue.getByRole('button', { name: 'Cancel run' }).click()
    await page.getByText('The queue is empty.').waitFor()
    expect(complaints).toEqual([])
  })
})

// Deletes every pipeline: later tests create their own.
describe('a fleet without a pipeline', () => {
  it('explains what its screens are for', async () => {
    const { data } = await stand().api.GET('/pipelines', {})
    for (const { id } of data!.items)
      await stand().api.DELETE('/pipelines/{id}', { params: { path: { id } } })
    const { page, complaints } = await browser().visitor()
    await stand().open(page, '/')
    await page.getByRole('heading', { name: 'No pipelines yet' }).waitFor()
    await page.getByRole('link', { name: 'Quality', exact: true }).click()
    await page.getByRole('heading', { name: 'No marts yet' }).waitFor()
    await page.getByRole('link', { name: 'Quarantine', exact: true }).click()
    await page.getByRole('heading', { name: 'No quarantined rows' }).waitFor()
    await page.getByRole('link', { name: 'Overview', exact: true }).click()
    await page.getByRole('link', { name: 'New pipeline' }).click()
    await page.waitForURL(/\/ui\/pipelines\/new$/)
    expect(complaints).toEqual([])
  })
})

/** A run that is held by a runner according to the database. */
async function anActiveRun() {
  const { database } = stand()
  const { id, spec } = await aPipeline(database)
  for (const status of ['RUN_REQUESTED', 'RUNNING'])
    await database.query('UPDATE etl.etl_pipelines SET status = $2 WHERE id = $1', [id, status])
  const [run] = await database.query<{ id: string }>(
    `UPDATE etl.etl_runs SET status = 'RUNNING', attempt = 1, strategy = 'sql_full', rows_read = 250,
       started_at = clock_timestamp() - interval '30 s' WHERE pipeline_id = $1 RETURNING id`,
    [id],
  )
  return { id, name: spec.name, runId: run!.id }
}

async function aPastRun(pipelineId: string, rows: number): Promise<string> {
  const [run] = await stand().database.query<{ id: string }>(
    `INSERT INTO etl.etl_runs (pipeline_id, status, strategy, requested_at, started_at, finished_at, rows_read, attempt)
     SELECT $1, 'SUCCESS', 'sql_full', at, at, at + interval '1 min', $2, 1
       FROM (SELECT now() - interval '1 h' AS at) RETURNING id`,
    [pipelineId, rows],
  )
  return run!.id
}

describe('an active run', () => {
  it('shows its progress and remaining time when an earlier run gives an estimate', async () => {
    const { id, name, runId } = await anActiveRun()
    await aPastRun(id, 1_000)
    const { page, complaints } = await browser().visitor()
    await stand().open(page, `/runs/${runId}`)
    await page.getByText('~25%', { exact: true }).waitFor()
    const remaining = page.locator('dl div').filter({ has: page.getByText('Remaining', { exact: true }) })
    expect(await remaining.locator('dd').textContent()).toMatch(/^~\d/)
    expect(await page.title()).toBe(`${name} · running 25% · Vitrina`)
    expect(complaints).toEqual([])
  })
})

describe('a line of a log', () => {
  it('has its own address, shows its fields, and contains clickable links', async () => {
    const { id } = await aPipeline(stand().database)
    const runId = await aPastRun(id, 1)
    const lines = await stand().database.query<{ id: number }>(
      `INSERT INTO etl.etl_run_log (run_id, at, level, message, fields)
       SELECT $1, now() + n * interval '1 ms', 'info', 'Line number ' || n || '.', jsonb_build_object('attempt', 1)
         FROM generate_series(1, 2500) n RETURNING id`,
      [runId],
    )
    const [linked] = await stand().database.query<{ id: number }>(
      `UPDATE etl.etl_run_log SET message = 'See https://example.org/runs/7, it has more.',
         fields = '{"refused": [{"id": 7, "why": "too long"}]}' WHERE id = $1 RETURNING id`,
      [lines[1_200]!.id],
    )
    const { page, complaints } = await browser().visitor()
    // Neither among the first thousand lines nor among the last.
    await stand().open(page, `/runs/${runId}?line=${linked!.id}`)
    const line = page.locator(`#line-${linked!.id}`)
    await line.and(page.locator('[data-chosen]')).waitFor()
    expect(await line.boundingBox().then((box) => box!.y > 0 && box!.y < 900)).toBe(true)
    await page.getByText('2,000 lines, older lines not loaded, newer lines not loaded').waitFor()

    expect(await line.getByRole('link', { name: 'https://' }).getAttribute('href')).toBe(
      'https://example.org/runs/7',
    )
    await line.getByRole('button', { name: 'JSON' }).click()
    await line.getByText('"why": "too long"').waitFor()
    await line.getByRole('button', { name: 'JSON' }).click()
    expect(await line.locator('pre').count()).toBe(0)

    const next = page.locator(`#line-${lines[1_201]!.id}`)
    await next.getByRole('link').click()
    await page.waitForURL(new RegExp(`line=${lines[1_201]!.id}`))
    await next.and(page.locator('[data-chosen]')).waitFor()
    expect(await page.locator('[data-chosen]').count()).toBe(1)
    expect(complaints).toEqual([])
  })
})

describe('the freshness of a mart', () => {
  it.each([
    [
      ...['en', 'The data is too old', 'No runner is alive'],
      ...['No runner has sent a heartbeat within the last 15 seconds.', 'Start one with "vitrina runner".'],
    ],
    [
      ...['ru', 'Данные устарели', 'Нет работающих раннеров'],
      ...[
        'За последние 15 секунд не было сигнала ни от одного раннера.',
        'Запустите его командой "vitrina runner".',
      ],
    ],
  ])('that is too old is shown with its cause (%s)', async (language, ...texts) => {
    const { id } = await aPipeline(stand().database, {
      freshness: '1s',
      targetTable: `analytics.old_${language}`,
    })
    await stand().database.query(
      `UPDATE etl.etl_freshness SET data_as_of = now() - interval '1 hour', read_at = now() - interval '1 hour' WHERE pipeline_id = $1`,
      [id],
    )
    const { context, page, complaints } = await browser().visitor()
    await context.addInitScript(`localStorage.setItem('vitrina.preferences', '{"language":"${language}"}')`)
    await stand().open(page, `/pipelines/${id}`)
    for (const text of texts) await page.getByText(text, { exact: true }).waitFor()
    expect(complaints).toEqual([])
  })

  it('is entered in the form, and refused if it is not a duration', async () => {
    const { id } = await aPipeline(stand().database, { targetTable: 'analytics.to_be_fresh' })
    const { page } = await browser().visitor()
    await stand().open(page, `/pipelines/${id}/config`)
    const field = page.getByLabel('freshness', { exact: false }).first()
    await page
      // Visitors of one file share their preferences.
      .getByText(/^(Without a schedule: runs on request|Без расписания: запускается по запросу)/)
      .waitFor()
    await field.fill('soon')
    await page
      .getByText(/must be "live" or a duration/)
      .first()
      .waitFor()
    await field.fill('5m')
    await page
      .getByText(/must be "live" or a duration/)
      .first()
      .waitFor({ state: 'detached' })
    await page.getByText(/so that the data is at most 5m old|отставали не больше чем на 5m/).waitFor()
  })
})
