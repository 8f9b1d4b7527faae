import { join } from 'node:path'
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core'
import { afterAll, beforeAll, beforeEach, onTestFinished } from 'vitest'

interface Found {
  readonly path?: string
  readonly missing?: string
}

interface Finder {
  findBrowser(): Found
  launchOptions(path: string): object
}

/** What a test opens pages with. */
export interface TestBrowser {
  /** False: tests are skipped. For what is done before them. */
  readonly isThere: boolean
  /** A visitor of their own: no cookie, nothing kept. Gone after the test, or after the file. */
  visitor(options?: VisitorOptions): Promise<Visitor>
}

interface VisitorOptions extends BrowserContextOptions {
  /** The test changes the context itself (clock, routes, scripts, network), so no other test may get it. */
  readonly changesContext?: boolean
}

export interface Visitor {
  readonly context: BrowserContext
  readonly page: Page
  /** What the page complained about: errors of scripts, refusals of the policy. Must stay empty. */
  readonly complaints: string[]
}

/**
 * A 401 before the sign-in is how the console learns that it needs one. Chromium drops all requests when an interface
 * of the machine comes or goes, which containers do all the time; the console asks again.
 */
const EXPECTED = /401|net::ERR_NETWORK_CHANGED/

interface BrowserOptions {
  /** Scrollbars that take width, as most desktops have; headless Chromium hides them. */
  readonly hasScrollbars?: boolean
}

/** One browser for all tests of a file. Where there is none, they are skipped by name and with the reason. */
export function aBrowser({ hasScrollbars = false }: BrowserOptions = {}): () => TestBrowser {
  let browser: Browser | null = null
  let spares: Spares
  let missing: string | undefined
  beforeAll(async () => {
    const script = new URL('../../../scripts/lib/browser.mjs', import.meta.url).href
    const { findBrowser, launchOptions } = (await import(script)) as Finder
    const found = findBrowser()
    missing = found.missing
    const shown = hasScrollbars ? { ignoreDefaultArgs: ['--hide-scrollbars'] } : {}
    if (found.path === undefined) return
    browser = await chromium.launch({ ...launchOptions(found.path), ...shown })
    spares = new Spares(browser)
  }, 300_000)
  beforeEach(({ skip }) => {
    if (missing !== undefined) skip(missing)
  })
  afterAll(() => browser?.close())
  return () => ({ isThere: browser !== null, visitor: (options) => visit(spares, options) })
}

/** A context that no test uses now, with a blank page for the next one. */
interface Spare {
  readonly context: BrowserContext
  readonly page: Page
}

/**
 * Contexts without cookies and without storage, by their options. They still have the scripts of the console: a page in
 * a used context takes four fifths of the processor time of a page in a new one.
 */
class Spares {
  readonly #browser: Browser
  readonly #spares = new Map<string, Spare[]>()

  constructor(browser: Browser) {
    this.#browser = browser
  }

  async take(options: BrowserContextOptions): Promise<Spare> {
    const spare = this.#spares.get(JSON.stringify(options))?.pop()
    if (spare !== undefined) return spare
    const context = await this.#browser.newContext(options)
    return { context, page: await context.newPage() }
  }

  async give(context: BrowserContext, options: BrowserContextOptions): Promise<void> {
    // A page that is left open keeps its stream, and the machine busy.
    await Promise.all(context.pages().map((page) => page.close()))
    const page = await context.newPage()
    const debug = await context.newCDPSession(page)
    await debug.send('Storage.clearDataForOrigin', { origin: '*', storageTypes: 'all' })
    await debug.detach()
    const key = JSON.stringify(options)
    this.#spares.set(key, [...(this.#spares.get(key) ?? []), { context, page }])
  }
}

async function visit(
  spares: Spares,
  { changesContext = false, ...own }: VisitorOptions = {},
): Promise<Visitor> {
  const options = { viewport: { width: 1440, height: 900 }, locale: 'en-GB', timezoneId: 'UTC', ...own }
  const { context, page } = await spares.take(options)
  try {
    onTestFinished(async ({ task }) => {
      const isFailed = task.result?.state === 'fail'
      if (isFailed) await photograph(context, task.name)
      // A failed test may have left anything behind.
      if (isFailed || changesContext) await context.close()
      else await spares.give(context, options)
    })
  } catch {
    // Not inside a test: the browser takes it along.
  }
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('console', (message) => {
    if (message.type() === 'error' && !EXPECTED.test(message.text())) complaints.push(message.text())
  })
  return { context, page, complaints }
}

/** `VITRINA_TEST_SCREENSHOTS` names a folder: what a failed test saw last is kept there. */
async function photograph(context: BrowserContext, name: string): Promise<void> {
  const folder = process.env.VITRINA_TEST_SCREENSHOTS
  if (folder === undefined) return
  for (const [n, page] of context.pages().entries())
    await page.screenshot({ path: join(folder, `${name.replaceAll(/[^\w]+/g, '-')}-${Date.now()}-${n}.png`) })
}
