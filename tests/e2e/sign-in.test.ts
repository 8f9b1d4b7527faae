import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import { describe, expect, it, onTestFinished } from 'vitest'
import { aBrowser } from './support/browser.js'
import { aConsoleStand, TOKEN } from './support/stand.js'

const stand = aConsoleStand()
const browser = aBrowser()

const field = (page: Page) => page.getByLabel('Token', { exact: true })

async function signIn(page: Page, token: string): Promise<void> {
  await field(page).fill(token)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

/** A page of another origin, on the same machine. */
async function aServer(): Promise<string> {
  const server = createServer((_request, response) =>
    response.setHeader('content-type', 'text/html').end('<title>x'),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

describe('the sign-in of the console', () => {
  it('accepts a token, opens the requested page, and does not store the token', async () => {
    const { page, context, complaints } = await browser().visitor()
    await page.goto(`${stand().url}/ui/pipelines?q=genre`)
    await signIn(page, TOKEN)
    await page.getByText('genre_dim_full').waitFor()
    expect(page.url()).toBe(`${stand().url}/ui/pipelines?q=genre`)
    const [cookie] = await context.cookies()
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict', path: '/', secure: false })
    const kept = await page.evaluate(
      'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, document.body.innerHTML])',
    )
    expect(kept).not.toContain(TOKEN)
    expect(kept).not.toContain(cookie!.value)
    expect(complaints).toEqual([])
  })

  it('reports an invalid token', async () => {
    const { page } = await browser().visitor()
    await page.goto(`${stand().url}/ui/`)
    await signIn(page, 'nonsense')
    const alert = page.getByRole('alert')
    await alert.waitFor()
    expect(await alert.textContent()).toContain('The token is invalid.')
    await signIn(page, TOKEN)
    await page.getByRole('navigation', { name: 'Main' }).waitFor()
  })

  it('ends for every tab when the user signs out', async () => {
    const { page, context } = await browser().visitor()
    await stand().open(page)
    const other = await context.newPage()
    await other.goto(`${stand().url}/ui/pipelines`)
    await other.getByText('film_dim_full').waitFor()
    await page.getByRole('button', { name: /^Account/ }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await field(page).waitFor()
    expect(await context.cookies()).toEqual([])
    await other.reload()
    await field(other).waitFor()
  })

  it('survives reloads and new tabs, and asks again when the session key is missing', async () => {
    const { page, context, complaints } = await browser().visitor()
    await stand().open(page)
    await page.reload()
    await page.getByText('film_dim_full').waitFor()
    const tab = await context.newPage()
    await tab.goto(`${stand().url}/ui/pipelines`)
    await tab.getByText('film_dim_full').waitFor()
    // Like a cookie of an earlier version: without a key, or with the constant of that version.
    await page.evaluate('localStorage.removeItem("vitrina.session")')
    await page.reload()
    await field(page).waitFor()
    await signIn(page, TOKEN)
    await page.getByText('film_dim_full').waitFor()
    expect(complaints).toEqual([])
  })

  it('sends other ports of the same host a cookie that they do not accept', async () => {
    const { page, context } = await browser().visitor()
    await stand().open(page)
    const [cookie] = await context.cookies()
    const thief = await context.newPage()
    await thief.goto(await aServer())
    const sent = await thief.evaluate('JSON.stringify({ ...localStorage })')
    expect(sent).toBe('{}')
    const stolen = await fetch(`${stand().url}/api/v1/pipelines`, {
      headers: {
        cookie: `${cookie!.name}=${cookie!.value}`,
        'sec-fetch-site': 'same-origin',
        'x-csrf': '1',
      },
    })
    expect(stolen.status).toBe(401)
  })

  it('ends immediately when the token is revoked', async () => {
    const { id, token } = await stand().token('viewer')
    const { page } = await browser().visitor()
    await stand().open(page, '/pipelines', token)
    await page.getByText('film_dim_full').waitFor()
    await page.locator('[data-live=live]').waitFor()
    // Without a click: the server ends the event stream, and the page reconnects.
    await stand().api.DELETE('/tokens/{id}', { params: { path: { id } } })
    await field(page).waitFor()
  })

  it('works once with a link, whose code is removed from the address', async () => {
    const { page } = await browser().visitor()
    const { data } = await stand().api.POST('/session/code', {})
    const link = `${stand().url}/ui/pipelines#code=${data!.code}`
    await page.goto(link)
    await page.getByText('film_dim_full').waitFor()
    expect(page.url()).toBe(`${stand().url}/ui/pipelines`)
    const stranger = await browser().visitor()
    await stranger.page.goto(link)
    await field(stranger.page).waitFor()
  })

  it('cannot be used by other pages on the same computer', async () => {
    const { page, context } = await browser().visitor()
    await stand().open(page)
    const run = `${stand().url}/api/v1/pipelines/33333333-3333-3333-3333-333333333333/run`
    // The cookie is sent, the key is not.
    const bare = await page.evaluate(
      (url) =>
        Promise.all(
          [{ method: 'POST' }, { method: 'POST', headers: { 'x-csrf': '1' } }].map((options) =>
            fetch(url, options).then(({ status }) => status),
          ),
        ),
      run,
    )
    expect(bare).toEqual([401, 401])
    // Another port of the same host: the same site, but not the same origin.
    const foreign = await context.newPage()
    const elsewhere = await aServer()
    await foreign.goto(elsewhere)
    const statuses: number[] = []
    foreign.on('response', (response) => statuses.push(response.status()))
    await foreign.evaluate(
      (url) => fetch(url, { method: 'POST', mode: 'no-cors', credentials: 'include' }).catch(() => null),
      run,
    )
    expect(statuses.at(-1)).toBe(401)
    const { data } = await stand().api.GET('/pipelines/{id}/runs', {
      params: { path: { id: '33333333-3333-3333-3333-333333333333' } },
    })
    expect(data!.items).toEqual([])
  })
})
