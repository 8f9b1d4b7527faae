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

/** Four pages load at the same time, which takes a while on a loaded machine. */
const PATIENCE_MS = 120_000
/** A tenth of what web.dev considers good: users miss buttons long before that. */
const MOST_MOVEMENT = 0.01
const LARGE = { width: 1440, height: 900 }
const PHONE = { width: 390, height: 844 }
/** Colours do not depend on the language: two combinations of theme and language are enough. */
const VARIANTS = [
  { theme: 'light', language: 'en', viewport: LARGE },
  { theme: 'dark', language: 'ru', viewport: LARGE },
  { theme: 'light', language: 'en', viewport: PHONE },
  { theme: 'dark', language: 'ru', viewport: PHONE },
] as const

type Variant = (typeof VARIANTS)[number]

/** All four in `npm run test:long`; in `npm test` each screen is loaded in one of them, which changes with the seed. */
const variantsOf = (screen: string) =>
  someOf(VARIANTS, 1, ({ theme, viewport }) => `${screen} ${theme} ${viewport.width}`)

interface Visit {
  readonly variant: Variant
  readonly page: Page
  readonly watch: ShiftWatch
  readonly complaints: string[]
  /** Its last screen: a page shows one at a time. */
  last: Promise<unknown>
}

/** One visitor for each variant, from screen to screen: each screen is loaded from scratch, its scripts only once. */
let visits: ReadonlyMap<Variant, Visit>
beforeAll(async () => {
  const variants = browser().isThere ? VARIANTS : []
  visits = new Map(
    await Promise.all(variants.map(async (variant) => [variant, await visit(variant)] as const)),
  )
}, PATIENCE_MS)

async function visit(variant: Variant): Promise<Visit> {
  const { theme, language, viewport } = variant
  const { context, page, complaints } = await browser().visitor({ colorScheme: theme, viewport })
  // Before the time of the test ends, which would not say what the page waits for.
  page.setDefaultTimeout(PATIENCE_MS / 2)
  const kept = JSON.stringify({ theme, language })
  await context.addInitScript(`localStorage.setItem('vitrina.preferences', '${kept}')`)
  return { variant, page, watch: await ShiftWatch.of(page), complaints, last: Promise.resolve() }
}

/** All problems of the page in its current state. Phone width comes last: content may move then. */
async function findingsOf({ variant, page, watch, complaints }: Visit): Promise<object> {
  await watch.settle()
  const { sum, moved } = await watch.movement()
  return {
    variant: nameOf(variant),
    language: await page.locator('html').getAttribute('lang'),
    moves: sum > MOST_MOVEMENT ? [`${sum.toFixed(4)} in total`, ...moved] : [],
    serious: await seriousFindings(page),
    tooWide: await tooWideForAPhone(page),
    complaints: [...complaints],
  }
}

const nameOf = ({ theme, language, viewport }: Variant) => `${theme} ${language} ${viewport.width}`

const clean = (variant: Variant) => ({
  variant: nameOf(variant),
  language: variant.language,
  moves: [],
  serious: [],
  tooWide: [],
  complaints: [],
})

/** Waits until the page of this variant is free. */
function inTurn(variant: Variant, work: (visit: Visit) => Promise<object>): Promise<object> {
  const visit = visits.get(variant)!
  const done = visit.last.then(() => work(visit))
  visit.last = done.catch(() => {})
  return done
}

async function show(each: Visit, path: string, shows: Screen['shows']): Promise<object> {
  each.complaints.length = 0
  await each.page.setViewportSize(each.variant.viewport)
  await each.page.goto(`${line().url}/ui${path}`)
  await each.page.getByText(shows).filter({ visible: true }).first().waitFor()
  return findingsOf(each)
}

describe('no layout shift, no serious accessibility problems, no horizontal scrolling on a phone', () => {
  it(
    'on the sign-in',
    async () => {
      const variants = variantsOf('the sign-in')
      const found = variants.map((variant) =>
        inTurn(variant, (each) => show(each, '/', /Sign in|Вход|Войти/)),
      )
      expect(await Promise.all(found)).toEqual(variants.map(clean))
    },
    PATIENCE_MS,
  )

  const paths = new Map<Screen, string>()
  const expectClean = async (screen: Screen) => {
    const path = paths.get(screen) ?? (await pathOf(screen, stand()))
    const variants = variantsOf(screen.name)
    const found = variants.map((variant) => inTurn(variant, (each) => show(each, path, screen.shows)))
    expect(await Promise.all(found)).toEqual(variants.map(clean))
  }

  // Concurrently: a slow connection is mostly waiting.
  describe.concurrent('when signed in', () => {
    const lasting = SCREENS.filter(({ isBrief = false }) => !isBrief)
    beforeAll(async () => {
      const entered = [...visits.values()].map(({ page }) =>
        stand().open(page, '/runners', undefined, line().url),
      )
      await Promise.all(entered)
      // Before the first screen is loaded: changes during a check would cause layout shift.
      for (const screen of lasting) paths.set(screen, await pathOf(screen, stand()))
    }, PATIENCE_MS)
    for (const screen of lasting) it(`on ${screen.name}`, () => expectClean(screen), PATIENCE_MS)
  })

  describe('after all other screens', () => {
    for (const screen of SCREENS.filter(({ isBrief = false }) => isBrief))
      it(`on ${screen.name}`, () => expectClean(screen), PATIENCE_MS)
  })
})

it('visits every route of the console', async () => {
  const routes = await routesOfConsole()
  expect(routes).toEqual(
    expect.arrayContaining(['/', '/pipelines/$id/data', '/settings/sessions', '/sources']),
  )
  const missing = routes.filter((route) => {
    const pattern = new RegExp(`^${route.replaceAll('$id', '([0-9a-f-]{36}|\\$id)')}(\\?|$)`)
    return !SCREENS.some(({ path }) => pattern.test(path))
  })
  expect(missing).toEqual([])
})
