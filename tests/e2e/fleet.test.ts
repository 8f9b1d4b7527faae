import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { aPipeline } from '../support/builders.js'
import { aBrowser } from './support/browser.js'
import { aConsoleStand } from './support/stand.js'

const stand = aConsoleStand()
const browser = aBrowser()

const FILMS = '11111111-1111-1111-1111-111111111111'
const panel = (page: Page, name: string) => page.getByRole('region', { name, exact: true })
const entry = (page: Page, name: string) =>
  panel(page, 'Needs attention')
    .getByRole('listitem')
    .filter({ has: page.getByText(name, { exact: true }) })
const row = (page: Page, name: string) =>
  page.getByRole('row').filter({ has: page.getByText(name, { exact: true }) })

const run = async (id: string) => {
  const params = { path: { id }, query: { wait: '60s' } }
  return (await stand().api.POST('/pipelines/{id}/run', { params })).data!
}

/** A pipeline whose mart rejects some titles, so that its run quarantines rows. */
async function aPickyPipeline(name: string, refused: number) {
  const table = `analytics.${name}`
  await stand().database.query(
    `CREATE TABLE ${table} (film_id uuid PRIMARY KEY, title text CHECK (title NOT LIKE 'BAD%'))`,
  )
  await stand().database.query(
    `GRANT ALL ON ${table} TO vitrina_writer; GRANT SELECT ON ${table} TO vitrina_meta`,
  )
  return aPipeline(stand().database, {
    name,
    sourceQuery: `SELECT id AS film_id, CASE WHEN row_number() OVER (ORDER BY id) <= ${refused} THEN 'BAD ' ELSE '' END || title AS title FROM content.film_work`,
    targetTable: table,
  })
}

