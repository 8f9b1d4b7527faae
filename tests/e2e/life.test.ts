import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { aBrowser } from './support/browser.js'
import { aConsoleStand } from './support/stand.js'

const stand = aConsoleStand()
const browser = aBrowser()

const ROWS = 30_000
const NAME = 'orders_mart'

/** Large enough, in batches of ten, to leave time to press Pause. */
async function aLargeSource(): Promise<void> {
  await stand().database.query(`CREATE TABLE content.orders (
      id integer PRIMARY KEY, title text NOT NULL, modified timestamptz NOT NULL DEFAULT now());
    INSERT INTO content.orders SELECT n, 'order ' || n FROM generate_series(1, ${ROWS}) n;
    ANALYZE content.orders;
    GRANT SELECT ON content.orders TO vitrina_reader, vitrina_writer`)
}

async function writeIt(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'New pipeline' }).first().click()
  await page.getByRole('heading', { name: 'New pipeline' }).waitFor()
  await page.getByRole('textbox', { name: 'Query' }).click()
  await page.keyboard.type('SELECT id, title, modified FROM content.ord')
  await page.getByRole('option', { name: /^orders/ }).click()
  await page.getByText('Valid', { exact: true }).first().waitFor()
  // Fields suggested from the query are filled in.
  expect(await page.getByLabel('Name name').inputValue()).toBe(NAME)
  expect(await page.getByRole('combobox', { name: 'Target target_table' }).inputValue()).toBe(
    `analytics.${NAME}`,
  )
  await page
    .getByText(`~${ROWS.toLocaleString('en')}`)
    .first()
    .waitFor()
}

async function previewIt(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Preview 50 rows' }).click()
  const rows = page.getByRole('region', { name: 'First 50 rows as they would be written' })
  await rows.getByRole('row').nth(50).waitFor()
  expect(await rows.getByRole('row').count()).toBe(51)
  expect(await stand().database.query(`SELECT to_regclass('analytics.${NAME}') AS mart`)).toEqual([
    { mart: null },
  ])
}

async function createAndRunIt(page: Page): Promise<void> {
  await page.getByLabel('batch_size').fill('10')
  await page.getByRole('button', { name: 'Review and create' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText(`The first run creates analytics.${NAME} with 3 columns, key id.`).waitFor()
  await dialog.getByRole('button', { name: 'Create and run' }).click()
  await page.waitForURL(/\/ui\/runs\/[0-9a-f-]{36}/)
}

async function watchAndPauseIt(page: Page): Promise<void> {
  await page.getByText('running', { exact: true }).first().waitFor()
  await page.getByRole('main').getByRole('link', { name: NAME }).first().click()
  await page.waitForURL(/\/ui\/pipelines\/[0-9a-f-]{36}\//)
  await page.getByRole('button', { name: 'Pause' }).click()
  await page.getByText('paused', { exact: true }).first().waitFor()
  const [{ count } = { count: 0 }] = await stand().database.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM analytics.${NAME}`,
  )
  expect(count).toBeGreaterThan(0)
  expect(count).toBeLessThan(ROWS)
}

/** The run resumes with the changes that were made while it was paused. */
async function changeAndResumeIt(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Configuration' }).click()
  await page.getByLabel('batch_size').fill('auto')
  await page.getByRole('region', { name: 'Draft' }).getByText('batch_size').waitFor()
  await page.keyboard.press('Control+s')
  const dialog = page.getByRole('dialog')
  await dialog.getByText('The checkpoint is kept; no rows are read again.').waitFor()
  await dialog.getByRole('button', { name: 'Save as version 2' }).click()
  await page.getByText('version 2', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Run', exact: true }).click()
  await page.getByText('succeeded', { exact: true }).first().waitFor()
  expect(await stand().database.query(`SELECT count(*)::int AS count FROM analytics.${NAME}`)).toEqual([
    { count: ROWS },
  ])
}

async function tamperAndRepairIt(page: Page): Promise<void> {
  await stand().database.query(`DELETE FROM analytics.${NAME} WHERE id IN (1, 2);
    UPDATE analytics.${NAME} SET title = 'tampered' WHERE id = 3`)
  await page.getByRole('link', { name: 'Quality' }).nth(1).click()
  await page.getByRole('button', { name: 'Compare all rows' }).click()
  await page.getByRole('button', { name: 'Repair 3 rows…' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Repair', exact: true }).click()
  await page.getByRole('link', { name: 'Open run' }).click()
  await page.waitForURL(/\/ui\/runs\//)
  await page.getByText('succeeded', { exact: true }).first().waitFor()
  expect(
    await stand().database.query(`SELECT id, title FROM analytics.${NAME} WHERE id < 4 ORDER BY id`),
  ).toEqual([1, 2, 3].map((id) => ({ id, title: `order ${id}` })))
}

async function restoreIt(page: Page): Promise<void> {
  await page.getByRole('main').getByRole('link', { name: NAME }).first().click()
  await page.getByRole('link', { name: 'Versions' }).click()
  const current = page.getByRole('article', { name: 'Version 2' })
  expect(await current.locator('del').textContent()).toContain('10')
  await page.getByRole('article', { name: 'Version 1' }).getByRole('button', { name: 'Restore…' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel(`Type ${NAME} to confirm`).fill(NAME)
  await dialog.getByRole('button', { name: 'Restore version 1' }).click()
  await page.getByRole('article', { name: 'Version 3' }).getByText('current', { exact: true }).waitFor()
}

async function deleteIt(page: Page): Promise<void> {
  await page.getByRole('button', { name: `More actions for ${NAME}` }).click()
  await page.getByRole('menuitem', { name: 'Delete…' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText(`The mart analytics.${NAME} is kept`).waitFor()
  await dialog.getByLabel(`Type ${NAME} to confirm`).fill(NAME)
  await dialog.getByRole('button', { name: 'Delete pipeline' }).click()
  await page.waitForURL(/\/ui\/pipelines$/)
  await page.getByRole('row').filter({ hasText: 'film_dim_full' }).waitFor()
  await page.getByRole('row').filter({ hasText: NAME }).waitFor({ state: 'detached' })
  expect(await stand().database.query(`SELECT count(*)::int AS count FROM analytics.${NAME}`)).toEqual([
    { count: ROWS },
  ])
}

it('covers the life of a pipeline: written, previewed, run, paused, resumed, repaired, restored, deleted', async () => {
  await aLargeSource()
  const { page, complaints } = await browser().visitor()
  await stand().open(page)
  await writeIt(page)
  await previewIt(page)
  await createAndRunIt(page)
  await watchAndPauseIt(page)
  await changeAndResumeIt(page)
  await tamperAndRepairIt(page)
  await restoreIt(page)
  await deleteIt(page)
  expect(complaints).toEqual([])
}, 180_000)
