import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { aPipeline } from '../support/builders.js'
import { aBrowser } from './support/browser.js'
import { aConsoleStand } from './support/stand.js'

const stand = aConsoleStand()
const browser = aBrowser()

const row = (page: Page, name: string) =>
  page.getByRole('row').filter({ has: page.getByText(name, { exact: true }) })

describe('the list of pipelines', () => {
  it('shows the progress and the result of a run without further requests', async () => {
    const { page, complaints } = await browser().visitor()
    await stand().open(page)
    const line = row(page, 'film_dim_full')
    await line.getByText('never ran').waitFor()
    await page.locator('[data-live=live]').waitFor()
    const requests: string[] = []
    page.on('request', (request) => requests.push(`${request.method()} ${new URL(request.url()).pathname}`))
    const seen = watch(page, 'film_dim_full')
    await line.getByRole('button', { name: 'Run', exact: true }).click()
    await line.getByText('succeeded', { exact: true }).waitFor()
    await line.getByText('+71 rows').waitFor()
    expect(await line.getByRole('img', { name: /^Last run/ }).count()).toBe(1)
    expect((await seen()).some((text) => /queued|running/.test(text))).toBe(true)
    // One click, one request: the rest arrives as events. Heartbeats are not events, so runners are polled.
    expect(requests.filter((each) => each !== 'GET /api/v1/runners')).toEqual([
      'POST /api/v1/pipelines/11111111-1111-1111-1111-111111111111/run',
    ])
    await page
      .locator('[data-announcer]', { hasText: 'film_dim_full succeeded' })
      .waitFor({ state: 'attached' })
    expect(complaints).toEqual([])
  })

  it('shows a failure with its code, and a pipeline created by another user', async () => {
    const { page } = await browser().visitor()
    await stand().open(page)
    const { id, spec } = await aPipeline(stand().database, {
      sourceQuery: 'SELECT nothing FROM content.film_work',
    })
    await row(page, spec.name).waitFor()
    await stand().api.POST('/pipelines/{id}/run', { params: { path: { id } } })
    await row(page, spec.name).getByText('failed', { exact: true }).waitFor()
    const { data } = await stand().api.GET('/pipelines/{id}/runs', { params: { path: { id } } })
    await row(page, spec.name).getByText(data!.items[0]!.error_code!).waitFor()
    expect(await page.title()).toMatch(/^Pipelines · \d+ failing · Vitrina$/)
  })

  it('keeps filter and order in the address', async () => {
    const { page } = await browser().visitor()
    await stand().open(page)
    await row(page, 'film_dim_full').waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('genre')
    await row(page, 'film_dim_full').waitFor({ state: 'detached' })
    expect(new URL(page.url()).search).toBe('?q=genre')
    await page.getByRole('button', { name: 'Sort by Name' }).click()
    await page.waitForURL(/sort=-name/)
    await page.reload()
    await row(page, 'genre_dim_full').waitFor()
    expect(await page.getByRole('row').count()).toBe(2)
    expect(await page.getByRole('columnheader', { name: 'Name' }).getAttribute('aria-sort')).toBe(
      'descending',
    )
  })

  it('filters by tag', async () => {
    const { spec } = await aPipeline(stand().database, { tags: ['nightly'] })
    const { page } = await browser().visitor()
    await stand().open(page)
    await row(page, 'film_dim_full').waitFor()
    await page.getByLabel('Any tag').selectOption('nightly')
    await row(page, 'film_dim_full').waitFor({ state: 'detached' })
    await row(page, spec.name).waitFor()
    expect(new URL(page.url()).searchParams.get('tag')).toBe('nightly')
  })

  it('can be navigated with the keyboard', async () => {
    const { page } = await browser().visitor()
    await stand().open(page)
    await row(page, 'film_dim_full').waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    await page.keyboard.press('k')
    await page.keyboard.press('x')
    await page.getByText('1 selected').waitFor()
    await page.keyboard.press('?')
    await page.getByRole('dialog').getByText('Next row').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/ui\/pipelines\/[0-9a-f-]{36}\/overview$/)
    await page.keyboard.press('g')
    await page.keyboard.press('p')
    await page.waitForURL(/\/ui\/pipelines$/)
  })

  it('finds pages and pipelines by part of their name', async () => {
    const { page } = await browser().visitor()
    await stand().open(page)
    await page.keyboard.press('Control+k')
    await page.getByPlaceholder('Search or jump to…').fill('rating_agg')
    await page.getByRole('dialog').getByText('film_rating_agg_full').first().waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/ui\/pipelines\/22222222-2222-2222-2222-222222222222\/overview$/)
  })

  it('runs several pipelines at once, and reports the result of each', async () => {
    const disabled = await aPipeline(stand().database, { name: 'zz_disabled', enabled: false })
    const { page } = await browser().visitor()
    await stand().open(page)
    await page.getByRole('checkbox', { name: 'Select genre_dim_full' }).check()
    await page.getByRole('checkbox', { name: `Select ${disabled.spec.name}` }).check()
    await page
      .getByRole('region', { name: '2 selected' })
      .getByRole('button', { name: 'Run', exact: true })
      .click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Run 2 pipelines' }).click()
    await dialog.getByText('1 done, 1 failed.').waitFor()
    expect(await dialog.textContent()).toContain('disabled')
    await dialog.getByRole('button', { name: 'Close' }).last().click()
    await row(page, 'genre_dim_full').getByText('succeeded', { exact: true }).waitFor()
  })

  it('shows actions that a role may not take, with the required role', async () => {
    const { token } = await stand().token('viewer')
    const { page } = await browser().visitor()
    await stand().open(page, '/pipelines', token)
    const run = row(page, 'film_dim_full').getByRole('button', { name: 'Run', exact: true })
    expect(await run.getAttribute('aria-disabled')).toBe('true')
    await run.hover()
    await page.getByRole('tooltip', { name: 'Requires the role operator; your role is viewer.' }).waitFor()
    const requests: string[] = []
    page.on('request', (request) => requests.push(request.method()))
    await run.click({ force: true })
    expect(requests.filter((method) => method === 'POST')).toEqual([])
  })

  it('recovers automatically after the connection was lost', async () => {
    const { page, context } = await browser().visitor({ changesContext: true })
    await stand().open(page)
    await page.locator('[data-live=live]').waitFor()
    await context.setOffline(true)
    await page.getByLabel('Filter by name or target').fill('film')
    await page.getByText('The server is not responding. The data on screen is').waitFor()
    await context.setOffline(false)
    await page.getByText('The server is not responding. The data on screen is').waitFor({ state: 'detached' })
    await page.locator('[data-live=live]').waitFor()
  })

  it('fits on a phone', async () => {
    const { page } = await browser().visitor({ viewport: { width: 390, height: 844 } })
    await stand().open(page)
    await row(page, 'film_dim_full').waitFor()
    const width = await page.evaluate('document.documentElement.scrollWidth')
    expect(width).toBe(390)
    expect(
      await row(page, 'film_dim_full').getByRole('button', { name: 'Run', exact: true }).isVisible(),
    ).toBe(true)
  })
})

/** Every text that the row has shown since the call. */
function watch(page: Page, name: string): () => Promise<string[]> {
  const started = page.evaluate(`
    window.seenTexts = []
    new MutationObserver(() => {
      const found = [...document.querySelectorAll('[role=row]')].find((each) => each.innerText.includes('${name}'))
      if (found !== undefined) seenTexts.push(found.innerText)
    }).observe(document.body, { subtree: true, childList: true, characterData: true })`)
  return async () => {
    await started
    return page.evaluate('seenTexts')
  }
}
