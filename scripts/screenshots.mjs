import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { chromium } from 'playwright-core'
import { findBrowser, launchOptions } from './lib/browser.mjs'
import { ensureBuilt } from './lib/build.mjs'
import { startDemo } from './lib/demo-stand.mjs'
import { ensureInstalled } from './lib/install.mjs'
import { failure, main, ROOT, say } from './lib/run.mjs'

/** `npm run screenshots -- --out /tmp/shots --only pipelines`. Add a line for each new screen. */
const FILMS = '/pipelines/11111111-1111-1111-1111-111111111111'
const RATED = 'analytics.film_rating_agg'
const SCREENS = [
  { name: 'sign-in', path: '/', isSignedOut: true },
  { name: 'pipelines', path: '/pipelines' },
  { name: 'pipeline-new', path: '/pipelines/new', prepare: writeAPipeline },
  { name: 'pipeline-new-review', path: '/pipelines/new', prepare: reviewAPipeline },
  { name: 'pipeline-import', path: '/pipelines/import', prepare: planYaml },
  { name: 'pipeline-overview', path: `${FILMS}/overview` },
  { name: 'pipeline-sql', path: `${FILMS}/sql`, prepare: validateAndPreview },
  { name: 'pipeline-config', path: `${FILMS}/config` },
  { name: 'pipeline-review', path: `${FILMS}/config`, prepare: reviewAChange },
  { name: 'pipeline-three-way', path: `${FILMS}/config`, prepare: compareThreeWays },
  { name: 'pipeline-versions', path: `${FILMS}/versions` },
  { name: 'pipeline-runs', path: `${FILMS}/runs` },
  { name: 'pipeline-state', path: `${FILMS}/state` },
  { name: 'pipeline-quality', path: `${FILMS}/quality`, prepare: compareRows },
  { name: 'pipeline-data', path: `${FILMS}/data?sort=-rating`, prepare: profiled },
  { name: 'runs', path: '/runs' },
  { name: 'run', path: async (demo) => `/runs/${await demo.runId('film_dim_full', 'SUCCESS')}` },
  { name: 'run-failed', path: async (demo) => `/runs/${await demo.runId('rating_by_day', 'FAILED')}` },
  {
    name: 'run-retrying',
    path: async (demo) => `/runs/${await demo.runId('watch_minutes', 'RUNNING')}?batch=3`,
  },
  {
    name: 'run-log',
    path: async (demo) => `/runs/${await demo.runId('rating_by_day', 'FAILED')}?attempt=2`,
    prepare: scrollToTheLog,
  },
  { name: 'run-nothing', path: async (demo) => `/runs/${await demo.runId('person_dim', 'SUCCESS')}` },
  { name: 'runs-filtered', path: '/runs?status=failed,cancelled&range=custom&since=2026-01-01T00:00:00Z' },
  { name: 'pipelines-compact', path: '/pipelines?status=idle', prepare: compactWithViews },
  { name: 'runners', path: '/runners' },
  { name: 'settings-connections', path: '/settings/connections', prepare: seeConnections },
  { name: 'settings-tokens', path: '/settings/tokens' },
  { name: 'settings-token-new', path: '/settings/tokens', prepare: createToken },
  { name: 'settings-sessions', path: '/settings/sessions' },
  { name: 'settings-audit', path: '/settings/audit', prepare: openFirstEntry },
  { name: 'settings-about', path: '/settings/about' },
  { name: 'lineage', path: '/lineage', prepare: drawn },
  { name: 'lineage-columns', path: `/lineage?node=${RATED}&level=column`, prepare: pickAColumn },
  { name: 'lineage-list', path: `/lineage?node=${RATED}&level=column&view=list`, prepare: drawn },
  { name: 'overview', path: '/' },
  { name: 'quality', path: '/quality' },
  { name: 'checks', path: '/checks' },
  { name: 'quarantine', path: '/quarantine' },
  { name: 'quarantine-row', path: '/quarantine', prepare: openARow },
  { name: 'quarantine-discard', path: '/quarantine', prepare: askToDiscard },
]
const SIZES = [
  { name: 'desktop', width: 1440, height: 900 },
  { name: 'phone', width: 390, height: 844 },
]
const THEMES = ['light', 'dark']

await main(async () => {
  const { out, only, languages } = options(process.argv.slice(2))
  await ensureInstalled()
  await ensureBuilt()
  const found = findBrowser()
  if (found.missing)
    throw failure(
      `No pictures: ${found.missing}.`,
      '"npm run test:tools" installs one on Debian as root. Then start again.',
    )
  const home = mkdtempSync(join(tmpdir(), 'vitrina-screenshots-'))
  const demo = await startDemo(home)
  const browser = await chromium.launch(launchOptions(found.path))
  try {
    mkdirSync(out, { recursive: true })
    const screens = SCREENS.filter(({ name }) => only === null || only.includes(name))
    for (const language of languages)
      for (const theme of THEMES)
        for (const size of SIZES) await takeAll(browser, demo, { screens, theme, size, language, out })
  } finally {
    await browser.close()
    await demo.stop()
    rmSync(home, { recursive: true, force: true })
  }
  return 0
})

