import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { aPipeline } from '../support/builders.js'
import { aBrowser } from './support/browser.js'
import { aConsoleStand } from './support/stand.js'

const stand = aConsoleStand()
const browser = aBrowser()

const FILMS = '11111111-1111-1111-1111-111111111111'
const TITLES = 'SELECT title FROM analytics.film_dim'

async function run(id: string): Promise<void> {
  await stand().api.POST('/pipelines/{id}/run', { params: { path: { id }, query: { wait: '60s' } } })
}

beforeAll(async () => {
  await run(FILMS)
})

const sheet = (page: Page) => page.getByRole('region', { name: 'Rows of the mart' })
const firstRow = (page: Page) => sheet(page).locator('tbody tr').first()
/** Requests that the server refused on purpose are not complaints about the page. */
const own = (complaints: string[]) => complaints.filter((text) => !/status of 4(22|09)/.test(text))

async function titles(order: string): Promise<string[]> {
  const rows = await stand().database.query<{ title: string }>(`${TITLES} ${order} LIMIT 1`)
  return rows.map(({ title }) => title)
}

describe('the data of a mart', () => {
  it('is sorted by its columns, filtered and paged, all of it in the address', async () => {
    const { page, complaints } = await browser().visitor()
    await stand().open(page, `/pipelines/${FILMS}/data`)
    await sheet(page).locator('tbody tr').nth(49).waitFor()
    const title = sheet(page).getByRole('button', { name: 'title' })
    const header = sheet(page).getByRole('columnheader', { name: /^title/ })
    await title.click()
    const [lowest] = await titles('ORDER BY title, film_id')
    await firstRow(page).getByText(lowest!, { exact: true }).waitFor()
    expect(await header.getAttribute('aria-sort')).toBe('ascending')
    expect(new URL(page.url()).searchParams.get('sort')).toBe('title')
    // By keyboard too.
    await title.press('Enter')
    const [highest] = await titles('ORDER BY title DESC, film_id DESC')
    await firstRow(page).getByText(highest!, { exact: true }).waitFor()
    expect(new URL(page.url()).searchParams.get('sort')).toBe('-title')

    await page.getByRole('button', { name: 'Show more' }).click()
    const [all] = await stand().database.query<{ n: number }>(
      'SELECT count(*)::int AS n FROM analytics.film_dim',
    )
    await page.getByText(`${all!.n} rows: the whole mart.`).waitFor()
    expect(await sheet(page).locator('tbody tr').count()).toBe(all!.n)

    await page.locator('body').press('/')
    await page.keyboard.type('rating >= 9 and title is not null')
    await page.keyboard.press('Enter')
    const [counted] = await stand().database.query<{ n: number }>(
      'SELECT least(50, count(*))::int AS n FROM analytics.film_dim WHERE rating >= 9',
    )
    await page.getByText(new RegExp(`^${counted!.n} rows? match(es)? the filter`)).waitFor()
    expect(new URL(page.url()).searchParams.get('filter')).toBe('rating >= 9 and title is not null')
    await page.reload()
    await page.getByText(new RegExp(`^${counted!.n} rows? match(es)? the filter`)).waitFor()
    expect(await page.getByLabel('Filter', { exact: true }).inputValue()).toBe(
      'rating >= 9 and title is not null',
    )
    expect(complaints).toEqual([])
  })

  it('explains a filter that is wrong, and one that no row matches', async () => {
    const { page, complaints } = await browser().visitor()
    await stand().open(page, `/pipelines/${FILMS}/data`)
    const filter = page.getByLabel('Filter', { exact: true })
    await filter.fill('nope = 1')
    await filter.press('Enter')
    await page.getByRole('alert').getByText('The mart has no column "nope".', { exact: true }).waitFor()
    await filter.fill("title = ''' OR 1=1 --'")
    await filter.press('Enter')
    await page.getByText('No rows match the filter').waitFor()
    await page.getByRole('button', { name: 'Clear' }).click()
    await firstRow(page).waitFor()
    expect(new URL(page.url()).search).toBe('')
    expect(own(complaints)).toEqual([])
  })

  it('has a profile that is kept until it is computed again, and suggests checks', async () => {
    const { page, complaints, context } = await browser().visitor({ changesContext: true })
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await stand().open(page, `/pipelines/${FILMS}/data`)
    const profile = page.getByRole('region', { name: 'Profile' }).first()
    await profile.getByRole('img', { name: 'Histogram of rating' }).waitFor()
    const rating = profile.getByRole('row').filter({ has: page.getByText('rating', { exact: true }) })
    await rating.getByText('as a table').click()
    expect(await rating.locator('details table tbody tr').count()).toBe(20)

    const checks = page.getByRole('region', { name: 'Suggested checks' })
    await checks.getByText('rating_range').waitFor()
    await checks.getByRole('button', { name: 'Copy as YAML' }).click()
    const copied = parse(await page.evaluate<string>('navigator.clipboard.readText()'))
    expect(copied.checks).toContainEqual({
      name: 'rating_range',
      type: 'range',
      column: 'rating',
      min: 0,
      max: 10,
      on_failure: 'warn',
    })

    await checks.getByRole('button', { name: 'Add to the pipeline' }).click()
    const bar = page.getByRole('region', { name: 'Draft' })
    await bar.getByText('checks', { exact: true }).waitFor()
    expect(await checks.getByRole('button', { name: 'Add to the pipeline' }).isDisabled()).toBe(true)
    await bar.getByRole('button', { name: /Review/ }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: /^Save as version/ }).click()
    await bar.waitFor({ state: 'detached' })
    const [saved] = await stand().database.query<{ names: string[] }>(
      'SELECT array(SELECT jsonb_array_elements(checks) ->> \'name\') AS names FROM etl.etl_pipelines WHERE jsonb_array_length(checks) > 0 AND checks @> \'[{"name": "rating_range"}]\'',
    )
    expect(saved!.names).toContain('rating_range')

    // A run that changes the mart makes rows and profile outdated; neither moves on its own.
    await page.locator('[data-live=live]').waitFor()
    await stand().database.query("UPDATE content.film_work SET title = title || ' (changed)'")
    await run(FILMS)
    await page.getByText('A run has changed the mart. Reload to see the changes.').waitFor()
    await profile.getByText('the mart has changed since').waitFor()
    await profile.getByRole('button', { name: 'Compute again' }).click()
    await profile.getByText('the mart has changed since').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Reload' }).click()
    await firstRow(page).getByText('(changed)').waitFor()
    expect(complaints).toEqual([])
  })

  it('shows what is missing: the mart, the role, the right of the API', async () => {
    const { id } = await aPipeline(stand().database, { enabled: false })
    const { page, complaints } = await browser().visitor()
    await stand().open(page, `/pipelines/${id}/data`)
    await page.getByRole('heading', { name: 'The mart does not exist yet' }).waitFor()

    const table = `analytics.unreadable_${id.slice(0, 8)}`
    await stand().database.query(`CREATE TABLE ${table} (id int PRIMARY KEY)`)
    await stand().database.query(`REVOKE ALL ON ${table} FROM vitrina_meta`)
    const other = await aPipeline(stand().database, { enabled: false, targetTable: table })
    await stand().open(page, `/pipelines/${other.id}/data`)
    await page
      .getByText(/GRANT SELECT ON "analytics"/)
      .first()
      .waitFor()
    expect(own(complaints)).toEqual([])

    const { token } = await stand().token('viewer')
    const viewer = await browser().visitor()
    await stand().open(viewer.page, `/pipelines/${FILMS}/data`, token)
    await viewer.page.getByRole('heading', { name: 'Rows require the role operator' }).waitFor()
    expect(viewer.complaints).toEqual([])
  })

  it('is shown in Russian', async () => {
    const { page } = await browser().visitor({ locale: 'ru-RU' })
    await stand().open(page, `/pipelines/${FILMS}/data`)
    await page.getByRole('link', { name: 'Данные', exact: true }).waitFor()
    await page.getByText('Предлагаемые проверки').waitFor()
    await page.getByText(/^Показано 50 строк, всего в витрине около/).waitFor()
  })
})