describe('the overview of the fleet', () => {
  it('shows a failure with its first error and hint as it happens, and starts another run', async () => {
    const { page, complaints } = await browser().visitor()
    const { id, spec } = await aPipeline(stand().database, {
      name: 'overview_failing',
      sourceQuery: 'SELECT nothing FROM content.film_work',
    })
    await stand().open(page, '/')
    await page.locator('[data-live=live]').waitFor()
    await run(id)
    const failing = entry(page, spec.name)
    const { data } = await stand().api.GET('/pipelines/{id}/runs', { params: { path: { id } } })
    const [first] = data!.items
    await failing.getByText(first!.error_code!, { exact: true }).waitFor()
    await failing.getByText(first!.error!, { exact: true }).waitFor()
    await failing.getByText(first!.error_hint!).waitFor()
    await page.getByRole('heading', { level: 1, name: /needs? attention/ }).waitFor()
    expect(await page.title()).toMatch(/^Overview · \d+ pipelines? needs? attention · Vitrina$/)
    await failing.getByRole('button', { name: 'Run again' }).click()
    await page.getByText(`${spec.name}: run requested`).waitFor()
    await failing.getByRole('link', { name: 'Open run' }).click()
    await page.waitForURL(/\/ui\/runs\/[0-9a-f-]{36}$/)
    expect(complaints).toEqual([])
  })

  it('shows which pipelines wait, for how long and why, and enables one', async () => {
    const { page, complaints } = await browser().visitor()
    const { id, spec } = await aPipeline(stand().database, { name: 'overview_waiting' })
    // Disabled while queued: no runner claims it, which must not be reported as a lack of runners.
    await stand().database.query(
      "UPDATE etl.etl_pipelines SET status = 'RUN_REQUESTED', enabled = false WHERE id = $1",
      [id],
    )
    await stand().open(page, '/')
    const waiting = panel(page, 'Queue').getByRole('listitem').filter({ hasText: spec.name })
    await waiting.getByText(/^waiting for .+ · disabled: will not start$/).waitFor()
    await page.getByText(/^The queue is empty\. 1 runner is alive/).waitFor()
    await waiting.getByRole('button', { name: 'Enable' }).click()
    await waiting.waitFor({ state: 'detached' })
    expect((await run(id)).run!.status).toBe('SUCCESS')
    expect(complaints).toEqual([])
  })

  it('warns about a stale mart and about a run that read no rows, and links to them', async () => {
    const { page, complaints } = await browser().visitor()
    const stale = await aPipeline(stand().database, { name: 'overview_stale', scheduleInterval: '10m' })
    const empty = await aPipeline(stand().database, { name: 'overview_empty' })
    await stand().database.query(
      `INSERT INTO etl.etl_runs (pipeline_id, status, requested_at, started_at, finished_at, rows_read, rows_written)
       SELECT id, 'SUCCESS', at, at, at, read, read
         FROM (VALUES ($1::uuid, 90, 5), ($2::uuid, 1, 0), ($2, 9, 5), ($2, 10, 5), ($2, 11, 5)) run (id, minutes, read),
              LATERAL (SELECT now() - make_interval(mins => minutes)) moment (at)`,
      [stale.id, empty.id],
    )
    await stand().database.query(
      "UPDATE etl.etl_pipelines SET next_run_at = now() + interval '1 hour' WHERE id = $1",
      [stale.id],
    )
    await stand().open(page, '/')
    await entry(page, 'overview_stale')
      .getByText(/^Last success 1h 3\dm( \d+s)? ago; due every 10m/)
      .waitFor()
    await entry(page, 'overview_empty')
      .getByText('The last run read no rows, unlike most earlier runs.')
      .waitFor()
    await panel(page, 'Next runs').getByRole('link', { name: 'overview_stale' }).waitFor()
    await page
      .getByRole('region', { name: 'Summary' })
      .getByRole('link', { name: /Late or stale/ })
      .click()
    await page.waitForURL(/\/ui\/quality\?show=late$/)
    await row(page, 'overview_stale').getByText('stale', { exact: true }).first().waitFor()
    expect(await row(page, 'overview_empty').count()).toBe(0)
    expect(complaints).toEqual([])
  })

  it('shows paused and disabled pipelines, and enables one', async () => {
    const { page, complaints } = await browser().visitor()
    await aPipeline(stand().database, { name: 'overview_disabled', enabled: false })
    await stand().open(page, '/')
    const resting = panel(page, 'Paused and disabled')
      .getByRole('listitem')
      .filter({ hasText: 'overview_disabled' })
    await resting.getByText('disabled', { exact: true }).waitFor()
    await resting.getByRole('button', { name: 'Enable' }).click()
    await resting.waitFor({ state: 'detached' })
    await panel(page, 'Runners').getByText('alive').waitFor()
    expect(complaints).toEqual([])
  })

  it('sends two requests and opens one event stream', async () => {
    const { page } = await browser().visitor()
    const asked: string[] = []
    page.on('request', (request) => {
      const { pathname } = new URL(request.url())
      if (pathname.startsWith('/api/v1/') && !pathname.endsWith('/session')) asked.push(pathname)
    })
    await stand().open(page, '/')
    await page.locator('[data-live=live]').waitFor()
    await panel(page, 'Runners').getByText('alive').waitFor()
    expect(new Set(asked)).toEqual(
      new Set(['/api/v1/pipelines/overview', '/api/v1/runners', '/api/v1/events']),
    )
  })
})

