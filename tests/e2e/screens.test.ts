import type { Page } from 'playwright-core'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { seriousFindings } from './support/axe.js'
import { aBrowser } from './support/browser.js'
import { ShiftWatch } from './support/layout-shift.js'
import { tooWideForAPhone } from './support/phone.js'
import { pathOf, routesOfConsole, SCREENS, type Screen } from './support/screens.js'
import { aSlowLine } from './support/slow-line.js'
import { aConsoleStand } from './support/stand.js'

const stand = aConsoleStand()
const line = aSlowLine(stand)
const browser = aBrowser({ hasScrollbars: true })

/** Four pages load at the same time: on a loaded machine that takes a while, and a wait ends with its fact. */
const PATIENCE_MS = 120_000
/** A tenth of what web.dev calls good: a button is missed long before that. */
const MOST_MOVEMENT = 0.01
const LARGE = { width: 1440, height: 900 }
const PHONE = { width: 390, height: 844 }
/** Colours do not depend on words, nor words on colours: two themes are enough for two languages. */
const LOOKS = [
  { theme: 'light', language: 'en', viewport: LARGE },
  { theme: 'dark', language: 'ru', viewport: LARGE },
  { theme: 'light', language: 'en', viewport: PHONE },
  { theme: 'dark', language: 'ru', viewport: PHONE },
] as const

type Look = (typeof LOOKS)[number]

interface Visit {
  readonly look: Look
  readonly page: Page
  readonly watch: ShiftWatch
  readonly complaints: string[]
}

/** One visitor for each look, from screen to screen: each screen is loaded from scratch, its scripts only once. */
let visits: readonly Visit[]
beforeAll(async () => {
  visits = browser().isThere ? await Promise.all(LOOKS.map(visit)) : []
}, PATIENCE_MS)
beforeEach(() => {
  for (const { complaints } of visits) complaints.length = 0
})

async function visit(look: Look): Promise<Visit> {
  const { theme, language, viewport } = look
  const { context, page, complaints } = await browser().visitor({ colorScheme: theme, viewport })
  page.setDefaultTimeout(PATIENCE_MS)
  const kept = JSON.stringify({ theme, language })
  await context.addInitScript(`localStorage.setItem('vitrina.preferences', '${kept}')`)
  return { look, page, watch: await ShiftWatch.of(page), complaints }
}

/** What is wrong with the page as it is now, by name. */
async function findingsOf({ look, page, watch, complaints }: Visit): Promise<object> {
  await watch.settle()
  const { sum, moved } = await watch.movement()
  const isPhone = look.viewport === PHONE
  return {
    look: `${look.theme} ${look.language} ${look.viewport.width}`,
    language: await page.locator('html').getAttribute('lang'),
    moves: sum > MOST_MOVEMENT ? [`${sum.toFixed(4)} in all`, ...moved] : [],
    // Both widths have the same elements; colours and words differ.
    serious: isPhone ? [] : await seriousFindings(page),
    tooWide: isPhone ? await tooWideForAPhone(page) : [],
    complaints: [...complaints],
  }
}

const clean = ({ theme, language, viewport }: Look) => ({
  look: `${theme} ${language} ${viewport.width}`,
  language,
  moves: [],
  serious: [],
  tooWide: [],
  complaints: [],
})

async function look(each: Visit, path: string, { shows }: Pick<Screen, 'shows'>): Promise<object> {
  await each.page.goto(`${line().url}/ui${path}`)
  await each.page.getByText(shows).filter({ visible: true }).first().waitFor()
  return findingsOf(each)
}

describe('nothing moves, axe finds nothing serious, a phone scrolls nothing sideways', () => {
  it(
    'on the sign-in',
    async () => {
      const found = await Promise.all(visits.map((each) => look(each, '/', { shows: /Sign in|Вход|Войти/ })))
      expect(found).toEqual(LOOKS.map(clean))
    },
    PATIENCE_MS,
  )

  describe('after it', () => {
    beforeAll(
      () => Promise.all(visits.map(({ page }) => stand().open(page, '/runners', undefined, line().url))),
      PATIENCE_MS,
    )
    for (const screen of SCREENS)
      it(
        `on ${screen.name}`,
        async () => {
          const path = await pathOf(screen, stand())
          const found = await Promise.all(visits.map((each) => look(each, path, screen)))
          expect(found).toEqual(LOOKS.map(clean))
        },
        PATIENCE_MS,
      )
  })
})

it('visits every route of the console', async () => {
  const missing = (await routesOfConsole()).filter((route) => {
    const pattern = new RegExp(`^${route.replaceAll('$id', '([0-9a-f-]{36}|\\$id)')}(\\?|$)`)
    return !SCREENS.some(({ path }) => pattern.test(path))
  })
  expect(missing).toEqual([])
})
