import { useEffect, useSyncExternalStore } from 'react'

export interface Crumb {
  readonly label: string
  /** Not given: the current page. */
  readonly to?: string
}

let crumbs: readonly Crumb[] = []
const listeners = new Set<() => void>()

/**
 * Sets the title of the tab and the breadcrumb. Every screen calls it once. The title is `film_mart · running · Vitrina`,
 * most specific part first, to distinguish browser tabs.
 */
export function usePage({
  title,
  path,
}: {
  readonly title: readonly string[]
  readonly path: readonly Crumb[]
}): void {
  const text = [...title, 'Vitrina'].join(' · ')
  useEffect(() => {
    document.title = text
  }, [text])
  const key = JSON.stringify(path)
  useEffect(() => {
    crumbs = JSON.parse(key) as Crumb[]
    for (const listener of listeners) listener()
  }, [key])
}

export function useCrumbs(): readonly Crumb[] {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => crumbs,
  )
}