describe('the quality of the fleet', () => {
  it('compares a mart on request and shows the differences, also to other users', async () => {
    await run(FILMS)
    const { page, complaints } = await browser().visitor()
    await stand().open(page, '/quality')
    const line = row(page, 'film_dim_full')
    await line.getByText('never compared').waitFor()
    const other = await browser().visitor()
    await stand().open(other.page, '/quality')
    await other.page.locator('[data-live=live]').waitFor()
    await line.getByRole('button', { name: /^Compare now/ }).click()
    await line.getByText('equal', { exact: true }).waitFor()
    await page.getByText('film_dim_full: no differences, 71 rows compared').waitFor()
    await stand().database.query(
      'DELETE FROM analytics.film_dim WHERE film_id IN (SELECT film_id FROM analytics.film_dim LIMIT 2)',
    )
    await line.getByRole('button', { name: /^Compare now/ }).click()
    await line.getByText('2 differ', { exact: true }).waitFor()
    await row(other.page, 'film_dim_full').getByText('2 differ', { exact: true }).waitFor()
    await page.getByText('film_dim_full: 2 rows differ: 2 missing').waitFor()
    await line.getByRole('link', { name: 'Quality of film_dim_full' }).click()
    await page.waitForURL(new RegExp(`/ui/pipelines/${FILMS}/quality$`))
    expect([...complaints, ...other.complaints]).toEqual([])
  })

  it('lists the worst first, sorts by a column, and keeps the order in the address', async () => {
    const { page, complaints } = await browser().visitor()
    const { id } = await aPipeline(stand().database, {
      name: 'quality_worst',
      sourceQuery: 'SELECT nothing FROM content.film_work',
      scheduleInterval: '1m',
    })
    await stand().database.query(
      `INSERT INTO etl.etl_runs (pipeline_id, status, requested_at, started_at, finished_at, error_code)
       SELECT $1, status, at, at, at, 'KEY_NULL'
         FROM (VALUES ('SUCCESS', 50), ('FAILED', 40)) run (status, minutes),
              LATERAL (SELECT now() - make_interval(mins => minutes)) moment (at)`,
      [id],
    )
    await stand().database.query(
      "UPDATE etl.etl_pipelines SET next_run_at = now() + interval '1 hour' WHERE id = $1",
      [id],
    )
    await stand().open(page, '/quality')
    await row(page, 'quality_worst').waitFor()
    const names = () => page.locator('[data-row] a[href$="/quality"]:not([aria-label])').allTextContents()
    expect((await names())[0]).toBe('quality_worst')
    await page.getByRole('button', { name: 'Sort by Mart' }).click()
    await page.waitForURL(/sort=name/)
    expect(await names()).toEqual([...(await names())].sort())
    await page.keyboard.press('/')
    await page.keyboard.type('quality_w')
    await page.waitForURL(/q=quality_w/)
    await page.getByText('1 mart shown').waitFor()
    expect(complaints).toEqual([])
  })

  it('is reached by g q, and the overview by g o', async () => {
    const { page } = await browser().visitor()
    await stand().open(page)
    await page.keyboard.press('g')
    await page.keyboard.press('q')
    await page.waitForURL(/\/ui\/quality$/)
    await page.getByRole('columnheader', { name: 'Checks' }).waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('o')
    await page.waitForURL(/\/ui\/$/)
    await panel(page, 'Needs attention').waitFor()
  })
})

