import type { Page, Request } from 'playwright-core'

/** One layout shift, as the browser reports it. */
interface Shift {
  readonly value: number
  readonly sources: readonly string[]
}

export interface Movement {
  /** The sum of all shifts since the page was opened. */
  readonly sum: number
  /** What moved, largest first. */
  readonly moved: readonly string[]
}

/** Runs in the page before its own scripts. Elements are described by their text: class names are hashes. */
const OBSERVE = `
  const kept = []
  const box = ({ x, y, width, height }) => [x, y, width, height].map(Math.round).join(',')
  const words = (node) => node === null ? 'a removed element'
    : (node.tagName ?? '#text').toLowerCase() + ' "' + (node.textContent ?? '').trim().slice(0, 40) + '"'
  const keep = (entries) => {
    for (const { value, sources } of entries)
      kept.push({ value, sources: sources.map(({ node, previousRect, currentRect }) =>
        words(node) + ' from ' + box(previousRect) + ' to ' + box(currentRect)) })
  }
  const observer = new PerformanceObserver((list) => keep(list.getEntries()))
  observer.observe({ type: 'layout-shift', buffered: true })
  window.layoutShifts = () => { keep(observer.takeRecords()); return kept }
`

/** Records layout shifts and pending requests of a page. */
export class ShiftWatch {
  readonly #page: Page
  readonly #open = new Set<Request>()

  private constructor(page: Page) {
    this.#page = page
  }

  /** Call it before the page is opened. It survives navigation. */
  static async of(page: Page): Promise<ShiftWatch> {
    const watch = new ShiftWatch(page)
    await page.addInitScript(OBSERVE)
    page.on('request', (request) => {
      // The event stream never ends.
      if (!request.url().endsWith('/api/v1/events')) watch.#open.add(request)
    })
    // Navigation ends pending requests, not always with an event.
    page.on('framenavigated', (frame) => frame === page.mainFrame() && watch.#open.clear())
    const close = (request: Request) => void watch.#open.delete(request)
    page.on('requestfinished', close).on('requestfailed', close)
    return watch
  }

  /** Waits until everything is loaded and rendered. A response may trigger another request, so it checks several times. */
  async settle(): Promise<void> {
    for (let calm = 0; calm < 3; ) {
      await this.#page.evaluate(
        'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))',
      )
      const isLoading = await this.#page.evaluate('document.querySelector("[data-skeleton]") !== null')
      calm = isLoading || this.#open.size > 0 ? 0 : calm + 1
    }
  }

  async movement(): Promise<Movement> {
    const shifts = (await this.#page.evaluate('layoutShifts()')) as Shift[]
    return {
      sum: shifts.reduce((sum, { value }) => sum + value, 0),
      moved: shifts
        .toSorted((a, b) => b.value - a.value)
        .map(({ value, sources }) => `${value.toFixed(4)}: ${sources.join('; ')}`),
    }
  }
}
