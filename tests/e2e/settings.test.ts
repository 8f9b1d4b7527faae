import { readFile } from 'node:fs/promises'
import { type AddressInfo, connect, createServer, type Server } from 'node:net'
import type { Page } from 'playwright-core'
import { afterAll, describe, expect, it } from 'vitest'
import { aDatabase } from '../support/database.js'
import { aBrowser } from './support/browser.js'
import { aConsoleStand, TOKEN } from './support/stand.js'

const FILMS = '11111111-1111-1111-1111-111111111111'

/** Another database, behind a port that rejects connections for now. */
let archiveUrl: URL
let archive: Server | null = null
let isArchiveUp = false
const stand = aConsoleStand({
  env: async () => {
    archiveUrl = new URL((await aDatabase({ migrated: false })).url)
    archiveUrl.port = String(await listenForArchive())
    return { VITRINA_CONNECTION_ARCHIVE_URL: archiveUrl.href }
  },
})
const browser = aBrowser()
afterAll(() => archive?.close())

const toast = (page: Page, text: string | RegExp) => page.getByRole('alert').filter({ hasText: text })
const ask = async (token: string) =>
  (await fetch(`${stand().url}/api/v1/pipelines`, { headers: { authorization: `Bearer ${token}` } })).status

describe('the connections', () => {
  it('show which one is unreachable and why, and when it is reachable again', async () => {
    const { page, complaints } = await browser().visitor()
    await stand().open(page, '/settings/connections')
    const main = page.getByRole('article', { name: 'Main database' })
    await main.getByText('reachable', { exact: true }).waitFor()
    await main.getByText('vitrina_meta, vitrina_reader').waitFor()
    await main.getByText('Used by 3 pipelines').click()
    await main.getByRole('link', { name: 'film_dim_full' }).waitFor()
    const down = page.getByRole('article', { name: 'archive' })
    await down.getByText('unreachable', { exact: true }).waitFor()
    await down.getByText('DATABASE_UNAVAILABLE').waitFor()
    await down.getByText(archiveUrl.host + archiveUrl.pathname, { exact: true }).waitFor()
    await page.getByText('1 of 2 connections is unreachable').waitFor()
    isArchiveUp = true
    await page.getByRole('button', { name: 'Check again' }).click()
    await down.getByText('reachable', { exact: true }).waitFor()
    await page.getByText('All 2 connections are reachable').waitFor()
    expect(complaints).toEqual([])
  })
})

