import { expect, it } from 'vitest'
import { aPipeline } from '../support/builders.js'
import { aBrowser } from './support/browser.js'
import { aConsoleStand } from './support/stand.js'

const stand = aConsoleStand()
const browser = aBrowser()

it('a filter of digits in the address is kept by every list that has one', async () => {
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

it('typing goes on in the box while the address follows', async () => {
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
