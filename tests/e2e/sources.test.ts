import { expect, it } from 'vitest'
import { aBrowser } from './support/browser.js'
import { aCapturedSource } from './support/screens.js'
import { aConsoleStand } from './support/stand.js'

const stand = aConsoleStand()
const browser = aBrowser()

it('shows that no source is captured, then slot, lag, identities and pipelines of one', async () => {
  const { page, complaints } = await browser().visitor()
  await stand().open(page, '/pipelines')
  await page.getByRole('link', { name: 'Sources', exact: true }).click()
  await page.getByText('No sources are captured').waitFor()
  const id = await aCapturedSource(stand())
  const main = page.getByRole('region', { name: 'main', exact: true })
  await main.getByText('failing', { exact: true }).waitFor()
  await main.getByText('160 MiB', { exact: true }).waitFor()
  await main.getByText('20 KiB', { exact: true }).waitFor()
  await main.getByText('vitrina_main_0a1b2c3d').waitFor()
  await main.getByText('The source refuses to capture changes.').waitFor()
  await main.getByText(/The source has removed WAL that the slot needed\./).waitFor()
  const tables = main.getByRole('region', { name: 'Tables' }).getByRole('listitem')
  await tables
    .filter({ hasText: 'content.film_work' })
    .getByText('followed', { exact: false })
    .first()
    .waitFor()
  await tables
    .filter({ hasText: 'content.genre_film_work' })
    .getByText(/REPLICA IDENTITY USING INDEX/)
    .waitFor()
  await main.getByText('4.7 KiB').waitFor()
  await main.getByRole('link', { name: 'captured_stats' }).click()
  await page.waitForURL(new RegExp(`/ui/pipelines/${id}`))
  expect(complaints).toEqual([])
})

it('offers capture wal and live updates when a pipeline is edited, and explains the checkpoint', async () => {
  const { page, complaints } = await browser().visitor()
  const { data } = await stand().api.GET('/pipelines', { params: { query: { q: 'captured_stats' } } })
  const { id } = data!.items[0]!
  await stand().open(page, `/pipelines/${id}/config`)
  const live = page.getByRole('checkbox', { name: 'Live: apply each commit of the source at once' })
  await live.waitFor()
  expect(await live.isChecked()).toBe(true)
  expect(await page.getByRole('checkbox', { name: /Sweep/ }).count()).toBe(0)
  await page.getByRole('radio', { name: /by PostgreSQL row versions/ }).click()
  await live.waitFor({ state: 'detached' })
  await page.getByRole('radio', { name: /write-ahead log/ }).click()
  expect(await live.isChecked()).toBe(false)
  await stand().open(page, `/pipelines/${id}/state`)
  await page.getByText(/Applies the commits of the source since the last run/).waitFor()
  await page.getByText(/position in the write-ahead log/).waitFor()
  expect(complaints).toEqual([])
})
