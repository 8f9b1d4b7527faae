import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { aPipeline } from '../support/builders.js'
import { aBrowser } from './support/browser.js'
import { tooWideForAPhone } from './support/phone.js'
import { aConsoleStand } from './support/stand.js'

const stand = aConsoleStand()
const browser = aBrowser()

async function anEditor(id: string, { hasEvents = true } = {}) {
  const visitor = await browser().visitor()
  // Never answered, so that this browser receives no events.
  if (!hasEvents) await visitor.page.route('**/api/v1/events*', () => {})
  await stand().open(visitor.page, `/pipelines/${id}/config`)
  await visitor.page.getByLabel('batch_size').waitFor()
  return visitor
}

async function edit(page: Page, fields: Readonly<Record<string, string>>): Promise<void> {
  for (const [field, value] of Object.entries(fields)) await page.getByLabel(field).fill(value)
}

async function save(page: Page, version: number): Promise<void> {
  await page.keyboard.press('Control+s')
  await page
    .getByRole('dialog')
    .getByRole('button', { name: `Save as version ${version}` })
    .click()
  await page.getByText(`version ${version}`, { exact: true }).waitFor()
}

const saved = async (id: string) => {
  const { data } = await stand().api.GET('/pipelines/{id}', { params: { path: { id } } })
  return data!
}

describe('two users edit one pipeline', () => {
  it('notice each other: the second resolves conflicts field by field, without losing changes', async () => {
    const { id } = await aPipeline(stand().database, { name: 'edited_by_two' })
    const first = await anEditor(id)
    const second = await anEditor(id)
    await edit(second.page, {
      description: 'text of the second user',
      batch_size: '200',
      quarantine_limit: '7',
    })
    await edit(first.page, { description: 'text of the first user', batch_size: '100', delete_brake: '0.2' })
    await save(first.page, 2)

    const bar = second.page.getByRole('region', { name: 'Draft' })
    await bar.getByText('version 2 was saved in the meantime').waitFor()
    await bar.getByRole('button', { name: 'Compare versions' }).click()
    const dialog = second.page.getByRole('dialog')
    const line = (field: string) => dialog.getByRole('row').filter({ hasText: field }).first()
    await line('batch_size').getByText('conflict: choose one').waitFor()
    await line('quarantine_limit').getByText('changed by you').waitFor()
    await line('delete_brake').getByText('changed by them').waitFor()
    expect(await tooWideForAPhone(second.page)).toEqual([])
    await dialog.getByRole('radio', { name: 'batch_size: Use theirs' }).check()
    await dialog.getByRole('button', { name: 'Save over version 2' }).click()
    await second.page.getByText('version 3', { exact: true }).waitFor()
    expect(await saved(id)).toMatchObject({
      config_version: 3,
      description: 'text of the second user',
      batch_size: 100,
      quarantine_limit: 7,
      delete_brake: 0.2,
    })
    expect(await bar.count()).toBe(0)
    expect([...first.complaints, ...second.complaints]).toEqual([])
  })

  it('see the conflict after a 412 when no event reported it', async () => {
    const { id } = await aPipeline(stand().database, { name: 'edited_without_events' })
    const { page, complaints } = await anEditor(id, { hasEvents: false })
    await edit(page, { description: 'mine' })
    await page.keyboard.press('Control+s')
    const dialog = page.getByRole('dialog')
    const button = dialog.getByRole('button', { name: 'Save as version 2' })
    await dialog.getByText('mine').first().waitFor()
    const path = { path: { id } }
    await stand().api.PATCH('/pipelines/{id}', { params: path, body: { description: 'theirs' } })
    await button.click()
    await dialog.getByRole('alert').getByText('Version 2 was saved in the meantime.').waitFor()
    expect((await saved(id)).description).toBe('theirs')
    await dialog.getByRole('button', { name: 'Compare versions' }).click()
    await dialog.getByRole('radio', { name: 'description: Use mine' }).waitFor()
    await dialog.getByRole('button', { name: 'Save over version 2' }).click()
    await page.getByText('version 3', { exact: true }).waitFor()
    expect((await saved(id)).description).toBe('mine')
    // The browser logs the rejected request itself, once.
    expect(complaints).toEqual([expect.stringContaining('412')])
  })
})

describe('an edit', () => {
  it('survives navigation, and leaving the tab asks for confirmation', async () => {
    const { id } = await aPipeline(stand().database, { name: 'half_written' })
    const { page, complaints } = await anEditor(id)
    await edit(page, { batch_size: '321' })
    await page.getByRole('link', { name: 'Runners' }).click()
    await page.getByRole('heading', { name: 'Runners' }).waitFor()
    await page.goBack()
    await page.getByRole('region', { name: 'Draft' }).getByText('batch_size').waitFor()
    expect(await page.getByLabel('batch_size').inputValue()).toBe('321')
    const asked = page.waitForEvent('dialog')
    const reload = page.reload().catch(() => {})
    const dialog = await asked
    expect(dialog.type()).toBe('beforeunload')
    await dialog.dismiss()
    expect(await page.getByLabel('batch_size').inputValue()).toBe('321')
    await page.getByRole('button', { name: 'Discard changes' }).click()
    await page.getByRole('region', { name: 'Draft' }).waitFor({ state: 'detached' })
    await page.close()
    await reload
    expect(complaints).toEqual([])
  })

  it('of a pipeline managed by a file is saved only after taking it over', async () => {
    const body = {
      name: 'from_a_file',
      source_query: 'SELECT id, name FROM content.genre',
      target_table: 'analytics.from_a_file',
      key_columns: ['id'],
    }
    const { data } = await stand().api.POST('/pipelines', {
      params: { query: { managed_by: 'file' } },
      body,
    })
    const { id } = data!
    const { page, complaints } = await anEditor(id)
    await edit(page, { description: 'changed here' })
    await page.keyboard.press('Control+s')
    const dialog = page.getByRole('dialog')
    const button = dialog.getByRole('button', { name: 'Save and run' })
    await dialog.getByText('changed here').first().waitFor()
    expect(await button.getAttribute('aria-description')).toContain('takeover')
    await dialog.getByRole('checkbox', { name: 'Take over from the file' }).check()
    await button.click()
    await page.waitForURL(/\/ui\/runs\//)
    expect(await saved(id)).toMatchObject({
      managed_by: 'api',
      description: 'changed here',
      config_version: 2,
    })
    expect(complaints).toEqual([])
  })
})
