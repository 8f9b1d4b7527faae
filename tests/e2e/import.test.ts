import { expect, it } from 'vitest'
import { aBrowser } from './support/browser.js'
import { tooWideForAPhone } from './support/phone.js'
import { aConsoleStand } from './support/stand.js'

const stand = aConsoleStand({ hasRunner: false })
const browser = aBrowser()

const YAML = `apiVersion: vitrina/v1
name: titles_from_yaml
source_query: SELECT id, title FROM content.film_work
target_table: analytics.titles_from_yaml
key_columns: [id]
---
pipelines:
  - name: film_dim_full
    description: changed by an import
  - name: genre_dim_full
    batch_size: many
`

it('plans pipelines of a YAML file, and saves those that the server does not refuse', async () => {
  const { page, complaints } = await browser().visitor()
  await stand().open(page)
  await page.getByRole('link', { name: 'Import YAML' }).click()
  const choose = page.locator('input[type=file]')
  const file = (text: string) => ({ name: 'p.yaml', mimeType: 'text/yaml', buffer: Buffer.from(text) })
  await choose.setInputFiles(file('name: broken\nsource_query_file: a.sql\n'))
  await page.getByText('Line 1: source_query_file speaks of something beside the file.').waitFor()
  expect(await page.getByRole('button', { name: 'Plan' }).isDisabled()).toBe(true)

  await choose.setInputFiles(file(YAML))
  await page.getByRole('button', { name: 'Plan' }).click()
  const entry = (name: string) => page.getByRole('listitem', { name })
  await entry('titles_from_yaml').getByText('new', { exact: true }).waitFor()
  await entry('film_dim_full').getByText('changed by an import').waitFor()
  await entry('genre_dim_full').getByText('refused', { exact: true }).waitFor()
  const names = async () => {
    const { data } = await stand().api.GET('/pipelines', { params: { query: { limit: 50 } } })
    return data!.items.map(({ name, description }) => `${name}: ${description}`)
  }
  expect((await names()).join()).not.toMatch(/titles_from_yaml|changed by an import/)

  await page.getByRole('button', { name: 'Apply 2 changes' }).click()
  await entry('titles_from_yaml').getByText('saved', { exact: true }).waitFor()
  await entry('film_dim_full').getByText('saved', { exact: true }).waitFor()
  expect(await names()).toEqual(
    expect.arrayContaining(['titles_from_yaml: ', 'film_dim_full: changed by an import']),
  )
  expect(await tooWideForAPhone(page)).toEqual([])
  // What the browser itself says about the plan that was refused, once.
  expect(complaints).toEqual([expect.stringContaining('422')])
})
