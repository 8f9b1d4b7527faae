import { expect, it } from 'vitest'
import { decodeLines, encodeLines } from './copy-text.js'

const encoded = (rows: (string | null)[][]) =>
  Buffer.concat([...encodeLines(rows)].map((piece) => Buffer.from(piece)))

it('returns every value that was written', () => {
  const hard = ['', '\\N', '\\', '\\\\', 'a\tb\nc\rd\be\ff\vg', 'Солярис 🎬', '\u0001\uffff', 'n', '\\n']
  const rows = [[...hard], [null, ...hard.slice(1)], hard.map((value) => value.repeat(20_000))]
  const bytes = encoded(rows)
  expect(bytes.at(-1)).toBe(0x0a)
  expect(decodeLines(bytes.subarray(0, -1))).toEqual(rows)
})

it('reads what PostgreSQL writes', () => {
  expect(decodeLines(Buffer.from('1\t\\N\ta\\tb\\\\c\n2\t\t\\\\N'))).toEqual([
    ['1', null, 'a\tb\\c'],
    ['2', '', '\\N'],
  ])
})
