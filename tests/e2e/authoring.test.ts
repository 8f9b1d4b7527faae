import { describe, expect, it } from 'vitest'
import { waitFor } from '../support/wait.js'
import { aBrowser } from './support/browser.js'
import { aConsoleStand } from './support/stand.js'

const stand = aConsoleStand()
const browser = aBrowser()

const FILMS = '/pipelines/11111111-1111-1111-1111-111111111111'

describe('a new pipeline', () => {
  it('underlines what is wrong in the query at its place, with what to do', async () => {
    const { page, complaints } = await browser().visitor()
    await stand().open(page, '/pipelines/new')
    await page.getByRole('textbox', { name: 'Query' }).click()
    await page.keyboard.insertText('SELECT f.id, f.titel FROM content.film_work f')
    const wrong = page.locator('.cm-lintRange-error')
    await wrong.waitFor()
    expect(await wrong.textContent()).toBe('f.titel')
    await page.getByText('a run would not start').first().waitFor()
    await page
      .getByText(/Perhaps you meant to reference the column "f.title"/)
      .first()
      .waitFor()
    expect(complaints).toEqual([])
  })

  it('tells a schedule in words and in times, and where the clocks change', async () => {
    const { page, complaints } = await browser().visitor()
    await stand().open(page, '/pipelines/new')
    await page.getByRole('button', { name: 'Daily at 06:00' }).click()
    await page.getByText('At 06:00, every day').waitFor()
    expect(await page.getByRole('list', { name: 'Next runs, in UTC' }).getByRole('listitem').count()).toBe(5)
    const zone = page.getByRole('combobox', { name: / schedule_timezone$/ })
    await zone.fill('Europe/Ber')
    await page.getByRole('option', { name: 'Europe/Berlin' }).click()
    // Once a month: five of them always have a change of the clocks among them.
    await page.getByLabel('schedule_interval').fill('0 6 1 */2 *')
    await page
      .getByRole('list', { name: 'Next runs, in Europe/Berlin' })
      .getByText(/clocks go/)
      .first()
      .waitFor()
    expect(complaints).toEqual([])
  })

  it('chooses columns for an incremental run, and says what is missing', async () => {
    const { page } = await browser().visitor()
    await stand().open(page, '/pipelines/new')
    await page.getByRole('textbox', { name: 'Query' }).click()
    await page.keyboard.insertText('SELECT id, title, modified FROM content.film_work')
    await page.getByText('a run would start', { exact: true }).first().waitFor()
    await page.getByRole('radio', { name: /by a column that grows/ }).check()
    const key = page.getByRole('combobox', { name: / incremental_key$/ })
    await waitFor(async () => (await key.inputValue()) === 'modified', { what: 'the column to be chosen' })
    await page.getByText('sql_incremental').waitFor()
    await page.getByRole('combobox', { name: / target_table$/ }).fill('etl.stolen')
    await page
      .getByText(/must be one of the allowed targets \(analytics/)
      .first()
      .waitFor()
    const button = page.getByRole('button', { name: 'Review and create' })
    expect(await button.getAttribute('aria-disabled')).toBe('true')
  })

  it('begins as a copy of another, with a target of its own', async () => {
    const { page, complaints } = await browser().visitor()
    await stand().open(page, `${FILMS}/overview`)
    await page.getByRole('button', { name: 'More actions for film_dim_full' }).click()
    await page.getByRole('menuitem', { name: 'Duplicate…' }).click()
    await page.getByRole('heading', { name: 'Duplicate of film_dim_full' }).waitFor()
    expect(await page.getByRole('combobox', { name: / target_table$/ }).inputValue()).toBe(
      'analytics.film_dim_full_copy',
    )
    await page.getByText('a run would start', { exact: true }).first().waitFor()
    await page.getByRole('button', { name: 'Review and create' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Create', exact: true }).click()
    await page.getByRole('heading', { name: 'film_dim_full_copy' }).waitFor()
    await page.waitForURL(/\/overview$/)
    expect(complaints).toEqual([])
  })

  it('reads a table without a query, all of its columns or some, and shows it afterwards', async () => {
    const { page, complaints } = await browser().visitor()
    await stand().open(page, '/pipelines/new')
    const choice = page.getByRole('radiogroup', { name: 'Read from' })
    await choice.getByText('Table').click()
    const table = page.getByRole('combobox', { name: / source_table$/ })
    await table.fill('content.person_film_wrk')
    await page.getByText('Did you mean content.person_film_work?').first().waitFor()
    await table.fill('content.person')
    await page.getByRole('option', { name: 'content.person', exact: true }).click()
    await page.getByText('a run would start', { exact: true }).first().waitFor()
    const columns = page.getByRole('combobox', { name: / source_columns$/ })
    for (const name of ['id', 'full_name']) {
      await columns.fill(name)
      await page.getByRole('option', { name, exact: true }).click()
    }
    expect(await page.getByLabel('Name name').inputValue()).toBe('person_mart')
    // Back and forth: the query is the one that the table stands for.
    await choice.getByText('Query').click()
    await page.getByText('SELECT id, full_name FROM content.person').waitFor()
    await choice.getByText('Table').click()
    await table.fill('content.person')
    await page.getByText('a run would start', { exact: true }).first().waitFor()
    await page.getByRole('button', { name: 'Review and create' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Create', exact: true }).click()
    await page.getByRole('heading', { name: 'person_mart' }).waitFor()
    await page.waitForURL(/\/overview$/)
    const reader = page.getByRole('listitem').filter({ hasText: 'all columns' })
    await reader.getByText('content.person', { exact: true }).waitFor()
    expect(complaints).toEqual([])
  })

  it('is refused a name that is taken, before it is tried', async () => {
    const { page, complaints } = await browser().visitor()
    await stand().open(page, '/pipelines/new')
    await page.getByRole('button', { name: 'Use an example' }).click()
    await page.getByLabel('Name name').fill('film_dim_full')
    await page.getByText('A pipeline named "film_dim_full" already exists.').first().waitFor()
    expect(complaints).toEqual([])
  })

  it('is for reading only on a phone and for somebody who may not create', async () => {
    const phone = await browser().visitor({ viewport: { width: 390, height: 844 } })
    await stand().open(phone.page, `${FILMS}/sql`)
    await phone.page.getByText('Editing needs a wider window; here the query can only be read.').waitFor()
    expect(await phone.page.getByRole('textbox', { name: 'Query' }).getAttribute('aria-readonly')).toBe(
      'true',
    )
    expect(await phone.page.evaluate('document.documentElement.scrollWidth')).toBe(390)
    const { token } = await stand().token('viewer')
    const viewer = await browser().visitor()
    await stand().open(viewer.page, '/pipelines/new', token)
    await viewer.page.getByText(/Only admin may change it; you are viewer/).waitFor()
    const create = viewer.page.getByRole('button', { name: 'Review and create' })
    expect(await create.getAttribute('aria-disabled')).toBe('true')
    expect([...phone.complaints, ...viewer.complaints]).toEqual([])
  })
})
