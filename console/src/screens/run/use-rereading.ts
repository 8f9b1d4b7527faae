import { useEffect, useRef } from 'react'
import { queryClient } from '../../api/query-client.js'
import { RUN_KEY } from '../../api/runs.js'
import { useLiveEvents } from '../../live/live.js'

/** Log lines are written shortly after the event. */
const SOON_MS = 1_000
/** A run with a thousand batches is a large response. */
const LATER_MS = 15_000

/**
 * Requests data that events do not contain: new log lines soon after every event; the run itself (hint, route, held-back
 * checkpoint, keys of batches) soon after a change of status, and later after progress. A run that waited for a runner is
 * requested again with its next batch, because another runner holds it now.
 */
export function useRereading(id: string, waitsForRunner: boolean): void {
  const log = useDelayed(() => queryClient.invalidateQueries({ queryKey: ['run-log', id] }))
  const run = useDelayed(() => queryClient.invalidateQueries({ queryKey: [...RUN_KEY, id] }))
  const runLater = useDelayed(() => queryClient.invalidateQueries({ queryKey: [...RUN_KEY, id] }))
  useLiveEvents((events) => {
    const own = events.filter(({ run_id }) => run_id === id)
    if (own.length === 0) return
    log(SOON_MS)
    if (waitsForRunner || own.some(({ kind }) => kind === 'run.status' || kind === 'run.stalled'))
      run(SOON_MS)
    else runLater(LATER_MS)
  })
}

/** Runs once after the delay, however often it is requested; never after unmounting. */
function useDelayed(work: () => Promise<unknown>): (ms: number) => void {
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null)
  useEffect(
    () => () => {
      if (timer.current !== null) clearTimeout(timer.current)
      timer.current = null
    },
    [],
  )
  return (ms) => {
    timer.current ??= setTimeout(() => {
      timer.current = null
      void work()
    }, ms)
  }
}
