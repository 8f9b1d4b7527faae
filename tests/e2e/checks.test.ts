import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { aPipeline } from '../support/builders.js'
import { aBrowser } from './support/browser.js'
import { aConsoleStand } from './support/stand.js'

const stand = aConsoleStand()
const browser = aBrowser()

const field = (page: Page, name: string) => page.getByRole('textbox', { name, exact: true })

async function choose(page: Page, label: string, option: string): Promise<void> {
  await page.getByRole('combobox', { name: label, exact: true }).click()
  await page.getByRole('option', { name: option, exact: true }).click()
}

describe('data checks', () => {
  it('are added in the form, evaluated by a run and on request, and listed for all pipelines', async () => {
    const { id, spec } = await aPipeline(stand().database)
    const { page, complaints } = await browser().visitor()
    await stand().open(page, `/pipelines/${id}/checks`)
    await page.getByText('No checks').waitFor()
    await page.getByRole('link', { name: 'Add checks' }).click()

    await page.getByRole('button', { name: 'Add check' }).click()
    const section = page.getByRole('region', { name: 'Checks' })
    await section.getByRole('textbox', { name: 'Name', exact: true }).fill('low_rating')
    await section.getByRole('combobox', { name: 'Type', exact: true }).click()
    await page.getByRole('option', { name: 'Range', exact: true }).click()
    await section.getByText('is required, or max').waitFor()
    await section.getByRole('combobox', { name: 'Column', exact: true }).click()
    await page.getByRole('option', { name: 'rating', exact: true }).click()
    await field(page, 'Maximum').fill('0')
    await section.getByText('is required, or max').waitFor({ state: 'detached' })
    await choose(page, 'On failure', 'warn')

    await page.getByRole('region', { name: 'Draft' }).getByText('checks').waitFor()
    await page.keyboard.press('Control+s')
    await page.getByRole('dialog').getByRole('button', { name: 'Save as version 2' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })

    await page.getByRole('link', { name: 'Checks', exact: true }).last().click()
    const row = page.getByRole('row').filter({ hasText: 'low_rating' })
    await row.getByText('no result yet').waitFor()
    await stand().api.POST('/pipelines/{id}/run', { params: { path: { id }, query: { wait: '60s' } } })
    await row.getByText('warned', { exact: true }).first().waitFor()
    await row.getByText('rating is greater than 0.').waitFor()
    await row.getByRole('link', { name: 'Run' }).waitFor()

    await page.getByRole('button', { name: 'Run checks' }).click()
    await page.getByText('1 check fails').waitFor()
    await row.getByText('on request').waitFor()

    await stand().open(page, '/checks?status=warned')
    await page.getByRole('link', { name: spec.name }).waitFor()
    await stand().open(page, '/checks?status=error')
    await page.getByText('No check has this result.').waitFor()
    // The form was incomplete for a moment.
    expect(complaints.filter((text) => !text.includes('422'))).toEqual([])
  })
})