async function takeAll(browser, demo, { screens, theme, size, language, out }) {
  const context = await browser.newContext({
    viewport: { width: size.width, height: size.height },
    deviceScaleFactor: 2,
    colorScheme: theme,
    locale: 'en-GB',
    timezoneId: 'UTC',
  })
  await context.addInitScript(
    (kept) => localStorage.setItem('vitrina.preferences', kept),
    JSON.stringify({ theme, language, zone: 'utc' }),
  )
  for (const { name, path, isSignedOut = false, prepare } of screens) {
    const page = await context.newPage()
    const address = typeof path === 'string' ? path : await path(demo)
    await page.goto(`${demo.url}/ui${address}${isSignedOut ? '' : `#code=${await demo.code()}`}`)
    await page.locator('main h1, main h2').first().waitFor()
    if (!isSignedOut) await page.locator('[data-live=live]').waitFor()
    await page.evaluate(() => document.fonts.ready)
    if (prepare) await prepare(page)
    const file = [name, ...(language === 'en' ? [] : [language]), size.name, theme].join('-')
    await page.screenshot({ path: join(out, `${file}.png`) })
    say(`  ${file}.png`)
    await page.close()
  }
  await context.close()
}

async function scrollToTheLog(page) {
  await page.getByRole('log').scrollIntoViewIfNeeded()
}

async function compactWithViews(page) {
  const compact = page.getByRole('button', { name: /Compact rows|Компактные строки/ })
  // A phone has no such switch.
  if (await compact.isVisible()) await compact.click()
  await page.getByRole('button', { name: /Saved view|Сохранённые представления/ }).click()
  await page.getByRole('menu').waitFor()
}

async function validateAndPreview(page) {
  await page.getByRole('button', { name: /^(Preview|Показать) 50/ }).click()
  await page.locator('main tbody td').last().waitFor()
}

async function writeAPipeline(page) {
  await page.getByRole('button', { name: /Use an example|Использовать пример/ }).click({ timeout: 5_000 })
  await page
    .getByText(/^(Valid|Корректно)$/)
    .first()
    .waitFor()
  await validateAndPreview(page)
}

async function reviewAPipeline(page) {
  await writeAPipeline(page)
  await page.getByRole('button', { name: /Daily|Ежедневно/ }).click()
  await page.getByRole('button', { name: /Review and create|Проверить и создать/ }).click()
  await page.getByRole('dialog').locator('details').waitFor()
}

async function planYaml(page) {
  await page.getByRole('button', { name: /Use an example|Использовать пример/ }).click()
  await page.getByRole('button', { name: /^(Plan|Построить план)$/ }).click()
  await page.locator('main details').first().waitFor()
}

async function reviewAChange(page) {
  await page.getByLabel('batch_size').fill('500')
  await page.getByRole('button', { name: /Review changes|Просмотреть изменения/ }).click()
  await page.getByRole('dialog').locator('ins').waitFor()
}

async function drawn(page) {
  await page.locator('main a[href*="/lineage?"]').first().waitFor()
}

async function profiled(page) {
  await page.getByText(/Suggested checks|Предлагаемые проверки/).waitFor()
  await page.locator('main tbody tr').first().waitFor()
}

async function pickAColumn(page) {
  await page.locator('main button[aria-pressed]', { hasText: 'avg_rating' }).last().click()
  await page.getByRole('region', { name: /Column lineage|Происхождение столбца/ }).waitFor()
}

/** Another user saves first; the values are unique to this screenshot. */
async function compareThreeWays(page) {
  await page.getByLabel('batch_size').fill('500')
  await page.getByLabel('quarantine_limit').fill('20')
  await page.evaluate(async (address) => {
    const key = localStorage.getItem('vitrina.session')
    const headers = { 'content-type': 'application/json', 'x-csrf': key }
    const body = JSON.stringify({ batch_size: 1000 + Math.floor(performance.now()), deletes: 'sweep' })
    await fetch(address, { method: 'PATCH', headers, body })
  }, `/api/v1${FILMS}`)
  await page.getByRole('button', { name: /Compare versions|Сравнить версии/ }).click()
  await page.getByRole('dialog').locator('ins').first().waitFor()
}

async function compareRows(page) {
  await page.getByRole('button', { name: /Compare all rows|Сравнить все строки/ }).click()
  await page.locator('main [role=status] strong').first().waitFor()
}

async function seeConnections(page) {
  await page.getByRole('article').last().waitFor()
}

/** By role, not by text: works in every language. */
async function createToken(page) {
  await page.locator('main button').first().click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('textbox').first().fill('airflow-staging')
  await dialog.locator('button[type=submit]').click()
  await dialog.locator('input[readonly]').first().waitFor()
}

async function openFirstEntry(page) {
  const entry = page.locator('main ol li').filter({ hasText: 'schedule_timezone' }).first()
  await entry.locator('button[aria-expanded]').click()
}

async function openARow(page) {
  await page
    .locator('[data-row]')
    .nth(2)
    .click({ position: { x: 60, y: 10 } })
  await page.getByRole('dialog').locator('tbody tr').last().waitFor()
}

async function askToDiscard(page) {
  await page.getByRole('button', { name: /Discard all|Отбросить все/ }).click()
  await page.getByRole('dialog').getByRole('button').last().waitFor()
}

function options(args) {
  const value = (name) => (args.includes(name) ? args[args.indexOf(name) + 1] : undefined)
  return {
    out: resolve(value('--out') ?? join(ROOT, 'docs/images')),
    only: value('--only')?.split(',') ?? null,
    languages: (value('--languages') ?? 'en').split(','),
  }
}
