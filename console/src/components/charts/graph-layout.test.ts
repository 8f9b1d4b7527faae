import { describe, expect, it } from 'vitest'
import { type Arrow, layOut } from './graph-layout.js'

const box = (id: string, height = 50) => ({ id, width: 200, height })
const arrows = (...pairs: string[]): Arrow[] =>
  pairs.map((pair) => ({ from: pair.split('>')[0]!, to: pair.split('>')[1]! }))

describe('the layout', () => {
  it('goes from left to right along the arrows, without overlaps', () => {
    const boxes = ['a', 'b', 'c', 'p', 'm', 'q', 'n'].map((id, n) => box(id, 40 + n * 30))
    const { places, width, height } = layOut(boxes, arrows('a>p', 'b>p', 'c>p', 'p>m', 'm>q', 'q>n'))
    const x = (id: string) => places.get(id)!.x
    expect(x('a')).toBe(x('c'))
    expect([x('a') < x('p'), x('p') < x('m'), x('m') < x('q'), x('q') < x('n')]).not.toContain(false)
    for (const one of boxes)
      for (const other of boxes) {
        if (one === other || x(one.id) !== x(other.id)) continue
        const [above, below] = [one, other].sort((l, r) => places.get(l.id)!.y - places.get(r.id)!.y)
        expect(places.get(above!.id)!.y + above!.height).toBeLessThan(places.get(below!.id)!.y)
      }
    for (const one of boxes) {
      expect(places.get(one.id)!.y).toBeGreaterThanOrEqual(0)
      expect(places.get(one.id)!.y + one.height).toBeLessThanOrEqual(height)
      expect(x(one.id) + one.width).toBeLessThanOrEqual(width)
    }
  })

  it('puts a source next to its reader, not at the far left', () => {
    const { places } = layOut(
      ['a', 'p', 'm', 'late', 'q'].map((id) => box(id)),
      arrows('a>p', 'p>m', 'm>q', 'late>q'),
    )
    expect(places.get('late')!.x).toBe(places.get('m')!.x)
  })

  it('terminates for cycles and for an empty graph', () => {
    const { places } = layOut(
      ['m', 'p'].map((id) => box(id)),
      arrows('m>p', 'p>m', 'p>gone'),
    )
    expect(places.size).toBe(2)
    expect(layOut([], [])).toEqual({ places: new Map(), width: 0, height: 0 })
  })

  it('does not cross two unconnected chains', () => {
    const { places } = layOut(
      ['a', 'b', 'q', 'p', 'm', 'n'].map((id) => box(id)),
      arrows('a>p', 'b>q', 'p>m', 'q>n'),
    )
    const above = (one: string, other: string) => places.get(one)!.y < places.get(other)!.y
    expect(above('a', 'b')).toBe(above('p', 'q'))
    expect(above('p', 'q')).toBe(above('m', 'n'))
  })
})
