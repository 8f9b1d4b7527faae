import { useEffect, useEffectEvent, useSyncExternalStore } from 'react'
import { getPreferences } from '../preferences/preferences.js'

/** A key or a sequence: `?`, `j`, `g p`, `mod+k` (Ctrl, or Cmd on a Mac). */
export interface Shortcut {
  readonly keys: string
  /** What it does, for the help dialog. */
  readonly label: string
  readonly run: () => void
}

interface ShortcutOptions extends Omit<Shortcut, 'run'> {
  /** Default true. */
  readonly isOn?: boolean
}

/** Time between the keys of a sequence. */
const SEQUENCE_MS = 1_000

let active: readonly Shortcut[] = []
const listeners = new Set<() => void>()
let first: { key: string; at: number } | null = null

/** Active while a component is mounted. The last registration wins; the help dialog shows the active shortcuts. */
export function useShortcut({ keys, label, isOn = true }: ShortcutOptions, run: () => void): void {
  const latest = useEffectEvent(run)
  useEffect(() => {
    if (!isOn) return
    const shortcut: Shortcut = { keys, label, run: () => latest() }
    change([...active, shortcut])
    return () => change(active.filter((each) => each !== shortcut))
  }, [keys, label, isOn])
}

export function useActiveShortcuts(): readonly Shortcut[] {
  return useSyncExternalStore(subscribe, () => active)
}

function change(next: readonly Shortcut[]): void {
  active = next
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Listens during the whole life of the tab. */
export function startShortcuts(): void {
  window.addEventListener('keydown', (event) => {
    const key = keyOf(event)
    const isCommand = key.startsWith('mod+')
    if (!isCommand && (isTyping(event.target) || hasDialog() || !getPreferences().shortcuts)) return
    const found = find(key)
    if (found === undefined) return
    event.preventDefault()
    found.run()
  })
}

function find(key: string): Shortcut | undefined {
  const sequence = first !== null && performance.now() - first.at < SEQUENCE_MS ? `${first.key} ${key}` : null
  const found =
    active.findLast(({ keys }) => keys === sequence) ?? active.findLast(({ keys }) => keys === key)
  first = found === undefined ? { key, at: performance.now() } : null
  return found
}

function keyOf({ key, ctrlKey, metaKey, altKey }: KeyboardEvent): string {
  if (altKey) return `alt+${key}`
  return ctrlKey || metaKey ? `mod+${key.toLowerCase()}` : key
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)
}

/** Shortcuts behind a dialog are inactive. */
function hasDialog(): boolean {
  return document.querySelector('[role="dialog"][aria-modal="true"]') !== null
}
