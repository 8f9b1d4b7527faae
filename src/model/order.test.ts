import { describe, expect, it } from 'vitest'
import { findCycles, inOrder, longestPaths, type OrderFacts } from './order.js'

const named = (n: number) => `p${n}`

/** Each pipeline follows those with the given numbers. */
function graph(size: number, upstreamsOf: (n: number) => readonly number[]): OrderFacts[] {
  return Array.from({ length: size }, (_, n) => ({
    ...{ name: named(n), target: `t${n}`, reads: [] },
    after: upstreamsOf(n).map(named),
  }))
}

const namesOf = (all: readonly OrderFacts[]) => new Set(all.map(({ name }) => name))

/** The hundred before it. */
const before = (n: number) => Array.from({ length: Math.min(n, 100) }, (_, back) => n - 1 - back)

describe('the cycles of pipelines', () => {
  it('are the shortest ones, each once', () => {
    const all = graph(7, (n) => [[2], [0], [1, 3], [2], [3], [6], [5]][n]!)
    const found = findCycles(all, namesOf(all)).map((path) => path.join(' '))
    expect(found).toEqual(['p0 p1 p2 p0', 'p3 p2 p3', 'p5 p6 p5'])
    expect(findCycles(all, new Set(['p4']))).toEqual([])
  })

  // A search from each of them took more than a minute.
  it('are not searched for where pipelines only follow earlier ones', () => {
    const all = graph(4_000, before)
    expect(findCycles(all, namesOf(all))).toEqual([])
    expect(inOrder(all, all.map(({ name }) => name).reverse()).slice(0, 2)).toEqual(['p0', 'p1'])
  }, 30_000)

  it('are at most a hundred', () => {
    // Pairs that follow each other.
    const all = graph(500, (n) => [n ^ 1])
    expect(findCycles(all, namesOf(all))).toHaveLength(100)
  })

  it('and the order of a chain may be longer than the stack', () => {
    const all = graph(12_000, (n) => (n === 0 ? [] : [n - 1]))
    expect(inOrder(all, ['p11999', 'p7'])).toEqual(['p7', 'p11999'])
    const [path] = findCycles([{ ...all[0]!, after: ['p11999'] }, ...all.slice(1)], new Set(['p3']))
    expect(path).toHaveLength(12_001)
  })
})

describe('the longest paths', () => {
  const edges = (...pairs: string[]) => pairs.map((pair) => ({ from: pair[0]!, to: pair[1]! }))

  it('count the steps from what follows nothing', () => {
    const steps = longestPaths([...'dcba'], edges('ab', 'bc', 'ac', 'cd', 'ad', 'xa'))
    expect(Object.fromEntries(steps)).toEqual({ a: 0, b: 1, c: 2, d: 3 })
    expect(Object.fromEntries(longestPaths([...'abc'], edges('ab', 'bc', 'cb')))).toEqual({
      a: 0,
      b: 1,
      c: 0,
    })
  })
})
