import { describe, expect, it } from 'vitest'
import { partCount } from './part-count.js'

const PLENTY = { freeSlots: 100, freeConnections: 1_000 }

describe('the number of parts', () => {
  it.each([
    ['a small table is one stream', { rows: 400_000, ...PLENTY }, { width: 1, parts: 1 }],
    ['a larger one has parts', { rows: 1_000_000, ...PLENTY }, { width: 4, parts: 4 }],
    ['no part is huge', { rows: 10_000_000, ...PLENTY }, { width: 8, parts: 20 }],
    ['a slot each', { rows: 10_000_000, ...PLENTY, freeSlots: 1 }, { width: 2, parts: 20 }],
    ['no free slot', { rows: 10_000_000, ...PLENTY, freeSlots: 0 }, { width: 1, parts: 1 }],
    ['few connections', { rows: 10_000_000, ...PLENTY, freeConnections: 12 }, { width: 3, parts: 20 }],
  ])('auto: %s', (_, facts, expected) => {
    expect(partCount({ parallelism: null, ...facts })).toEqual(expected)
  })

  it.each([
    ['as requested', { parallelism: 4, rows: 10 }, { width: 4, parts: 4 }],
    ['one stream', { parallelism: 1, rows: 1e9 }, { width: 1, parts: 1 }],
    ['never more than 1,024', { parallelism: 2, rows: 1e12 }, { width: 2, parts: 1024 }],
  ])('%s', (_, facts, expected) => {
    expect(partCount({ freeSlots: 0, freeConnections: 0, ...facts })).toEqual(expected)
  })
})