describe('the quarantine of the fleet', () => {
  it('shows a row with its values, its reason and its run, next to the list', async () => {
    const { id } = await aPickyPipeline('picky_details', 3)
    const { run_id } = await run(id)
    const { page, complaints } = await browser().visitor()
    await stand().open(page, `/pipelines/${id}/quality`)
    await page.getByRole('link', { name: 'Manage quarantine' }).click()
    await page.waitForURL(new RegExp(`/ui/quarantine\\?pipeline=${id}$`))
    await page.getByText('3 rows', { exact: true }).waitFor()
    const first = page.locator('[data-row]').first()
    const key = (await first.locator('.v-mono').first().textContent())!
    await first.click({ position: { x: 70, y: 12 } })
    const drawer = page.getByRole('dialog')
    await drawer.getByRole('heading', { name: `Row ${key}` }).waitFor()
    await drawer.getByText(/violates check constraint/).waitFor()
    await drawer.getByText('23514').waitFor()
    await drawer.getByRole('row', { name: /^title BAD / }).waitFor()
    expect(new URL(page.url()).searchParams.get('row')).toMatch(/^\d+$/)
    expect(await drawer.getByRole('link', { name: run_id.slice(0, 8) }).getAttribute('href')).toBe(
      `/ui/runs/${run_id}`,
    )
    await page.keyboard.press('Escape')
    await drawer.waitFor({ state: 'detached' })
    expect(complaints).toEqual([])
  })

  it('shows a viewer which rows are held and by what, without their values', async () => {
    const { id } = await aPickyPipeline('picky_withheld', 1)
    await run(id)
    const { token } = await stand().token('viewer')
    const { page, complaints } = await browser().visitor()
    await stand().open(page, `/quarantine?pipeline=${id}`, token)
    await page
      .locator('[data-row]')
      .first()
      .click({ position: { x: 70, y: 12 } })
    const drawer = page.getByRole('dialog')
    const withheld = 'Requires the role operator; your role is viewer.'
    await drawer.getByText('The target rejected the row (SQLSTATE 23514).').waitFor()
    await drawer.getByRole('region', { name: 'Source values' }).getByText(withheld).waitFor()
    await page.goto(`${stand().url}/ui/pipelines/${id}/quality`)
    await panel(page, 'Quarantine').getByRole('cell', { name: withheld, exact: true }).waitFor()
    expect(await page.getByText('BAD ').count()).toBe(0)
    expect(complaints).toEqual([])
  })

  it('discards selected rows after confirmation, and lists them as discarded', async () => {
    const { id } = await aPickyPipeline('picky_discard', 3)
    await run(id)
    const { page, complaints } = await browser().visitor()
    await stand().open(page, `/quarantine?pipeline=${id}`)
    const boxes = page.locator('[data-row]').getByRole('checkbox')
    await boxes.nth(0).check()
    await boxes.nth(1).check()
    await page.getByRole('region', { name: '2 selected' }).getByRole('button', { name: 'Discard…' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText(/^2 rows stay out of the mart/).waitFor()
    await dialog.getByText('2 rows of picky_discard').waitFor()
    expect(await page.locator('[data-row]').count()).toBe(3)
    await dialog.getByRole('button', { name: 'Discard 2 rows' }).click()
    await page.getByText('2 rows discarded').waitFor()
    await page.getByText('1 row', { exact: true }).waitFor()
    await page.goto(`${stand().url}/ui/quarantine?pipeline=${id}&status=discarded`)
    await page.getByText('2 rows', { exact: true }).waitFor()
    expect(complaints).toEqual([])
  })

  it('replays all rows of a pipeline in one run once the cause is fixed', async () => {
    const { id } = await aPickyPipeline('picky_replay', 4)
    await run(id)
    await stand().database.query(
      'ALTER TABLE analytics.picky_replay DROP CONSTRAINT picky_replay_title_check',
    )
    const { page, complaints } = await browser().visitor()
    await stand().open(page, `/quarantine?pipeline=${id}`)
    await page.getByRole('button', { name: 'Replay all 4 rows' }).click()
    await page.getByText('Replay of 4 rows requested').waitFor()
    await page.getByRole('link', { name: 'Run of picky_replay' }).waitFor()
    await page.getByText('No matching rows').waitFor()
    await page.goto(`${stand().url}/ui/quarantine?pipeline=${id}&status=replayed`)
    await page.getByText('4 rows', { exact: true }).waitFor()
    const rows = await stand().database.query("SELECT FROM analytics.picky_replay WHERE title LIKE 'BAD%'")
    expect(rows).toHaveLength(4)
    expect(complaints).toEqual([])
  })

  it('offers new rows instead of moving the rows on screen', async () => {
    const { id } = await aPickyPipeline('picky_new', 1)
    await run(id)
    const { page, complaints } = await browser().visitor()
    await stand().open(page, `/quarantine?pipeline=${id}`)
    await page.getByText('1 row', { exact: true }).waitFor()
    await page.locator('[data-live=live]').waitFor()
    // The row that is already quarantined is updated, not duplicated: only the other one is new.
    await stand().database.query(
      "UPDATE etl.etl_pipelines SET source_query = replace(source_query, '<= 1', '<= 2') WHERE id = $1",
      [id],
    )
    await run(id)
    await page.getByRole('button', { name: 'Show new rows' }).waitFor()
    expect(await page.locator('[data-row]').count()).toBe(1)
    await page.getByRole('button', { name: 'Show new rows' }).click()
    await page.getByText('2 rows', { exact: true }).waitFor()
    expect(complaints).toEqual([])
  })

  it('reports each row that could not be replayed, and the number of those that were', async () => {
    const able = await aPickyPipeline('picky_able', 1)
    const disabled = await aPickyPipeline('picky_disabled', 1)
    await run(able.id)
    await run(disabled.id)
    await stand().api.POST('/pipelines/{id}/disable', { params: { path: { id: disabled.id } } })
    const { page, complaints } = await browser().visitor()
    await stand().open(page, '/quarantine')
    for (const name of ['picky_able', 'picky_disabled'])
      await row(page, name).first().getByRole('checkbox').check()
    await page.getByRole('region', { name: '2 selected' }).getByRole('button', { name: 'Replay' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('1 done, 1 failed.').waitFor()
    await dialog.getByText('the pipeline is disabled; enable it first').waitFor()
    expect(await dialog.getByRole('listitem').textContent()).toContain('picky_disabled')
    expect(complaints).toEqual([])
  })

  it('shows actions that a role may not take, with the required role', async () => {
    const { id } = await aPickyPipeline('picky_viewer', 1)
    await run(id)
    const { token } = await stand().token('viewer')
    const { page } = await browser().visitor()
    await stand().open(page, `/quarantine?pipeline=${id}`, token)
    const discard = page.getByRole('button', { name: 'Discard 1 row…' })
    expect(await discard.getAttribute('aria-description')).toBe(
      'Requires the role operator; your role is viewer.',
    )
    await discard.click({ force: true })
    expect(await page.getByRole('dialog').count()).toBe(0)
  })
})
