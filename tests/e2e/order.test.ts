import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { aPipeline } from '../support/builders.js'
import { waitFor } from '../support/wait.js'
import { aBrowser } from './support/browser.js'
import { aConsoleStand } from './support/stand.js'

const stand = aConsoleStand()
const browser = aBrowser()
const FILMS_ID = '11111111-1111-1111-1111-111111111111'

let follower: string
beforeAll(async () => {
  const { database } = stand()
  follower = (
    await aPipeline(database, {
      name: 'best_films',
      sourceQuery: 'SELECT film_id, title FROM analytics.film_dim WHERE rating > 8',
      targetTable: 'analytics.best_films',
      keyColumns: ['film_id'],
    })
  ).id
  await database.query(
    "SELECT etl.note_reads($1, ARRAY[NULL], ARRAY['analytics'], ARRAY['film_dim'], true)",
    [follower],
  )
})

const graph = (page: Page) => page.getByRole('list', { name: /^Run order/ })
const box = (page: Page, name: string) =>
  graph(page)
    .locator(':scope > li')
    .filter({ has: page.getByText(name, { exact: true }) })

/** A long line may end with an ellipsis, but each one must be shown in its full height. */
const linesCutOff = (page: Page) =>
  graph(page)
    .locator(':scope > li, :scope > li > *')
    .evaluateAll((elements) =>
      elements
        .filter(({ scrollHeight, clientHeight }) => clientHeight > 0 && scrollHeight > clientHeight + 1)
        .map(({ textContent }) => textContent),
    )

/** In one transaction, so that the runner of the stand sees only the result. */
const failWithFollowerDue = () =>
  stand().database.query(`
    UPDATE etl.etl_pipelines SET status = 'RUN_REQUESTED' WHERE id = '${FILMS_ID}';
    UPDATE etl.etl_pipelines SET status = 'RUNNING' WHERE id = '${FILMS_ID}';
    UPDATE etl.etl_pipelines SET status = 'FAILED' WHERE id = '${FILMS_ID}';
    SELECT etl.mark_followers('${FILMS_ID}', now())`)

describe('the run order', () => {
  it('is reached from the lineage, and shows what is held back as it happens', async () => {
    const { page, complaints } = await browser().visitor()
    await stand().open(page, '/lineage')
    await page.getByRole('link', { name: 'Run order' }).click()
    await page.waitForURL(/\/order$/)
    await box(page, 'film_dim_full').waitFor()
    await box(page, 'best_films').getByText('idle').waitFor()
    expect(await graph(page).locator(':scope > li').count()).toBeGreaterThanOrEqual(2)
    await page.locator('[data-live=live]').waitFor()
    await failWithFollowerDue()
    await box(page, 'best_films').getByText('held back: film_dim_full failed').waitFor()
    expect(await linesCutOff(page)).toEqual([])
    await stand().database.query('DELETE FROM etl.etl_due')
    await page.getByRole('link', { name: 'Open best_films' }).click()
    await page.waitForURL(new RegExp(`/pipelines/${follower}/overview`))
    expect(complaints).toEqual([])
  })

  it('requests a wave of runs from the menu beside the run button', async () => {
    const { page } = await browser().visitor()
    await stand().open(page, `/pipelines/${follower}/overview`)
    await page.getByRole('button', { name: 'Run together with others' }).click()
    await page.getByRole('menuitem', { name: 'Run with upstream', exact: true }).click()
    await page.getByText('2 runs requested').waitFor()
    await waitFor(
      async () =>
        (await stand().database.query('SELECT FROM etl.etl_runs WHERE pipeline_id = $1', [follower])).length >
        0,
      { what: 'the run of the follower' },
    )
  })

  it('saves what a pipeline follows', async () => {
    const { page } = await browser().visitor()
    await stand().open(page, `/pipelines/${follower}/config`)
    await page.getByRole('combobox', { name: / after$/ }).click()
    await page.getByRole('option', { name: 'None' }).click()
    await page.getByRole('combobox', { name: / on_upstream_failure$/ }).click()
    await page.getByRole('option', { name: 'Run anyway' }).click()
    await page.getByRole('button', { name: 'Review changes' }).click()
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /^Save as version/ })
      .click()
    await waitFor(
      async () => {
        const [row] = await stand().database.query(
          'SELECT after, on_upstream_failure AS how FROM etl.etl_pipelines WHERE id = $1',
          [follower],
        )
        return row!.how === 'run' && row!.after.length === 0
      },
      { what: 'the saved fields' },
    )
  })

  it('saves that a pipeline is published with its group, and shows the members', async () => {
    const { page } = await browser().visitor()
    await stand().database.query(
      "UPDATE etl.etl_pipelines SET consistency = 'group', after = NULL WHERE id = ANY ($1)",
      [[FILMS_ID]],
    )
    await stand().database.query('UPDATE etl.etl_pipelines SET after = NULL WHERE id = $1', [follower])
    await stand().open(page, `/pipelines/${follower}/config`)
    await page.getByRole('combobox', { name: / consistency$/ }).click()
    await page.getByRole('option', { name: 'Together with its group' }).click()
    await page.getByRole('button', { name: 'Review changes' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('consistency').first().waitFor()
    await dialog.getByRole('button', { name: /^Save as version/ }).click()
    await waitFor(
      async () =>
        (
          await stand().database.query(
            "SELECT FROM etl.etl_pipelines p JOIN etl.etl_pipeline_groups g ON g.pipeline_id = p.id WHERE p.id = $1 AND consistency = 'group'",
            [follower],
          )
        ).length === 1,
      { what: 'the saved field and the group' },
    )
    await page.reload()
    expect(await page.getByRole('combobox', { name: / consistency$/ }).inputValue()).toBe(
      'Together with its group',
    )
    await stand().open(page, `/pipelines/${follower}/overview`)
    await page
      .locator('dt', { hasText: 'Published with' })
      .locator('+ dd', { hasText: 'film_dim_full' })
      .waitFor()
    await stand().open(page, '/order')
    await box(page, 'best_films').getByText('published with film_dim_full').waitFor()
    expect(await linesCutOff(page)).toEqual([])
    await stand().open(page, `/pipelines/${follower}/config`)
    await page.getByRole('combobox', { name: / consistency$/ }).click()
    await page.getByRole('option', { name: 'By itself' }).click()
    await page.getByRole('button', { name: 'Review changes' }).click()
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /^Save as version/ })
      .click()
    await waitFor(
      async () =>
        (
          await stand().database.query('SELECT FROM etl.etl_pipeline_groups WHERE pipeline_id = $1', [
            follower,
          ])
        ).length === 0,
      { what: 'the group to be left' },
    )
  })

  // Last: visitors of one file share their preferences.
  it('is shown in Russian', async () => {
    const { page, context } = await browser().visitor()
    await context.addInitScript(`localStorage.setItem('vitrina.preferences', '{"language":"ru"}')`)
    await stand().open(page, '/order')
    await page
      .getByRole('list', { name: 'Пайплайны, не связанные с другими' })
      .locator(':scope > li')
      .first()
      .waitFor()
  })
})
