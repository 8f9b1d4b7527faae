import { join } from 'node:path'
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type LaunchOptions,
  type Page,
} from 'playwright-core'
import { afterAll, beforeAll, beforeEach, onTestFinished } from 'vitest'
import { keepProcesses } from '../../support/kept-processes.js'

interface Found {
  readonly path?: string
  readonly missing?: string
}

interface Finder {
  findBrowser(): Found
  launchOptions(path: string): object
}

/** Opens pages for a test. */
export interface TestBrowser {
  /** False: tests are skipped. For setup code. */
  readonly isThere: boolean
  /** A new visitor without cookies or storage. Closed after the test, or after the file. */
  visitor(options?: VisitorOptions): Promise<Visitor>
}

interface VisitorOptions extends BrowserContextOptions {
  /** The test changes the context itself (clock, routes, scripts, network), so it is not reused. */
  readonly changesContext?: boolean
}

export interface Visitor {
  readonly context: BrowserContext
  readonly page: Page
  /** Script errors and policy violations of the page. Must stay empty. */
  readonly complaints: string[]
}

/**
 * The console detects by a 401 that a sign-in is needed. Chromium aborts all requests when a network interface is added or
 * removed, which containers do all the time; the console retries.
 */
const EXPECTED = /401|net::ERR_NETWORK_CHANGED/

interface BrowserOptions {
  /** Scrollbars that take width, as on most desktops; headless Chromium hides them. */
  readonly hasScrollbars?: boolean
}

/**
 * A browser for all tests of a file; files that follow each other in one process share it. Without a browser, tests are
 * skipped with the reason.
 */
export function aBrowser({ hasScrollbars = false }: BrowserOptions = {}): () => TestBrowser {
  let browser: Browser | null = null
  let spares: Spares
  let missing: string | undefined
  beforeAll(async () => {
    const script = new URL('../../../scripts/lib/browser.mjs', import.meta.url).href
    const { findBrowser, launchOptions } = (await import(script)) as Finder
    const found = findBrowser()
    missing = found.missing
    if (found.path === undefined) return
    const shown = hasScrollbars ? { ignoreDefaultArgs: ['--hide-scrollbars'] } : {}
    const options = { ...launchOptions(found.path), ...shown }
    browser = hasScrollbars ? await chromium.launch(options) : await keptBrowser(options)
    spares = new Spares(browser)
  }, 300_000)
  beforeEach(({ skip }) => {
    if (missing !== undefined) skip(missing)
  })
  // Closes what beforeAll of the file opened, and the spares.
  afterAll(async () => {
    if (hasScrollbars) await browser?.close()
    else await Promise.all((browser?.contexts() ?? []).map((context) => context.close()))
  })
  return () => ({ isThere: browser !== null, visitor: (options) => visit(spares, options) })
}

let kept: Browser | null = null

/** To start one takes 1.5 s of CPU time. It ends with this process. */
async function keptBrowser(options: LaunchOptions): Promise<Browser> {
  if (!kept?.isConnected()) kept = await keepProcesses(() => chromium.launch(options))
  return kept
}

/** An unused context with a blank page. */
interface Spare {
  readonly context: BrowserContext
  readonly page: Page
}

/**
 * Contexts without cookies and storage, by their options. They still cache the scripts of the console: a page in a used
 * context takes four fifths of the CPU time of a page in a new one.
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
    // An open page would keep its event stream.
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
      // A failed test may leave the context in any state.
      if (isFailed || changesContext) await context.close()
      else await spares.give(context, options)
    })
  } catch {
    // Not inside a test: closed with the browser.
  }
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('console', (message) => {
    if (message.type() === 'error' && !EXPECTED.test(message.text())) complaints.push(message.text())
  })
  return { context, page, complaints }
}

/** Saves a screenshot of a failed test to the folder `VITRINA_TEST_SCREENSHOTS`. */
async function photograph(context: BrowserContext, name: string): Promise<void> {
  const folder = process.env.VITRINA_TEST_SCREENSHOTS
  if (folder === undefined) return
  for (const [n, page] of context.pages().entries())
    await page.screenshot({ path: join(folder, `${name.replaceAll(/[^\w]+/g, '-')}-${Date.now()}-${n}.png`) })
}
