import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { aPipeline } from '../support/builders.js'
import { aBrowser } from './support/browser.js'
import { aConsoleStand } from './support/stand.js'

const stand = aConsoleStand()
const browser = aBrowser()
const FILMS_ID = '11111111-1111-1111-1111-111111111111'

const graph = (page: Page) => page.getByRole('list', { name: /^Lineage graph/ })
const card = (page: Page, name: string) =>
  graph(page)
    .locator(':scope > li')
    .filter({ has: page.getByText(name, { exact: true }) })
const column = (page: Page, name: string, of: string) =>
  page.getByRole('list', { name: `Columns of ${of}` }).getByRole('button', { name })

describe('the lineage', () => {
  it('shows dependencies, and the state of the data as it changes', async () => {
    const { page, complaints } = await browser().visitor()
    await stand().open(page, '/pipelines')
    await page.getByText('film_dim_full').waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('l')
    await card(page, 'content.person_film_work').getByText('source', { exact: true }).waitFor()
    await card(page, 'analytics.film_dim').getByText('never filled').waitFor()
    await page.locator('[data-live=live]').waitFor()
    await stand().api.POST('/pipelines/{id}/run', { params: { path: { id: FILMS_ID } } })
    await card(page, 'film_dim_full')
      .getByText(/fresh|filled/)
      .waitFor()
    await card(page, 'analytics.film_dim')
      .getByText(/fresh|filled/)
      .waitFor()
    expect(await page.title()).toBe('Lineage · Vitrina')
    expect(complaints).toEqual([])
  })

  it('shows one hop around the focus, and more on request', async () => {
    const { page } = await browser().visitor()
    const { spec } = await aPipeline(stand().database, {
      name: 'over_a_view',
      sourceQuery: 'SELECT film_id, title FROM content.seen_films',
      targetTable: 'es:seen_films',
    })
    await stand().database.query(
      'CREATE VIEW content.seen_films AS SELECT id AS film_id, title FROM content.film_work',
    )
    await stand().open(page, `/lineage?node=es:seen_films`)
    await card(page, 'content.seen_films').getByText('view', { exact: true }).waitFor()
    expect(await graph(page).locator(':scope > li').count()).toBe(3)
    await page.getByRole('button', { name: 'Show 1 more upstream of content.seen_films' }).click()
    await card(page, 'content.film_work').waitFor()
    await page.waitForURL(/up=2/)
    await page.getByRole('link', { name: 'Focus on content.film_work' }).click()
    await page.waitForURL(/node=content\.film_work/)
    await card(page, 'film_dim_full').waitFor()
    await page.getByRole('link', { name: `Open ${spec.name}` }).waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'Open film_dim_full' }).click()
    await page.waitForURL(new RegExp(`/pipelines/${FILMS_ID}/overview`))
    await page.getByRole('main').getByRole('link', { name: 'Lineage' }).click()
    await page.waitForURL(/lineage\?node=pipeline/)
    await card(page, 'content.genre').waitFor()
  })

  it('follows a column to its sources, with the expression, and keeps it in the address', async () => {
    const { page, complaints } = await browser().visitor()
    await stand().open(page, '/lineage?node=analytics.film_rating_agg&level=column')
    await column(page, 'avg_rating', 'analytics.film_rating_agg').click()
    const path = page.getByRole('region', { name: 'Column lineage' })
    await path.getByText('avg(ugc.ratings.rating)').first().waitFor()
    await path.getByText('ugc.ratings.rating', { exact: true }).waitFor()
    await page.reload()
    await path.getByText('avg(ugc.ratings.rating)').first().waitFor()
    expect(await column(page, 'avg_rating', 'analytics.film_rating_agg').getAttribute('aria-pressed')).toBe(
      'true',
    )
    // The same as a list, for users who cannot see the graph.
    await page.getByText('List', { exact: true }).click()
    await page
      .getByRole('region', { name: 'Upstream', exact: true })
      .getByText('← avg(ugc.ratings.rating)')
      .waitFor()
    expect(complaints).toEqual([])
  })

  it('shows a pipeline with an invalid query as soon as it is created', async () => {
    const { page } = await browser().visitor()
    await stand().open(page, '/lineage?view=list')
    await page.getByRole('link', { name: 'Open film_dim_full' }).waitFor()
    await page.locator('[data-live=live]').waitFor()
    await aPipeline(stand().database, { name: 'broken', sourceQuery: 'SELECT FROM WHERE' })
    await page.getByRole('link', { name: 'Open broken' }).waitFor()
    await page.getByText('invalid query').first().waitFor()
    await page.getByText(/The query has a syntax error/).waitFor()
  })

  it('is exported to other programs', async () => {
    const { page } = await browser().visitor()
    await stand().open(page, `/lineage?node=pipeline:film_dim_full`)
    await card(page, 'film_dim_full').waitFor()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export OpenLineage' }).click(),
    ])
    expect(download.suggestedFilename()).toBe('openlineage-film_dim_full.json')
    const [event] = JSON.parse(await readFile(await download.path(), 'utf8'))
    expect(event.job).toMatchObject({ namespace: 'vitrina', name: 'film_dim_full' })
    expect(event.outputs[0].facets.columnLineage.fields.title.inputFields[0]).toMatchObject({
      field: 'title',
    })
  })

  it('explains why it is a list when there are too many nodes for a graph', async () => {
    const { page } = await browser().visitor()
    for (let n = 0; n < 75; n++) await aPipeline(stand().database)
    await stand().open(page, '/lineage')
    await page.getByText(/nodes exceed the graph limit of 150/).waitFor()
    expect(await graph(page).count()).toBe(0)
    await page.getByRole('combobox', { name: 'Focus' }).fill('genre_dim_full')
    await page.getByRole('option', { name: 'genre_dim_full' }).click()
    await card(page, 'analytics.genre_dim').waitFor()
  })

  it('reports an unknown node', async () => {
    const { page } = await browser().visitor()
    await stand().open(page, '/lineage?node=content.gone')
    await page.getByText('No pipeline reads or fills content.gone.').waitFor()
    await page.getByRole('link', { name: 'Show all' }).click()
    await page.getByRole('link', { name: 'Open film_dim_full' }).waitFor()
  })
})
