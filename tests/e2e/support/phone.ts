import type { Page } from 'playwright-core'

const PHONE = { width: 390, height: 844 }
/** Tabs and code may scroll; everything else must fit. */
const MAY_SCROLL = 'nav, .cm-scroller'

/** Elements that scroll horizontally on a phone. */
export async function tooWideForAPhone(page: Page): Promise<string[]> {
  await page.setViewportSize(PHONE)
  // Wait for content that depends on the width: lists become cards, graphs become lists.
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
  return page.evaluate(`[...document.querySelectorAll('*')]
    .filter((element) => {
      const room = element === document.documentElement ? innerWidth : element.clientWidth
      const isScrolled = element === document.documentElement || /auto|scroll/.test(getComputedStyle(element).overflowX)
      return isScrolled && element.checkVisibility() && element.scrollWidth > room + 1 && element.closest('${MAY_SCROLL}') === null
    })
    .map((element) => element.scrollWidth + ' px: ' + element.cloneNode(false).outerHTML)`)
}
