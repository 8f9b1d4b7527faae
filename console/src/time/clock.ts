import { useSyncExternalStore } from 'react'

/** How far the browser's clock is from that of the database. */
let offsetMs = 0

/** Sets the time of the database. Ages are computed with its clock, not with the browser's. */
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
    // A hidden tab does not tick.
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
