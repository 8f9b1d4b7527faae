import { useCallback, useSyncExternalStore } from 'react'
import { useSession } from '../../api/session.js'

/*
 * Unsaved input survives navigation inside the console. It is kept in the memory of the tab, because a query may contain
 * data that should not be in browser storage. Leaving the tab with unsaved input asks for confirmation.
 */
const unsaved = new Map<string, unknown>()
const listeners = new Set<() => void>()

window.addEventListener('beforeunload', (event) => {
  if (unsaved.size > 0) event.preventDefault()
})

/** Null: no unsaved input. Input of one user is not shown to the next one. */
export function useUnsaved<T>(key: string): readonly [T | null, (value: T | null) => void] {
  const { name } = useSession()
  const place = `${name} ${key}`
  const value = useSyncExternalStore(subscribe, () => (unsaved.get(place) as T | undefined) ?? null)
  const keep = useCallback(
    (next: T | null) => {
      if (next === null) unsaved.delete(place)
      else unsaved.set(place, next)
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
