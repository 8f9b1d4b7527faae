import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { aBrowser } from './support/browser.js'
import { aConsoleStand } from './support/stand.js'

const ASSETS = fileURLToPath(new URL('../../console/dist/assets', import.meta.url))
const BUDGET = 250_000
const stand = aConsoleStand()
const browser = aBrowser()

describe('the first load', () => {
  it('needs at most 250 kB of script, packed', async () => {
    const { page } = await browser().visitor()
    const scripts = new Set<string>()
    page.on('response', (response) => {
      const [, file] = /\/ui\/assets\/([^/]+\.js)$/.exec(new URL(response.url()).pathname) ?? []
      if (file !== undefined) scripts.add(file)
    })
    await stand().open(page)
    await page.getByText('film_dim_full').waitFor()
    const bytes = [...scripts].map((file) => gzipSync(readFileSync(join(ASSETS, file))).length)
    expect(bytes.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(BUDGET)
  })

  it('asks for no editor, no chart and no graph', async () => {
    const names = readdirSync(ASSETS).filter((file) => file.endsWith('.js'))
    const html = readFileSync(join(ASSETS, '../index.html'), 'utf8')
    for (const name of names.filter((file) => /Editor|Chart|Graph|Palette/.test(file)))
      expect(html).not.toContain(name)
  })

  it('has no script and no style inside the page', () => {
    const html = readFileSync(join(ASSETS, '../index.html'), 'utf8')
    expect(html).not.toMatch(/<script(?![^>]*\ssrc=)/)
    expect(html).not.toContain('<style')
  })
})
