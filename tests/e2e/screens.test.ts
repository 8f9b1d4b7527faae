import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { someOf } from '../support/sample.js'
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

/** All four in `npm run test:long`; in `npm test` each screen is loaded in one of them, which changes with the seed. */
const looksOf = (screen: string) =>
  someOf(LOOKS, 1, ({ theme, viewport }) => `${screen} ${theme} ${viewport.width}`)

interface Visit {
  readonly look: Look
  readonly page: Page
  readonly watch: ShiftWatch
  readonly complaints: string[]
  /** The last of its screens: a page shows one at a time. */
  last: Promise<unknown>
}

/** One visitor for each look, from screen to screen: each screen is loaded from scratch, its scripts only once. */
let visits: ReadonlyMap<Look, Visit>
beforeAll(async () => {
  const looks = browser().isThere ? LOOKS : []
  visits = new Map(await Promise.all(looks.map(async (look) => [look, await visit(look)] as const)))
}, PATIENCE_MS)

async function visit(look: Look): Promise<Visit> {
  const { theme, language, viewport } = look
  const { context, page, complaints } = await browser().visitor({ colorScheme: theme, viewport })
  page.setDefaultTimeout(PATIENCE_MS)
  const kept = JSON.stringify({ theme, language })
  await context.addInitScript(`localStorage.setItem('vitrina.preferences', '${kept}')`)
  return { look, page, watch: await ShiftWatch.of(page), complaints, last: Promise.resolve() }
}

/** What is wrong with the page as it is now, by name. The width of a phone comes last: whatever moves then may. */
async function findingsOf({ look, page, watch, complaints }: Visit): Promise<object> {
  await watch.settle()
  const { sum, moved } = await watch.movement()
  return {
    look: nameOf(look),
    language: await page.locator('html').getAttribute('lang'),
    moves: sum > MOST_MOVEMENT ? [`${sum.toFixed(4)} in all`, ...moved] : [],
    serious: await seriousFindings(page),
    tooWide: await tooWideForAPhone(page),
    complaints: [...complaints],
  }
}

const nameOf = ({ theme, language, viewport }: Look) => `${theme} ${language} ${viewport.width}`

const clean = (look: Look) => ({
  look: nameOf(look),
  language: look.language,
  moves: [],
  serious: [],
  tooWide: [],
  complaints: [],
})

/** Waits until the page of this look is free. */
function inTurn(look: Look, work: (visit: Visit) => Promise<object>): Promise<object> {
  const visit = visits.get(look)!
  const done = visit.last.then(() => work(visit))
  visit.last = done.catch(() => {})
  return done
}

async function show(each: Visit, path: string, shows: Screen['shows']): Promise<object> {
  each.complaints.length = 0
  await each.page.setViewportSize(each.look.viewport)
  await each.page.goto(`${line().url}/ui${path}`)
  await each.page.getByText(shows).filter({ visible: true }).first().waitFor()
  return findingsOf(each)
}

describe('nothing moves, axe finds nothing serious, a phone scrolls nothing sideways', () => {
  it(
    'on the sign-in',
    async () => {
      const looks = looksOf('the sign-in')
      const found = looks.map((look) => inTurn(look, (each) => show(each, '/', /Sign in|Вход|Войти/)))
      expect(await Promise.all(found)).toEqual(looks.map(clean))
    },
    PATIENCE_MS,
  )

  const paths = new Map<Screen, string>()
  const expectClean = async (screen: Screen) => {
    const path = paths.get(screen) ?? (await pathOf(screen, stand()))
    const looks = looksOf(screen.name)
    const found = looks.map((look) => inTurn(look, (each) => show(each, path, screen.shows)))
    expect(await Promise.all(found)).toEqual(looks.map(clean))
  }

  // At the same time: a slow line is mostly waiting.
  describe.concurrent('after it', () => {
    const lasting = SCREENS.filter(({ isBrief = false }) => !isBrief)
    beforeAll(async () => {
      const entered = [...visits.values()].map(({ page }) =>
        stand().open(page, '/runners', undefined, line().url),
      )
      await Promise.all(entered)
      // Before the first screen is loaded: what happens while it is checked would move it.
      for (const screen of lasting) paths.set(screen, await pathOf(screen, stand()))
    }, PATIENCE_MS)
    for (const screen of lasting) it(`on ${screen.name}`, () => expectClean(screen), PATIENCE_MS)
  })

  describe('after all others', () => {
    for (const screen of SCREENS.filter(({ isBrief = false }) => isBrief))
      it(`on ${screen.name}`, () => expectClean(screen), PATIENCE_MS)
  })
})

it('visits every route of the console', async () => {
  const missing = (await routesOfConsole()).filter((route) => {
    const pattern = new RegExp(`^${route.replaceAll('$id', '([0-9a-f-]{36}|\\$id)')}(\\?|$)`)
    return !SCREENS.some(({ path }) => pattern.test(path))
  })
  expect(missing).toEqual([])
})
