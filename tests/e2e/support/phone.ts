import type { Page } from 'playwright-core'

const PHONE = { width: 390, height: 844 }
/** Tabs and code are as long as they are; everything else has to fit. */
const MAY_SCROLL = 'nav, .cm-scroller'

/** What somebody with a phone would have to scroll sideways to see, on the page as it stands. */
export async function tooWideForAPhone(page: Page): Promise<string[]> {
  await page.setViewportSize(PHONE)
  // Lists become cards, graphs become lists: what depends on the width is drawn again.
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
  return page.evaluate(`[...document.querySelectorAll('*')]
    .filter((element) => {
      const room = element === document.documentElement ? innerWidth : element.clientWidth
      const isScrolled = element === document.documentElement || /auto|scroll/.test(getComputedStyle(element).overflowX)
      return isScrolled && element.checkVisibility() && element.scrollWidth > room + 1 && element.closest('${MAY_SCROLL}') === null
    })
    .map((element) => element.scrollWidth + ' px: ' + element.cloneNode(false).outerHTML)`)
}
