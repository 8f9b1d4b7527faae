import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { aPipeline } from '../support/builders.js'
import { aBrowser } from './support/browser.js'
import { aConsoleStand } from './support/stand.js'

const stand = aConsoleStand()
const browser = aBrowser()

const row = (page: Page, name: string) =>
  page.getByRole('row').filter({ has: page.getByText(name, { exact: true }) })

async function aRun(id: string) {
  const params = { path: { id }, query: { wait: '60s' } }
  const { data } = await stand().api.POST('/pipelines/{id}/run', { params })
  return data!.run_id
}

describe('the list of pipelines', () => {
  it('runs, pauses and opens the menu of the row that has the focus, by key', async () => {
    const { page, complaints } = await browser().visitor()
    await stand().open(page)
    await row(page, 'film_dim_full').getByText('never ran').waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('p')
    await page.getByText('film_dim_full: request failed').waitFor()
    await page.getByText('No run is in progress.').waitFor()
    await page.keyboard.press('r')
    await row(page, 'film_dim_full').getByText('succeeded', { exact: true }).waitFor()
    await page.keyboard.press('.')
    await page.getByRole('menuitem', { name: 'Disable' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('menu').waitFor({ state: 'detached' })
    // With rows selected, the shortcut applies to them.
    await page.keyboard.press('x')
    await page.keyboard.press('j')
    await page.keyboard.press('r')
    await page.getByRole('dialog', { name: 'Run 1 pipeline' }).waitFor()
    expect(complaints).toEqual([])
  })

  it('stores views and density in this browser', async () => {
    const { page } = await browser().visitor()
    await stand().open(page, '/pipelines?q=genre&sort=-name')
    await row(page, 'genre_dim_full').waitFor()
    await page.getByRole('button', { name: 'Saved views' }).click()
    await page.getByRole('menuitem', { name: 'Save view' }).click()
    await page.getByLabel('View name').fill('Genres')
    await page.getByRole('dialog').getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('button', { name: 'Saved view: Genres' }).click()
    await page.getByRole('menuitem', { name: 'All pipelines' }).click()
    await row(page, 'film_dim_full').waitFor()
    expect(new URL(page.url()).search).toBe('')
    const height = async () => (await row(page, 'film_dim_full').boundingBox())!.height
    const before = await height()
    await page.getByRole('button', { name: 'Compact rows' }).click()
    expect(await height()).toBeLessThan(before)
    await page.reload()
    await row(page, 'film_dim_full').waitFor()
    expect(await height()).toBeLessThan(before)
    await page.getByRole('button', { name: 'Saved views' }).click()
    await page.getByRole('menuitem', { name: 'Genres' }).click()
    await row(page, 'film_dim_full').waitFor({ state: 'detached' })
    expect(new URL(page.url()).search).toBe('?q=genre&sort=-name')
    // The search box follows the address.
    expect(await page.getByLabel('Filter by name or target').inputValue()).toBe('genre')
    await page.getByRole('button', { name: 'Saved view: Genres' }).click()
    await page.getByRole('menuitem', { name: 'Delete Genres' }).click()
    await page.getByRole('button', { name: 'Saved views' }).waitFor()
  })

  it('does not overwrite the search box while a user types slowly', async () => {
    const { page } = await browser().visitor()
    await stand().open(page)
    await row(page, 'film_dim_full').waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('g')
    await page.waitForURL(/q=g$/)
    await page.keyboard.type('enre')
    await page.waitForURL(/q=genre$/)
    expect(await page.evaluate('document.activeElement.value')).toBe('genre')
  })

  it('shows when a pipeline runs next as soon as that is known', async () => {
    const { page } = await browser().visitor()
    await stand().open(page)
    await page.locator('[data-live=live]').waitFor()
    await row(page, 'film_rating_agg_full').getByText('on request').waitFor()
    const id = '22222222-2222-2222-2222-222222222222'
    await stand().api.PATCH('/pipelines/{id}', {
      params: { path: { id }, query: { take_over: true } },
      body: { schedule_interval: '0 6 * * *' },
    })
    await row(page, 'film_rating_agg_full').getByText('06:00').waitFor()
  })
})

describe('the list of runs', () => {
  it('is filtered by several statuses and a time range, which the address keeps', async () => {
    const good = await aPipeline(stand().database)
    const bad = await aPipeline(stand().database, { sourceQuery: 'SELECT nothing FROM content.film_work' })
    const runs = { good: await aRun(good.id), bad: await aRun(bad.id) }
    await stand().database.query(
      "UPDATE etl.etl_runs SET requested_at = '2026-01-05T10:30:00Z' WHERE id = $1",
      [runs.good],
    )
    const { page, complaints } = await browser().visitor()
    await stand().open(page, '/runs?status=succeeded,failed')
    await row(page, good.spec.name).waitFor()
    await row(page, bad.spec.name).waitFor()
    expect(await page.title()).toContain('Runs · Succeeded · Failed')

    await page.getByRole('combobox', { name: 'Any time' }).click()
    await page.getByRole('option', { name: 'Last 24 hours' }).click()
    await row(page, good.spec.name).waitFor({ state: 'detached' })
    await page.getByRole('combobox', { name: 'Any time' }).click()
    await page.getByRole('option', { name: 'Custom range' }).click()
    await page.getByLabel('Requested from').fill('2026-01-05T10:00')
    await page.getByLabel('Requested before').fill('2026-01-05T11:00')
    await row(page, bad.spec.name).waitFor({ state: 'detached' })
    await row(page, good.spec.name).waitFor()
    expect(Object.fromEntries(new URL(page.url()).searchParams)).toMatchObject({
      range: 'custom',
      since: '2026-01-05T10:00:00.000Z',
      until: '2026-01-05T11:00:00.000Z',
    })
    await page.reload()
    await row(page, good.spec.name).waitFor()
    expect(await page.getByLabel('Requested before').inputValue()).toBe('2026-01-05T11:00')
    expect(complaints).toEqual([])
  })
})

describe('every list with a filter', () => {
  it('keeps a filter of digits in the address', async () => {
    const { page, complaints } = await browser().visitor()
    await aPipeline(stand().database, { name: 'mart_123' })
    await aPipeline(stand().database, { name: 'mart_456' })
    for (const list of ['quality', 'pipelines']) {
      await stand().open(page, `/${list}?q=123`)
      await page.getByText('mart_123', { exact: true }).first().waitFor()
      expect(await page.getByRole('searchbox').first().inputValue()).toBe('123')
      expect(await page.getByText('mart_456', { exact: true }).count()).toBe(0)
      expect(new URL(page.url()).search).toBe('?q=123')
    }
    expect(complaints).toEqual([])
  })

  it('keeps the focus in the search box while the address follows the input', async () => {
    const { page, complaints } = await browser().visitor()
    await aPipeline(stand().database, { name: 'typed_123' })
    for (const [list, field] of [
      ['quality', 'q'],
      ['pipelines', 'q'],
      ['settings/audit', 'who'],
    ]) {
      await stand().open(page, `/${list}`)
      await page.getByRole('searchbox').first().click()
      for (const typed of ['1', '12', '123']) {
        await page.keyboard.type(typed.at(-1)!)
        await page.waitForURL(new RegExp(`[?&]${field}=${typed}$`))
      }
      expect(await page.getByRole('searchbox').first().inputValue()).toBe('123')
    }
    expect(complaints).toEqual([])
  })
})
