import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { chromium } from 'playwright-core'
import { findBrowser, launchOptions } from './lib/browser.mjs'
import { ensureBuilt } from './lib/build.mjs'
import { startDemo } from './lib/demo-stand.mjs'
import { ensureInstalled } from './lib/install.mjs'
import { failure, main, ROOT, say } from './lib/run.mjs'

/** `npm run screenshots -- --out /tmp/shots --only pipelines`. A new screen is a new line here. */
const FILMS = '/pipelines/11111111-1111-1111-1111-111111111111'
const SCREENS = [
  { name: 'sign-in', path: '/', isSignedOut: true },
  { name: 'pipelines', path: '/pipelines' },
  { name: 'pipeline-overview', path: `${FILMS}/overview` },
  { name: 'pipeline-sql', path: `${FILMS}/sql`, prepare: validateAndPreview },
  { name: 'pipeline-config', path: `${FILMS}/config` },
  { name: 'pipeline-review', path: `${FILMS}/config`, prepare: reviewAChange },
  { name: 'pipeline-versions', path: `${FILMS}/versions` },
  { name: 'pipeline-runs', path: `${FILMS}/runs` },
  { name: 'pipeline-state', path: `${FILMS}/state` },
  { name: 'pipeline-quality', path: `${FILMS}/quality`, prepare: compareRows },
  { name: 'runs', path: '/runs' },
  { name: 'run', path: async (demo) => `/runs/${await demo.runId('film_dim_full', 'SUCCESS')}` },
  { name: 'run-failed', path: async (demo) => `/runs/${await demo.runId('rating_by_day', 'FAILED')}` },
  { name: 'runners', path: '/runners' },
  { name: 'overview', path: '/' },
  { name: 'quality', path: '/quality' },
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
  if (found.missing) throw failure(`No pictures: ${found.missing}.`, 'Then start again.')
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

async function validateAndPreview(page) {
  const result = page.getByRole('region', { name: /Result|Результат/ })
  await result.getByRole('button').first().click()
  await result.locator('details').first().waitFor()
  await result.getByRole('button').nth(1).click()
  await result.locator('tbody td').last().waitFor()
}

async function reviewAChange(page) {
  await page.getByLabel('batch_size', { exact: true }).fill('500')
  await page.getByRole('button', { name: /Review changes|Обзор изменений/ }).click()
  await page.getByRole('dialog').locator('ins').waitFor()
}

async function compareRows(page) {
  await page.getByRole('button', { name: /Compare every row|Сравнить все строки/ }).click()
  await page.locator('main [role=status] strong').first().waitFor()
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
