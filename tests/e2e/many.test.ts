import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { aPipeline } from '../support/builders.js'
import { aBrowser } from './support/browser.js'
import { aConsoleStand } from './support/stand.js'

const stand = aConsoleStand({ hasRunner: false })
const browser = aBrowser()

const MANY = 1_000
const LINES = 100_000

/** As many as the API returns at once, including the three of the demo. */
async function manyPipelines(): Promise<void> {
  await stand().database.query(
    `INSERT INTO etl.etl_pipelines (name, source_query, target_table, mode, key_columns)
     SELECT 'many_' || lpad(n::text, 4, '0'), 'SELECT id FROM content.film_work',
            CASE WHEN n % 10 = 0 THEN 'es:many_' ELSE 'analytics.many_' END || n, 'full', ARRAY['id']
       FROM generate_series(1, $1 - (SELECT count(*) FROM etl.etl_pipelines)::integer) n`,
    [MANY],
  )
}

const rows = (page: Page) => page.locator('[role=row][data-row]')

/** Every row that is rendered while the page is scrolled from top to bottom. */
function scrollThrough(page: Page): Promise<string[]> {
  return page.evaluate(`(async () => {
    const scroller = document.getElementById('main')
    const seen = new Set()
    const drawn = () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))
    for (let top = 0; ; top += scroller.clientHeight) {
      scroller.scrollTo({ top })
      await drawn()
      for (const row of document.querySelectorAll('[data-row]')) seen.add(row.dataset.row)
      if (top > scroller.scrollHeight) return [...seen]
    }
  })()`)
}

describe('a thousand pipelines', () => {
  it('are all reachable, and only visible rows are in the page', async () => {
    await manyPipelines()
    const { page, complaints } = await browser().visitor()
    await stand().open(page)
    await page.getByRole('row').filter({ hasText: 'film_dim_full' }).waitFor()
    await page.getByText('1,000 pipelines shown').waitFor()
    expect(await page.getByRole('table').getAttribute('aria-rowcount')).toBe(String(MANY + 1))
    expect(await rows(page).count()).toBeLessThan(60)
    expect(new Set(await scrollThrough(page)).size).toBe(MANY)
    expect(await rows(page).count()).toBeLessThan(60)
    await page.getByRole('row').filter({ hasText: 'many_0997' }).waitFor()

    await page.getByRole('button', { name: 'Sort by Name' }).click()
    await page.waitForURL(/sort=-name/)
    await page.evaluate("document.getElementById('main').scrollTo({ top: 0 })")
    await rows(page).first().filter({ hasText: 'many_0997' }).waitFor()

    await page.getByLabel('Filter by name or target').fill('many_04')
    await page.getByText('100 pipelines shown').waitFor()
    await page.getByRole('combobox', { name: 'Any target' }).selectOption('es:')
    await page.getByText('10 pipelines shown').waitFor()
    expect(new URL(page.url()).searchParams.get('target')).toBe('es:')
    expect(complaints).toEqual([])
  })

  it('can be navigated with the keyboard beyond the rendered rows', async () => {
    await manyPipelines()
    const { page } = await browser().visitor()
    await stand().open(page)
    await page.getByText('1,000 pipelines shown').waitFor()
    for (let n = 0; n < 80; n += 1) await page.keyboard.press('j')
    const focused = page.locator('[role=row][data-active]')
    await focused.filter({ hasText: 'many_' }).waitFor()
    expect(await focused.getAttribute('aria-rowindex')).toBe('81')
    await page.locator('[role=row][data-active]:focus').waitFor()
  })
})

async function aLongLog(): Promise<string> {
  const { id } = await aPipeline(stand().database)
  const [run] = await stand().database.query<{ id: string }>(
    `INSERT INTO etl.etl_runs (pipeline_id, status, requested_at, started_at, finished_at, attempt)
     VALUES ($1, 'SUCCESS', now() - interval '1 h', now() - interval '1 h', now(), 1) RETURNING id`,
    [id],
  )
  await stand().database.query(
    `INSERT INTO etl.etl_run_log (run_id, at, level, message, fields)
     SELECT $1, now() - ($2 - n) * interval '1 ms', CASE WHEN n % 5000 = 0 THEN 'warn' ELSE 'info' END,
            'Line number ' || n || '.', jsonb_build_object('attempt', 1, 'key', 'key-' || n) FROM generate_series(1, $2::integer) n`,
    [run!.id, LINES],
  )
  return run!.id
}

describe('a hundred thousand lines', () => {
  it('are loaded in pages, selectable and searchable as text, searched by the server and downloaded completely', async () => {
    const runId = await aLongLog()
    const { page, complaints } = await browser().visitor()
    await stand().open(page, `/runs/${runId}`)
    const log = page.getByRole('log')
    await log.getByText(`Line number ${LINES}.`).waitFor({ state: 'attached' })
    await page.getByText('1,000 lines, older lines not loaded').waitFor()
    await page.getByRole('button', { name: 'Load older lines' }).click()
    await page.getByText('2,000 lines, older lines not loaded').waitFor()
    expect(await log.locator('[id^=line-]').count()).toBe(2_000)

    // Real text: the browser also selects and finds lines that are out of view.
    const selected = await page.evaluate(`
      getSelection().selectAllChildren(document.querySelector('[role=log]'))
      getSelection().toString()`)
    expect(selected).toContain(`Line number ${LINES - 1_999}.`)
    expect(selected).toContain(`Line number ${LINES}.`)
    await page.evaluate('getSelection().removeAllRanges()')
    const isFound = (text: string) => page.evaluate(`window.find(${JSON.stringify(text)}, true)`)
    expect(await isFound(`Line number ${LINES - 1_500}.`)).toBe(true)

    await page.getByLabel('Search log').fill('KEY-4321 ')
    await page.waitForURL(/q=KEY-4321/)
    await page.getByText('11 lines').waitFor()
    await page.getByLabel('Search log').fill('nothing of the kind')
    await page.getByText('No lines contain “nothing of the kind”.').waitFor()
    await page.getByLabel('Search log').fill('')
    await page.getByText('older lines not loaded').waitFor()
    await page.getByLabel('Search log').blur()
    await page.keyboard.press('e')
    await page.waitForURL(/log=errors/)
    await page.getByText('20 lines').waitFor()

    const [warnings] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download' }).click(),
    ])
    expect(await linesOf(warnings)).toHaveLength(20)
    await page.keyboard.press('e')
    await page.getByText('older lines not loaded').waitFor()
    const [whole] = await Promise.all([
      // Seven megabytes, which a busy machine needs more than Playwright's 30 s for: the test's own limit counts.
      page.waitForEvent('download', { timeout: 0 }),
      page.getByRole('button', { name: 'Download' }).click(),
    ])
    expect(whole.suggestedFilename()).toBe(`run-${runId}.log`)
    const lines = await linesOf(whole)
    expect(lines).toHaveLength(LINES)
    expect(lines[4_999]).toMatch(/^\d{4}-\d\d-\d\dT\S+Z WARN Line number 5000\. \{/)
    expect(complaints).toEqual([])
  })
})

async function linesOf(download: { path(): Promise<string> }): Promise<string[]> {
  return (await readFile(await download.path(), 'utf8')).trimEnd().split('\n')
}
