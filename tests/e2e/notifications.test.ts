import type { Page } from 'playwright-core'
import { afterAll, describe, expect, it } from 'vitest'
import { aReportingPipeline, webhookEnv } from '../support/notifications.js'
import { anHttpReceiver, type HttpReceiver } from '../support/receivers.js'
import { waitFor } from '../support/wait.js'
import { aBrowser } from './support/browser.js'
import { aConsoleStand } from './support/stand.js'

let receiver: HttpReceiver
const stand = aConsoleStand({
  env: async () => {
    receiver = await anHttpReceiver()
    return { ...webhookEnv(receiver.url), VITRINA_NOTIFY_ATTEMPTS: '1' }
  },
})
const browser = aBrowser()
afterAll(() => receiver.close())

const toast = (page: Page, text: string) => page.getByRole('alert').filter({ hasText: text })
const types = () => receiver.posts.map(({ body }) => JSON.parse(body).type)

describe('the notifications', () => {
  it('are configured, tested, delivered, and settled if they cannot be delivered', async () => {
    const { page, complaints } = await browser().visitor()
    await stand().open(page, '/settings/notifications')
    await page.getByText('No rules').waitFor()
    await page.getByText('Everything was delivered.').waitFor()
    const card = page.getByRole('article', { name: 'hook' })
    await card.getByText('not used yet').waitFor()

    await card.getByRole('button', { name: 'Send a test message to hook' }).click()
    await card.getByText('Test message delivered.').waitFor()
    await card.getByText('127.0.0.1 responded with 204').waitFor()
    expect(types()).toEqual(['vitrina.test'])

    await page.getByRole('button', { name: 'Create rule' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByText('Enter a name.').waitFor()
    await dialog.getByRole('textbox', { name: 'Name' }).fill('failures')
    await dialog.getByRole('checkbox', { name: 'run failed' }).uncheck()
    await dialog.getByText('"Recovered" requires "run failed", "delete brake" or "data too old".').waitFor()
    await dialog.getByRole('checkbox', { name: 'run failed' }).check()
    await dialog.getByRole('textbox', { name: 'Pipelines' }).fill('film_*, genre_dim')
    await dialog.getByRole('textbox', { name: 'Grouping delay, seconds' }).fill('0')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await toast(page, 'Rule failures created.').waitFor()
    const row = page.getByRole('row').filter({ hasText: 'failures' })
    await row.getByText('film_*, genre_dim').waitFor()

    const pipeline = await aReportingPipeline(stand().database, 'film_under_test')
    await pipeline.fail()
    await waitFor(async () => types().includes('vitrina.failed'), {
      what: 'the notification',
      timeoutMs: 30_000,
    })
    await card.getByText('delivering').waitFor()

    receiver.answer = (response) => response.writeHead(410).end('revoked')
    await pipeline.fail('BRAKE')
    const dead = page.getByRole('row').filter({ hasText: 'film_under_test' })
    await dead.getByText('127.0.0.1 responded with 410: revoked').waitFor()
    await card.getByText('failing').waitFor()
    await card.getByRole('button', { name: 'Send a test message to hook' }).click()
    await card.getByText('Test message not delivered.').waitFor()
    receiver.answer = (response) => response.writeHead(204).end()
    await dead.getByRole('button', { name: 'Deliver again: film_under_test' }).click()
    await toast(page, 'The notification will be delivered again.').waitFor()
    await page.getByText('Everything was delivered.').waitFor()
    await waitFor(async () => types().filter((type) => type === 'vitrina.failed').length === 3, {
      what: 'the second delivery',
      timeoutMs: 30_000,
    })

    await row.getByRole('button', { name: 'Edit failures' }).click()
    await dialog.getByRole('checkbox', { name: 'Quiet hours' }).check()
    await dialog.getByLabel('From').fill('21:30')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await row.getByText(/quiet 21:30–07:00/).waitFor()
    await row.getByRole('button', { name: 'Disable failures' }).click()
    await row.getByText('disabled', { exact: true }).waitFor()
    await row.getByRole('button', { name: 'Delete failures' }).click()
    await dialog.getByRole('button', { name: 'Delete', exact: true }).click()
    await row.waitFor({ state: 'detached' })
    const { data } = await stand().api.GET('/notifications')
    expect(data!.items).toEqual([])
    expect(complaints).toEqual([])
  })

  it('can be seen and not changed by a viewer', async () => {
    const { token } = await stand().token('viewer')
    const { page, complaints } = await browser().visitor()
    await stand().open(page, '/settings/notifications', token)
    const create = page.getByRole('button', { name: 'Create rule' })
    await create.waitFor()
    expect(await create.getAttribute('aria-description')).toBe(
      'Requires the role admin; your role is viewer.',
    )
    const test = page.getByRole('button', { name: 'Send a test message to hook' })
    expect(await test.getAttribute('aria-description')).toBe(
      'Requires the role operator; your role is viewer.',
    )
    expect(complaints).toEqual([])
  })
})
