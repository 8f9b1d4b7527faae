import { useEffect, useRef } from 'react'
import { queryClient } from '../../api/query-client.js'
import { RUN_KEY } from '../../api/runs.js'
import { useLiveEvents } from '../../live/live.js'

/** Lines of the log are written a moment after what they tell. */
const SOON_MS = 1_000
/** A run with a thousand batches is not small. */
const LATER_MS = 15_000

/**
 * What events do not tell is read again: new lines of the log soon, whatever happened; the run itself (its hint, its
 * way, what holds it back, the keys of batches) soon when its status changed and later when it only went on. A run that
 * waited for a runner is read again with its next batch: another runner has it now.
 */
export function useRereading(id: string, waitsForRunner: boolean): void {
  const log = useDelayed(() => queryClient.invalidateQueries({ queryKey: ['run-log', id] }))
  const run = useDelayed(() => queryClient.invalidateQueries({ queryKey: [...RUN_KEY, id] }))
  const runLater = useDelayed(() => queryClient.invalidateQueries({ queryKey: [...RUN_KEY, id] }))
  useLiveEvents((events) => {
    const own = events.filter(({ run_id }) => run_id === id)
    if (own.length === 0) return
    log(SOON_MS)
    if (waitsForRunner || own.some(({ kind }) => kind === 'run.status')) run(SOON_MS)
    else runLater(LATER_MS)
  })
}

/** Once after the pause, however often it is asked for; never when the screen is gone. */
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
