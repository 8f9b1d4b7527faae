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

/** The browser logs failed requests itself: those are not errors of the page. */
const own = (complaints: readonly string[]) =>
  complaints.filter((text) => !text.startsWith('Failed to load resource: net::ERR_'))

async function aRun(id: string): Promise<string> {
  const params = { path: { id }, query: { wait: '60s' } }
  const { data } = await stand().api.POST('/pipelines/{id}/run', { params })
  return data!.run_id
}

describe('a connection that drops', () => {
  it('is reported, disables actions, and is caught up after reconnecting: no event is lost or applied twice', async () => {
    const line = await Line.to(stand().url)
    const { id, spec } = await aPipeline(stand().database, { batchSize: 20 })
    const { page, complaints } = await browser().visitor()
    await stand().open(page, '/pipelines', undefined, line.url)
    await page.locator('[data-live=live]').waitFor()
    await row(page, spec.name).getByText('never ran').waitFor()
    await page.evaluate('window.isSamePage = true')

    line.cut()
    await page.getByText('The server is not responding. The data on screen is').waitFor()
    await page.locator('[data-live=reconnecting]').waitFor()
    const run = row(page, spec.name).getByRole('button', { name: 'Run', exact: true })
    expect(await run.getAttribute('aria-disabled')).toBe('true')
    expect(await run.getAttribute('aria-description')).toContain('the server is not responding')
    await page.getByLabel('Filter by name or target').fill(spec.name)
    await page.getByRole('alert').getByText('OFFLINE').waitFor()
    for (let n = 0; n < 3; n += 1) await aRun(id)

    line.restore()
    await page.locator('[data-live=live]').waitFor()
    await row(page, spec.name).getByText('succeeded', { exact: true }).waitFor()
    // Requests that failed in the meantime are repeated automatically.
    await page.getByRole('alert').waitFor({ state: 'detached' })
    await row(page, spec.name)
      .getByRole('img', { name: /^Last 3 runs/ })
      .waitFor()
    expect(await run.getAttribute('aria-disabled')).toBe('false')
    expect(await page.evaluate('window.isSamePage')).toBe(true)
    expect(own(complaints)).toEqual([])
  })

  it('is caught up on the page of a run: every batch once, with the numbers of the server', async () => {
    const line = await Line.to(stand().url)
    const { id, spec } = await aPipeline(stand().database, { batchSize: 5 })
    await aRun(id)
    // Blocks the first batch until the page is open and the connection is cut.
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

    line.restore()
    await page.getByText('succeeded', { exact: true }).first().waitFor()
    const { data: detail } = await stand().api.GET('/runs/{id}', { params: { path: { id: data!.run_id } } })
    const batches = page.getByRole('region', { name: 'Batches' }).locator('tbody tr')
    await page.getByRole('region', { name: 'Progress' }).getByText(`${detail!.batches} batches`).waitFor()
    const numbers = await batches.locator('th').allTextContents()
    expect(numbers).toEqual(detail!.batch_history.map(({ batch }) => String(batch)))
    await page.getByRole('region', { name: 'Progress' }).getByText(`${detail!.rows_read} read`).waitFor()
    expect(own(complaints)).toEqual([])
  })

  it('moves nothing on the page when it drops and when it returns', async () => {
    const line = await Line.to(stand().url)
    const { page } = await browser().visitor()
    await stand().open(page, '/pipelines', undefined, line.url)
    await page.locator('[data-live=live]').waitFor()
    const first = row(page, 'film_dim_full')
    await first.waitFor()
    const before = await first.boundingBox()
    line.cut()
    await page.getByText('The server is not responding. The data on screen is').waitFor()
    expect(await first.boundingBox()).toEqual(before)
    line.restore()
    await page.locator('[data-live=live]').waitFor()
    expect(await first.boundingBox()).toEqual(before)
  })

  it('reloads the page when it drops during loading', async () => {
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

  it('is reported when the scripts of the page cannot be loaded at all', async () => {
    const { page } = await browser().visitor()
    await page.route('**/ui/assets/*.js', (route) => route.abort())
    await page.goto(`${stand().url}/ui/`)
    await page.getByText('Could not load the console: the server is not responding.').waitFor()
  })

  it('is noticed when it hangs without closing, and the age of the data is shown', async () => {
    const line = await Line.to(stand().url)
    const { page } = await browser().visitor()
    await page.clock.install()
    await stand().open(page, '/pipelines', undefined, line.url)
    await page.locator('[data-live=live]').waitFor()
    line.freezeStreams()
    await page.clock.fastForward('00:21')
    await page.locator('[data-live=stale]', { hasText: /stale 2\d/ }).waitFor()
    // The console gives up and reconnects.
    await page.clock.fastForward('00:05')
    await page.locator('[data-live=live]').waitFor()
  })
})
