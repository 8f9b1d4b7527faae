import { useEffect, useEffectEvent, useSyncExternalStore } from 'react'
import { onReachable } from '../api/client.js'
import { queryClient } from '../api/query-client.js'
import { sessionQuery } from '../api/session.js'
import type { LiveEvent } from './event.js'
import { EventStream, type LiveState } from './event-stream.js'

type Handler = (events: readonly LiveEvent[]) => void

const handlers = new Set<Handler>()
const stateListeners = new Set<() => void>()
let state: LiveState = 'connecting'
let isReachable = true

/** Queries without events: repeating them would make the server try all its connections. */
const WITHOUT_EVENTS: ReadonlySet<unknown> = new Set(['session', 'connections'])

const stream = new EventStream({
  onEvents: (events) => {
    for (const handler of handlers) handler(events)
  },
  onGap: () =>
    void queryClient.invalidateQueries({ predicate: ({ queryKey }) => !WITHOUT_EVENTS.has(queryKey[0]) }),
  onState: (next) => {
    state = next
    notify()
  },
})

onReachable((now) => {
  if (now === isReachable) return
  isReachable = now
  notify()
  // Repeat failed requests; everything else is updated by the missed events.
  if (now)
    void queryClient.refetchQueries({
      predicate: ({ state }) => state.status === 'error' || state.error !== null,
    })
})

function notify(): void {
  for (const listener of stateListeners) listener()
}

/** Events during the whole life of the tab; see live/patches.ts. */
export function onLiveEvents(handler: Handler): () => void {
  handlers.add(handler)
  return () => handlers.delete(handler)
}

/** Events while a screen is mounted. The handler may change with every render. */
export function useLiveEvents(handler: Handler): void {
  const latest = useEffectEvent(handler)
  useEffect(() => onLiveEvents((events) => latest(events)), [])
}

/** Keeps the stream open while a user is signed in. Used once, by the shell. */
export function useLiveStream(): void {
  useEffect(() => {
    if (queryClient.getQueryData(sessionQuery.queryKey) === null) return
    stream.start()
    return () => stream.stop()
  }, [])
}

export function useLiveState(): LiveState {
  return useSyncExternalStore(subscribe, () => state)
}

/** False from the first request without a response until the first one with a response. */
export function useReachable(): boolean {
  return useSyncExternalStore(subscribe, () => isReachable)
}

/** Milliseconds since the last contact with the server. */
export function silenceMs(): number {
  return performance.now() - stream.heardAt
}

function subscribe(listener: () => void): () => void {
  stateListeners.add(listener)
  return () => stateListeners.delete(listener)
}