describe('tokens', () => {
  it('are created, shown once, used, rotated and revoked', async () => {
    const { page, complaints } = await browser().visitor()
    await stand().open(page, '/settings/tokens')
    await page.getByRole('button', { name: 'Create token' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Create', exact: true }).click()
    await dialog.getByText('Enter a name.').waitFor()
    await dialog.getByRole('textbox', { name: 'Name' }).fill('airflow')
    await dialog.getByRole('radio', { name: 'operator' }).check()
    await dialog.getByRole('button', { name: 'Create', exact: true }).click()
    await dialog.getByText('Enter your token.').waitFor()
    await dialog.getByLabel('Your own token').fill('nonsense')
    await dialog.getByRole('button', { name: 'Create', exact: true }).click()
    await dialog.getByText('The token is invalid.').waitFor()
    await dialog.getByLabel('Your own token').fill(TOKEN)
    await dialog.getByRole('button', { name: 'Create', exact: true }).click()
    const first = await shownValue(page)
    expect(await dialog.getByLabel('Example', { exact: true }).inputValue()).toBe(
      `curl -H "Authorization: Bearer ${first}" ${stand().url}/api/v1/pipelines`,
    )
    await page.keyboard.press('Escape')
    await dialog.getByRole('button', { name: 'Done' }).click()
    await dialog.waitFor({ state: 'detached' })
    expect(await page.content()).not.toContain(first)
    expect(await ask(first)).toBe(200)

    const row = page.getByRole('row').filter({ hasText: 'airflow' })
    await row.getByText('operator').waitFor()
    await row.getByRole('button', { name: 'Rotate airflow' }).click()
    await dialog.getByLabel('Your own token').fill(TOKEN)
    await dialog.getByRole('button', { name: 'Rotate', exact: true }).click()
    const second = await shownValue(page)
    expect(second).not.toBe(first)
    await dialog.getByRole('button', { name: 'Done' }).click()
    expect([await ask(first), await ask(second)]).toEqual([401, 200])

    await row.getByText('from 127.0.0.1').waitFor()
    await row.getByRole('button', { name: 'Revoke airflow' }).click()
    await dialog.getByText(/^Last used .* from 127\.0\.0\.1\.$/).waitFor()
    await dialog.getByRole('button', { name: 'Revoke', exact: true }).click()
    await row.waitFor({ state: 'detached' })
    expect(await ask(second)).toBe(401)
    await page.getByRole('link', { name: 'Show 1 inactive token' }).click()
    await row.getByText('revoked').waitFor()
    const rotate = row.getByRole('button', { name: 'Rotate airflow' })
    expect(await rotate.getAttribute('aria-description')).toBe('Already expired or revoked.')
    expect(complaints).toEqual([])
  })

  it('show a warning before they expire, and keep both values when rotated with a grace period', async () => {
    const soon = new Date(Date.now() + 3 * 86_400_000).toISOString()
    const { data } = await stand().api.POST('/tokens', {
      body: { name: 'ci-apply', role: 'viewer', expires_at: soon },
    })
    const { page } = await browser().visitor()
    await stand().open(page, '/settings/tokens')
    await page.getByText('1 token expires within two weeks').waitFor()
    const row = page.getByRole('row').filter({ hasText: 'ci-apply' })
    await row.getByText('expires soon').waitFor()
    await row.getByRole('button', { name: 'Rotate ci-apply' }).click()
    await choose(page, 'Old value remains valid', 'for one hour')
    await choose(page, 'Expires', 'in 90 days')
    await page.getByLabel('Your own token').fill(TOKEN)
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate', exact: true }).click()
    const next = await shownValue(page)
    expect([await ask(data!.token), await ask(next)]).toEqual([200, 200])
    await page.getByRole('button', { name: 'Done' }).click()
    await row.getByText('old value valid until').waitFor()
    await row.getByText('expires soon').waitFor({ state: 'detached' })
  })

  it('keep a browser signed in that rotates its own token, and sign it out when it revokes it', async () => {
    const own = await stand().token('admin')
    const { page } = await browser().visitor()
    await stand().open(page, '/settings/tokens', own.token)
    const row = page.getByRole('row').filter({ hasText: 'current session' })
    await row.getByRole('button', { name: 'Rotate admin of a test' }).click()
    await page.getByLabel('Your own token').fill(own.token)
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate', exact: true }).click()
    const next = await shownValue(page)
    await page.getByRole('button', { name: 'Done' }).click()
    expect([await ask(own.token), await ask(next)]).toEqual([401, 200])
    await page.reload()
    await row.getByRole('button', { name: 'Revoke admin of a test' }).click()
    await page.getByText('You are signed in with this token: you will be signed out.').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke', exact: true }).click()
    await page.getByLabel('Token').waitFor()
  })
})

describe('the sessions', () => {
  it('list the browsers that are signed in, and end one by one or all at once', async () => {
    const { token } = await stand().token('viewer')
    const [desk, phone, tablet] = [
      await browser().visitor(),
      await browser().visitor(),
      await browser().visitor(),
    ]
    for (const { page } of [phone, tablet]) await stand().open(page, '/pipelines', token)
    await stand().open(desk.page, '/pipelines', token)
    await desk.page.getByRole('button', { name: /^Account/ }).click()
    await desk.page.getByRole('menuitem', { name: 'Active sessions' }).click()
    const rows = desk.page.getByRole('row').filter({ hasText: 'viewer of a test' })
    const dialog = desk.page.getByRole('dialog')
    await rows.nth(2).waitFor()
    expect(await rows.count()).toBe(3)
    await rows.nth(0).getByText('this browser').waitFor()
    await rows.nth(1).getByText('from 127.0.0.1').waitFor()
    await rows
      .nth(1)
      .getByRole('button', { name: /^End the session/ })
      .click()
    await dialog.getByRole('button', { name: 'End session' }).click()
    await rows.nth(2).waitFor({ state: 'detached' })
    await tablet.page.reload()
    await tablet.page.getByLabel('Token').waitFor()
    await desk.page.getByRole('button', { name: 'End all others' }).click()
    await dialog.getByRole('button', { name: 'End sessions' }).click()
    await toast(desk.page, '1 session ended.').waitFor()
    await phone.page.reload()
    await phone.page.getByLabel('Token').waitFor()
    await rows.nth(1).waitFor({ state: 'detached' })
    await rows.nth(0).getByRole('button', { name: /^End/ }).click()
    await dialog.getByText('you will be signed out').waitFor()
    await dialog.getByRole('button', { name: 'End session' }).click()
    await desk.page.getByLabel('Token').waitFor()
    expect(desk.complaints).toEqual([])
  })

  it('of everyone are for administrators', async () => {
    const viewer = await stand().token('viewer')
    const [own, other] = [await browser().visitor(), await browser().visitor()]
    await stand().open(other.page, '/settings/sessions?of=everyone', viewer.token)
    await other.page.getByText('this browser').waitFor()
    expect(await other.page.getByText('Everyone').count()).toBe(0)
    await stand().open(own.page, '/settings/sessions')
    await own.page.getByText('Everyone').click()
    await own.page.waitForURL(/of=everyone/)
    await own.page.getByRole('row').filter({ hasText: 'viewer of a test' }).first().waitFor()
  })
})

describe('the audit', () => {
  it('is linked from the notification of an action, with the changes and a link to the entry', async () => {
    const { page, complaints } = await browser().visitor()
    await stand().open(page, `/pipelines/${FILMS}/overview`)
    await page.getByRole('button', { name: 'Disable' }).click()
    await toast(page, 'film_dim_full').getByRole('link', { name: 'View in audit log' }).click()
    await page.waitForURL(/\/ui\/settings\/audit\?request=/)
    await page.getByText('1 entry shown').waitFor()
    await page.getByText('pipeline.disable').waitFor()
    const details = page.getByRole('region', { name: 'Details: pipeline.disable' })
    await details.getByRole('row', { name: /enabled − ?true \+ ?false/ }).waitFor()
    const { data } = await stand().api.GET('/audit', { params: { query: { action: 'pipeline.disable' } } })
    await page.goto(`${stand().url}/ui/settings/audit?entry=${data!.items[0]!.id}`)
    await page.getByText(`Showing entry ${data!.items[0]!.id} only.`).waitFor()
    await details.waitFor()
    await page.getByRole('link', { name: 'Show all' }).click()
    await page
      .getByRole('textbox', { name: 'User' })
      .or(page.getByRole('searchbox', { name: 'User' }))
      .waitFor()
    await stand().api.POST('/pipelines/{id}/enable', { params: { path: { id: FILMS } } })
    expect(complaints).toEqual([])
  })

  it('is filtered by the server, keeps its filter in the address, and comes as CSV', async () => {
    const shift = await stand().api.POST('/tokens', { body: { name: 'Night Shift', role: 'operator' } })
    const headers = { authorization: `Bearer ${shift.data!.token}` }
    for (const action of ['disable', 'enable'])
      await fetch(`${stand().url}/api/v1/pipelines/${FILMS}/${action}`, { method: 'POST', headers })
    const { page, complaints } = await browser().visitor()
    await stand().open(page, '/settings/audit')
    const list = page.getByRole('list', { name: 'Audit log' })
    await list.getByText('token created').first().waitFor()
    await page.getByRole('searchbox', { name: 'User' }).fill('night')
    await page.getByText('2 entries shown').waitFor()
    await choose(page, 'Action', 'pipeline enabled')
    await page.getByText('1 entry shown').waitFor()
    await choose(page, 'Pipeline', 'film_dim_full')
    await page.waitForURL(`**/settings/audit?who=night&what=pipeline.enable&pipeline=${FILMS}`)
    await page.reload()
    await page.getByText('1 entry shown').waitFor()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'CSV' }).click(),
    ])
    const lines = (await readFile(await download.path(), 'utf8')).trim().split('\r\n')
    expect([download.suggestedFilename(), lines.length]).toEqual(['vitrina-audit.csv', 2])
    expect(lines[1]).toContain(',pipeline.enable,pipeline,')
    await choose(page, 'Action', 'token revoked')
    await page.getByText('No matching entries').waitFor()
    await page.getByRole('link', { name: 'Clear filters' }).click()
    await list.getByText('token created').first().waitFor()
    expect(complaints).toEqual([])
  })

  it('explains that a request without an entry changed nothing', async () => {
    const { page } = await browser().visitor()
    await stand().open(page, '/settings/audit?request=nothing-of-the-kind')
    await page.getByText('No changes', { exact: true }).waitFor()
  })
})

