import { useCallback, useSyncExternalStore } from 'react'
import { useSession } from '../../api/session.js'

/*
 * What is half written stays while somebody looks at other pages of the console. It lives in the memory of the tab:
 * a query is no preference, and may say more than should lie in the storage of a browser. Whoever leaves the tab with
 * something unsaved is asked.
 */
const kept = new Map<string, unknown>()
const listeners = new Set<() => void>()

window.addEventListener('beforeunload', (event) => {
  if (kept.size > 0) event.preventDefault()
})

/** Null: nothing is kept. What one person wrote is not shown to the next who signs in. */
export function useKept<T>(key: string): readonly [T | null, (value: T | null) => void] {
  const { name } = useSession()
  const place = `${name} ${key}`
  const value = useSyncExternalStore(subscribe, () => (kept.get(place) as T | undefined) ?? null)
  const keep = useCallback(
    (next: T | null) => {
      if (next === null) kept.delete(place)
      else kept.set(place, next)
      for (const listener of listeners) listener()
    },
    [place],
  )
  return [value, keep]
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
