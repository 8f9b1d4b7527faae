import { useSyncExternalStore } from 'react'

/** How far the browser's clock is from that of the database. */
let offsetMs = 0

/** The database said what time it is. Ages are told by its clock, not by the browser's. */
export function setServerTime(at: string): void {
  offsetMs = Date.parse(at) - Date.now()
}

export function serverNow(): number {
  return Date.now() + offsetMs
}

const listeners = new Set<() => void>()
let tick = 0
let timer: ReturnType<typeof setInterval> | null = null

/** The time, once a second: one timer for everything that shows an age. */
export function useNow(): number {
  useSyncExternalStore(subscribe, () => tick)
  return serverNow()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  timer ??= setInterval(() => {
    // Nobody looks at a hidden tab; it ticks again when somebody does.
    if (document.hidden) return
    tick += 1
    for (const each of listeners) each()
  }, 1000)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0 || timer === null) return
    clearInterval(timer)
    timer = null
  }
}
