import type { Locator, Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { aPipeline } from '../support/builders.js'
import { someOf } from '../support/sample.js'
import { aBrowser } from './support/browser.js'
import { aSlowLine } from './support/slow-line.js'
import { aConsoleStand } from './support/stand.js'

const stand = aConsoleStand()
const line = aSlowLine(stand)
const browser = aBrowser()

const FILMS = '11111111-1111-1111-1111-111111111111'
const SIZES = [
  { width: 1440, height: 900 },
  { width: 390, height: 844 },
] as const

type Size = (typeof SIZES)[number]

/** At both widths in `npm run test:long`, at one of them in `npm test`, which changes with the seed. */
function atSomeWidth(name: string, test: (viewport: Size) => Promise<void>): void {
  for (const viewport of someOf(SIZES, 1, ({ width }) => `${name} ${width}`))
    it(`${name} (${viewport.width} px)`, () => test(viewport))
}

/** Presses the button of the mouse, waits until `arrive` is done, and releases it, like a user who clicks before the content arrives. */
async function clickAcross(page: Page, target: Locator, arrive: () => Promise<void>): Promise<void> {
  await target.scrollIntoViewIfNeeded()
  const box = (await target.boundingBox())!
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2)
  await page.mouse.down()
  await arrive()
  await page.mouse.up()
}

/** Its mart rejects titles that start with BAD, so that three rows are quarantined. */
async function aPipelineWithQuarantine(name: string): Promise<string> {
  const table = `analytics.${name}`
  await stand().database.query(
    `CREATE TABLE ${table} (film_id uuid PRIMARY KEY, title text CHECK (title NOT LIKE 'BAD%'));
     GRANT ALL ON ${table} TO vitrina_writer; GRANT SELECT ON ${table} TO vitrina_meta`,
  )
  const { id } = await aPipeline(stand().database, {
    name,
    sourceQuery: `SELECT id AS film_id, CASE WHEN row_number() OVER (ORDER BY id) <= 3 THEN 'BAD ' ELSE '' END || title AS title FROM content.film_work`,
    targetTable: table,
  })
  await run(id)
  return id
}

const run = (id: string) =>
  stand().api.POST('/pipelines/{id}/run', { params: { path: { id }, query: { wait: '60s' } } })

atSomeWidth('starts a comparison although the counts arrive during the click', async (viewport) => {
  await run(FILMS)
  const { page } = await browser().visitor({ viewport })
  const counts = line().hold(/\/reconcile$/)
  await stand().open(page, `/pipelines/${FILMS}/quality`, undefined, line().url)
  const compare = page.getByRole('button', { name: 'Compare all rows' })
  await compare.waitFor()
  await clickAcross(page, compare, async () => {
    counts.release()
    await page.getByText('Row counts and key ranges match', { exact: true }).waitFor()
  })
  await page.getByText('No differences', { exact: true }).waitFor()
})

atSomeWidth(
  'follows a link to the quarantine although the counts arrive during the click',
  async (viewport) => {
    const id = await aPipelineWithQuarantine(`late_counts_${viewport.width}`)
    const { page } = await browser().visitor({ viewport })
    const counts = line().hold(/\/reconcile$/)
    await stand().open(page, `/pipelines/${id}/quality`, undefined, line().url)
    const link = page.getByRole('link', { name: 'Manage quarantine' })
    await link.waitFor()
    await clickAcross(page, link, async () => {
      counts.release()
      await page.getByText('Row counts or key ranges differ', { exact: true }).waitFor()
    })
    await page.waitForURL(new RegExp(`/ui/quarantine\\?pipeline=${id}$`))
  },
)

atSomeWidth('opens all runs although the validation arrives during the click', async (viewport) => {
  const { page } = await browser().visitor({ viewport })
  const validation = line().hold(/\/validate$/)
  await stand().open(page, `/pipelines/${FILMS}/overview`, undefined, line().url)
  const link = page.getByRole('link', { name: 'All runs' })
  await link.waitFor()
  await clickAcross(page, link, async () => {
    validation.release()
    await page.getByText('sql_full', { exact: true }).waitFor()
  })
  await page.waitForURL(new RegExp(`/ui/pipelines/${FILMS}/runs$`))
})

atSomeWidth('keeps its buttons in place while the state of a pipeline changes', async (viewport) => {
  // Requested but disabled: no runner claims it until the test enables it.
  const { id } = await aPipeline(stand().database, {
    name: `late_progress_${viewport.width}`,
    enabled: false,
  })
  await stand().database.query("UPDATE etl.etl_pipelines SET status = 'RUN_REQUESTED' WHERE id = $1", [id])
  const { page } = await browser().visitor({ viewport })
  await stand().open(page, `/pipelines/${id}/overview`)
  const pause = page.getByRole('button', { name: 'Pause' })
  await pause.waitFor()
  await page.locator('[data-live=live]').waitFor()
  const before = await pause.boundingBox()
  await stand().api.POST('/pipelines/{id}/enable', { params: { path: { id } } })
  await page.getByText('succeeded', { exact: true }).waitFor()
  expect(await pause.boundingBox()).toEqual(before)
})

atSomeWidth(
  'opens the form of a rule although undelivered notifications arrive during the click',
  async (viewport) => {
    await stand().database.query(
      `INSERT INTO etl.etl_notification_messages (rule_id, rule_name, channel, event, status, attempts, settled_at, attempted_at, last_error)
     SELECT gen_random_uuid(), 'late', 'former', 'failed', 'DEAD', 10, now(), now(), 'hooks.example.com responded with 404' FROM generate_series(1, 5)`,
    )
    const { page } = await browser().visitor({ viewport })
    const dead = line().hold(/\/notifications\/dead/)
    await stand().open(page, '/settings/notifications', undefined, line().url)
    const create = page.getByRole('button', { name: 'Create rule' })
    await create.waitFor()
    await clickAcross(page, create, async () => {
      dead.release()
      await page.getByText('hooks.example.com responded with 404').first().waitFor()
    })
    await page.getByRole('dialog').waitFor()
  },
)