describe('the server information', () => {
  it('shows versions, migrations, settings and licences', async () => {
    const { page, complaints } = await browser().visitor()
    await stand().open(page, '/settings/about')
    await page.getByText('ready', { exact: true }).waitFor()
    await page.getByText(/^\d+ migrations applied$/).click()
    await page.getByText('0001_meta_store').waitFor()
    const setting = (name: string) => page.getByRole('row').filter({ hasText: name })
    await setting('RUNNER_POLL_INTERVAL_MS').getByText('environment').waitFor()
    await setting('VITRINA_API_TOKEN').getByText('set, hidden').waitFor()
    await page.getByRole('searchbox', { name: 'Filter settings' }).fill('lease')
    await setting('RUNNER_POLL_INTERVAL_MS').waitFor({ state: 'detached' })
    await setting('RUNNER_LEASE_SECONDS').getByText('default').waitFor()
    await page.getByText('Third-party licences').click()
    for (const shipped of ['react-dom', 'fastify'])
      await page.getByText(new RegExp(`^${shipped} [\\d.]+ · MIT$`)).waitFor()
    expect(complaints).toEqual([])
  })
})

describe('a user without the role', () => {
  it('sees the required role, and the page requests nothing that is forbidden', async () => {
    const { token } = await stand().token('viewer')
    const { page, complaints } = await browser().visitor()
    await stand().open(page, '/settings/connections', token)
    await page.getByRole('article', { name: 'Main database' }).waitFor()
    for (const [tab, title] of [
      ['Tokens', 'Tokens are available to administrators only'],
      ['Audit', 'The audit log is available to administrators only'],
      ['About', 'Effective settings are available to administrators only'],
    ] as const) {
      await page.getByRole('link', { name: tab, exact: true }).click()
      await page.getByText(title).first().waitFor()
      await page.getByText('Requires the role admin; your role is viewer.').waitFor()
    }
    expect(complaints).toEqual([])
  })

  it('is redirected from the former page of users to the tokens', async () => {
    const { page } = await browser().visitor()
    await stand().open(page, '/settings/users')
    await page.waitForURL(/\/ui\/settings\/tokens/)
  })
})

