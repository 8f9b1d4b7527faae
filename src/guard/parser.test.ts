import { expect, it } from 'vitest'
import { waitFor } from '../../tests/support/wait.js'
import { Parser } from './parser.js'
import { PassedTexts } from './passed-texts.js'

it('keeps a thread only while texts arrive, and starts another for the next one', async () => {
  const parser = new Parser({ idleMs: 20 })
  expect(parser.isRunning).toBe(false)
  for (let time = 0; time < 3; time++) {
    const texts = [1, 2, 3].map((n) => parser.parse(`SELECT ${n}`))
    expect((await Promise.all(texts)).map(({ kind }) => kind)).toEqual(['tree', 'tree', 'tree'])
    await waitFor(async () => !parser.isRunning, { what: 'the thread to end' })
  }
})

it('keeps a limited number of texts, the most recently used ones', () => {
  const texts = new PassedTexts(30)
  const verdict = { ok: true as const, relations: [] }
  for (const key of ['a', 'b', 'c']) texts.keep(key.repeat(10), verdict)
  expect(texts.find('a'.repeat(10))).toBe(verdict)
  texts.keep('d'.repeat(10), verdict)
  expect(['a', 'b', 'c', 'd'].map((key) => texts.find(key.repeat(10)) !== null)).toEqual([
    true,
    false,
    true,
    true,
  ])
  texts.keep('e'.repeat(31), verdict)
  expect(texts.characters).toBe(0)
})
