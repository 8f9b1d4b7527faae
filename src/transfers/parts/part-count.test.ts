import { describe, expect, it } from 'vitest'
import { enginePartCount, partCount } from './part-count.js'

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

it.each<[string, Parameters<typeof enginePartCount>[0], number, number]>([
  ['two parts of a small table', { parallelism: null, rows: 10, freeConnections: 200 }, 2, 2],
  ['auto by the rows', { parallelism: null, rows: 1_000_000, freeConnections: 200 }, 20, 20],
  ['1, the default, as auto', { parallelism: 1, rows: 1_000_000, freeConnections: 200 }, 20, 20],
  ['a quarter of the free connections', { parallelism: null, rows: 10_000_000, freeConnections: 40 }, 10, 20],
  ['64 at once', { parallelism: null, rows: 100_000_000, freeConnections: 2_000 }, 64, 200],
  ['the number of the pipeline', { parallelism: 8, rows: 100, freeConnections: 2 }, 8, 8],
])('an engine gets %s', (_what, demand, width, parts) => {
  expect(enginePartCount(demand)).toEqual({ width, parts })
})
