import { useEffect, useState } from 'react'

const STILL_MS = 1_500
let movedAt = 0
window.addEventListener('pointermove', () => {
  movedAt = performance.now()
})

export interface RowOrder<Row> {
  readonly keyOf: (row: Row) => string
  readonly compare: (a: Row, b: Row) => number
  readonly sortKey: string
}

/**
 * Sorted rows that do not move under the pointer: values change in place, but a new order waits until the pointer rests.
 * When `sortKey` changes, it applies immediately.
 */
export function useStableOrder<Row>(
  rows: readonly Row[],
  { keyOf, compare, sortKey }: RowOrder<Row>,
): readonly Row[] {
  const [order, setOrder] = useState<{ sortKey: string; keys: readonly string[] }>({ sortKey: '', keys: [] })
  const sorted = [...rows].sort(compare)
  const wanted = sorted.map(keyOf)
  const known = new Set(order.keys)
  const sameRows = wanted.length === known.size && wanted.every((key) => known.has(key))
  const isNow = order.sortKey !== sortKey || !sameRows
  const keys = wanted.join(' ')
  useEffect(() => {
    const take = () => setOrder({ sortKey, keys: keys === '' ? [] : keys.split(' ') })
    if (isNow) return take()
    const timer = setInterval(() => {
      if (performance.now() - movedAt < STILL_MS) return
      take()
      clearInterval(timer)
    }, 250)
    return () => clearInterval(timer)
  }, [sortKey, keys, isNow])
  if (isNow) return sorted
  const place = new Map(order.keys.map((key, n) => [key, n]))
  return sorted.sort((a, b) => (place.get(keyOf(a)) ?? 0) - (place.get(keyOf(b)) ?? 0))
}
