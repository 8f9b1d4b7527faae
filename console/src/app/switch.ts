import { useSyncExternalStore } from 'react'

export interface Switch {
  set(isOn: boolean): void
  use(): boolean
}

/** A shared open/closed state. */
export function openSwitch(): Switch {
  let isOn = false
  const listeners = new Set<() => void>()
  const subscribe = (listener: () => void) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }
  return {
    set: (next) => {
      isOn = next
      for (const listener of listeners) listener()
    },
    use: () => useSyncExternalStore(subscribe, () => isOn),
  }
}
