import { describe, expect, it } from 'vitest'
import { aBrowser } from './support/browser.js'
import { aConsoleStand } from './support/stand.js'

const stand = aConsoleStand({ hasRunner: false })
const browser = aBrowser()

describe('a fleet without a runner', () => {
  it('says why nothing runs', async () => {
    const { page, complaints } = await browser().visitor()
    await stand().open(page, '/')
    await page.getByText('No runner is alive, so nothing will run. Start one:').waitFor()
    const { data } = await stand().api.GET('/pipelines', {})
    const [first] = data!.items
    await stand().api.POST('/pipelines/{id}/run', { params: { path: { id: first!.id } } })
    await page.getByText('1 pipeline waits, and no runner is alive to take it. Start one:').waitFor()
    const queue = page.getByRole('region', { name: 'Queue' }).getByRole('listitem')
    await queue.getByText(/^for .+ · no runner is alive$/).waitFor()
    await queue.getByRole('button', { name: 'Cancel the run' }).click()
    await page.getByText('Nobody waits.').waitFor()
    expect(complaints).toEqual([])
  })

  it('says what its screens are for while there are no pipelines', async () => {
    const { data } = await stand().api.GET('/pipelines', {})
    for (const { id } of data!.items)
      await stand().api.DELETE('/pipelines/{id}', { params: { path: { id } } })
    const { page, complaints } = await browser().visitor()
    await stand().open(page, '/')
    await page.getByRole('heading', { name: 'Nothing to look over yet' }).waitFor()
    await page.getByRole('link', { name: 'Quality', exact: true }).click()
    await page.getByRole('heading', { name: 'No mart to judge yet' }).waitFor()
    await page.getByRole('link', { name: 'Quarantine', exact: true }).click()
    await page.getByRole('heading', { name: 'No row is held' }).waitFor()
    await page.getByRole('link', { name: 'Overview', exact: true }).click()
    await page.getByRole('link', { name: 'New pipeline' }).click()
    await page.waitForURL(/\/ui\/pipelines\/new$/)
    expect(complaints).toEqual([])
  })
})
