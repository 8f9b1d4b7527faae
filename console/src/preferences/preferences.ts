import { useSyncExternalStore } from 'react'

/** Preferences of a user, stored in this browser only. None of them is secret. */
export interface Preferences {
  readonly theme: 'auto' | 'light' | 'dark'
  /** `pseudo` stretches every text, for layout tests; it is not in the menu. */
  readonly language: 'en' | 'ru' | 'pseudo'
  /** `utc`, `browser`, or the name of a zone such as Europe/Moscow. */
  readonly zone: string
  readonly shortcuts: boolean
  readonly rail: 'wide' | 'narrow'
  /** Density of lists. */
  readonly density: 'comfortable' | 'compact'
  /** Saved views of lists. */
  readonly views: readonly SavedView[]
}

export interface SavedView {
  readonly name: string
  /** The part of the address after `/pipelines`. */
  readonly search: string
}

const KEY = 'vitrina.preferences'

const DEFAULTS: Preferences = {
  theme: 'auto',
  language: navigator.language.startsWith('ru') ? 'ru' : 'en',
  zone: 'browser',
  shortcuts: true,
  rail: 'wide',
  density: 'comfortable',
  views: [],
}

let current: Preferences = read()
const listeners = new Set<() => void>()

// Another tab changed them.
window.addEventListener('storage', ({ key }) => {
  if (key === KEY) change(read())
})

export function getPreferences(): Preferences {
  return current
}

export function setPreferences(some: Partial<Preferences>): void {
  change({ ...current, ...some })
  try {
    localStorage.setItem(KEY, JSON.stringify(current))
  } catch {
    // Storage is blocked or full: preferences last as long as the page.
  }
}

export function usePreferences(): Preferences {
  return useSyncExternalStore(subscribe, getPreferences)
}

function change(next: Preferences): void {
  current = next
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function read(): Preferences {
  try {
    return { ...DEFAULTS, ...JSON.parse(localStorage.getItem(KEY) ?? '{}') }
  } catch {
    return DEFAULTS
  }
}
