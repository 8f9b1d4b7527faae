import { describe, expect, it } from 'vitest'
import { lineDiff } from './line-diff.js'

const lines = (...numbers: number[]) => numbers.join('\n')

describe('the difference of two texts', () => {
  it('shows added, removed and surrounding lines', () => {
    expect(lineDiff(lines(1, 2, 3, 4, 5, 6, 7), lines(1, 2, 3, 9, 5, 6, 7))).toEqual([
      '  …',
      '  2',
      '  3',
      '- 4',
      '+ 9',
      '  5',
      '  6',
      '  …',
    ])
  })

  it('shows distant changes separately', () => {
    expect(lineDiff(lines(1, 2, 3), lines(0, 1, 3, 4))).toEqual(['+ 0', '  1', '- 2', '  3', '+ 4'])
  })

  it('shows a text that is all new', () => {
    expect(lineDiff('', 'a\nb')).toEqual(['- ', '+ a', '+ b'])
  })
})