describe('on a phone', () => {
  it('no settings page scrolls horizontally', async () => {
    await stand().token('viewer')
    const { page } = await browser().visitor({ viewport: { width: 390, height: 844 } })
    await stand().open(page, '/settings/connections')
    for (const [tab, content] of [
      ['Connections', page.getByRole('button', { name: 'Check again' })],
      ['Notifications', page.getByText('No channels')],
      ['Tokens', page.getByRole('button', { name: 'Create token' })],
      ['Sessions', page.getByText('this browser')],
      ['Audit', page.getByRole('searchbox', { name: 'User' })],
      ['About', page.getByText('Licences')],
    ] as const) {
      await page.getByRole('link', { name: tab, exact: true }).click()
      await page.waitForURL(new RegExp(`/settings/${tab.toLowerCase()}`))
      await content.first().waitFor()
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390)
      expect(await page.locator('main').evaluate((main) => main.scrollWidth <= main.clientWidth)).toBe(true)
    }
  })
})

async function shownValue(page: Page): Promise<string> {
  const value = await page.getByRole('dialog').getByLabel('Token', { exact: true }).inputValue()
  expect(value).toMatch(/^vtr_[\w-]{43}$/)
  return value
}

async function choose(page: Page, label: string, option: string): Promise<void> {
  await page
    .getByRole('combobox', { name: label })
    .or(page.getByRole('textbox', { name: label }))
    .click()
  await page.getByRole('option', { name: option }).click()
}

/** Reserves a port from the start. It rejects connections until the archive is up. */
async function listenForArchive(): Promise<number> {
  const { hostname, port } = archiveUrl
  const own = createServer((socket) => {
    if (!isArchiveUp) return socket.resetAndDestroy()
    const server = connect(Number(port), hostname)
    socket.on('error', () => server.destroy()).pipe(server)
    server.on('error', () => socket.destroy()).pipe(socket)
  })
  archive = own
  await new Promise<void>((resolve) => own.listen(0, '127.0.0.1', resolve))
  return (own.address() as AddressInfo).port
}
