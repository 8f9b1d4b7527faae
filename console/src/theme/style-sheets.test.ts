import { readdir, readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'

const SOURCES = new URL('..', import.meta.url)
const API_TYPES = new URL('../../../src/client/api-types.ts', import.meta.url)

it('style sheets select only values that the code can set: [data-state="silent"]', async () => {
  const files = (await readdir(SOURCES, { recursive: true })).filter((file) => /\.(?:css|tsx?)$/.test(file))
  const texts = await Promise.all(
    files.map(async (file) => ({ file, text: await readFile(new URL(file, SOURCES), 'utf8') })),
  )
  const code = [
    await readFile(API_TYPES, 'utf8'),
    ...texts.filter(({ file }) => !/\.css$|\.test\.ts$/.test(file)).map(({ text }) => text),
  ].join('\n')
  const known = new Set(code.match(/[\w-]+/g))
  const selected = texts
    .filter(({ file }) => file.endsWith('.css'))
    .flatMap(({ file, text }) =>
      [...text.matchAll(/\[(?:data|aria)-[\w-]+=["']?([\w-]+)["']?\]/g)].map((found) => ({ file, found })),
    )
  expect(selected.length).toBeGreaterThan(50)
  const unknown = selected.filter(({ found }) => !known.has(found[1]!))
  expect(unknown.map(({ file, found }) => `${file}: ${found[0]}`)).toEqual([])
})
