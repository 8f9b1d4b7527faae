import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { aPipeline } from '../support/builders.js'
import { runEnded } from '../support/runs.js'
import { aBrowser } from './support/browser.js'
import { Line } from './support/line.js'
import { aConsoleStand } from './support/stand.js'

const stand = aConsoleStand()
const browser = aBrowser()

const row = (page: Page, name: string) =>
  page.getByRole('row').filter({ has: page.getByText(name, { exact: true }) })

/** What the browser itself says about requests that nobody answered is no complaint of the page. */
const own = (complaints: readonly string[]) =>
  complaints.filter((text) => !text.startsWith('Failed to load resource: net::ERR_'))

async function aRun(id: string): Promise<string> {
  const params = { path: { id }, query: { wait: '60s' } }
  const { data } = await stand().api.POST('/pipelines/{id}/run', { params })
  return data!.run_id
}

describe('a line that drops', () => {
  it('is told, forbids what cannot be done, and is caught up with: nothing lost, nothing twice', async () => {
    const line = await Line.to(stand().url)
    const { id, spec } = await aPipeline(stand().database, { batchSize: 20 })
    const { page, complaints } = await browser().visitor()
    await stand().open(page, '/pipelines', undefined, line.url)
    await page.locator('[data-live=live]').waitFor()
    await row(page, spec.name).getByText('never ran').waitFor()
    await page.evaluate('window.isSamePage = true')

    line.cut()
    await page.getByText('The server does not answer. What you see is').waitFor()
    await page.locator('[data-live=reconnecting]').waitFor()
    const run = row(page, spec.name).getByRole('button', { name: 'Run', exact: true })
    expect(await run.getAttribute('aria-disabled')).toBe('true')
    expect(await run.getAttribute('aria-description')).toContain('The server does not answer')
    await page.getByLabel('Filter by name or target').fill(spec.name)
    await page.getByRole('alert').getByText('OFFLINE').waitFor()
    for (let n = 0; n < 3; n += 1) await aRun(id)

    line.mend()
    await page.locator('[data-live=live]').waitFor()
    await row(page, spec.name).getByText('succeeded', { exact: true }).waitFor()
    // What could not be read meanwhile is read by itself.
    await page.getByRole('alert').waitFor({ state: 'detached' })
    await row(page, spec.name)
      .getByRole('img', { name: /^Last 3 runs/ })
      .waitFor()
    expect(await run.getAttribute('aria-disabled')).toBe('false')
    expect(await page.evaluate('window.isSamePage')).toBe(true)
    expect(own(complaints)).toEqual([])
  })

  it('is gone on after on the page of a run: every batch once, and the numbers of the server', async () => {
    const line = await Line.to(stand().url)
    const { id, spec } = await aPipeline(stand().database, { batchSize: 5 })
    await aRun(id)
    // Holds the first batch until the page is there and the line is cut.
    const holder = await stand().database.client()
    await holder.query(`BEGIN; LOCK TABLE ${spec.targetTable} IN EXCLUSIVE MODE`)
    const { data } = await stand().api.POST('/pipelines/{id}/run', { params: { path: { id } } })
    const { page, complaints } = await browser().visitor()
    await stand().open(page, `/runs/${data!.run_id}`, undefined, line.url)
    await page.getByText('running', { exact: true }).first().waitFor()
    await page.locator('[data-live=live]').waitFor()

    line.cut()
    await page.locator('[data-live=reconnecting]').waitFor()
    await holder.query('COMMIT')
    await runEnded(stand().database, data!.run_id)

    line.mend()
    await page.getByText('succeeded', { exact: true }).first().waitFor()
    const { data: detail } = await stand().api.GET('/runs/{id}', { params: { path: { id: data!.run_id } } })
    const batches = page.getByRole('region', { name: 'Batches' }).locator('tbody tr')
    await page.getByRole('region', { name: 'Progress' }).getByText(`${detail!.batches} batches`).waitFor()
    const numbers = await batches.locator('th').allTextContents()
    expect(numbers).toEqual(detail!.batch_history.map(({ batch }) => String(batch)))
    await page.getByRole('region', { name: 'Progress' }).getByText(`${detail!.rows_read} read`).waitFor()
    expect(own(complaints)).toEqual([])
  })

  it('moves nothing on the page when it drops and when it is back', async () => {
    const line = await Line.to(stand().url)
    const { page } = await browser().visitor()
    await stand().open(page, '/pipelines', undefined, line.url)
    await page.locator('[data-live=live]').waitFor()
    const first = row(page, 'film_dim_full')
    await first.waitFor()
    const before = await first.boundingBox()
    line.cut()
    await page.getByText('The server does not answer. What you see is').waitFor()
    expect(await first.boundingBox()).toEqual(before)
    line.mend()
    await page.locator('[data-live=live]').waitFor()
    expect(await first.boundingBox()).toEqual(before)
  })

  it('is loaded again when it drops while the page is loading', async () => {
    const { page } = await browser().visitor()
    let isCut = true
    await page.route('**/ui/assets/*.js', (route) => {
      const isAborted = isCut
      isCut = false
      return isAborted ? route.abort() : route.continue()
    })
    await stand().open(page)
    await row(page, 'film_dim_full').waitFor()
  })

  it('is reported when the scripts of the page do not arrive at all', async () => {
    const { page } = await browser().visitor()
    await page.route('**/ui/assets/*.js', (route) => route.abort())
    await page.goto(`${stand().url}/ui/`)
    await page.getByText('The console could not be loaded: the server did not answer.').waitFor()
  })

  it('is noticed when it falls silent without being cut, and says how old the screen is', async () => {
    const line = await Line.to(stand().url)
    const { page } = await browser().visitor()
    await page.clock.install()
    await stand().open(page, '/pipelines', undefined, line.url)
    await page.locator('[data-live=live]').waitFor()
    line.freezeStreams()
    await page.clock.fastForward('00:21')
    await page.locator('[data-live=stale]', { hasText: /stale 2\d/ }).waitFor()
    // Given up and opened again, with a connection that works.
    await page.clock.fastForward('00:05')
    await page.locator('[data-live=live]').waitFor()
  })
})
