import { useState } from 'react'
import type { RunsFilter } from '../../api/runs.js'
import type { LiveEvent } from '../../live/event.js'
import { useLiveEvents } from '../../live/live.js'

/**
 * New runs that are not in the list yet. They are counted, not inserted, so that the list does not move while a user reads
 * it. Call `clear` after reloading the list.
 */
export function useNewRuns(known: readonly string[], filter: RunsFilter) {
  const [found, setFound] = useState<ReadonlySet<string>>(new Set())
  useLiveEvents((events) => {
    const ids = events.filter((event) => isWanted(event, filter)).map(({ run_id }) => run_id ?? '')
    const unknown = ids.filter((id) => !known.includes(id))
    if (unknown.length > 0) setFound((before) => new Set([...before, ...unknown]))
  })
  const fresh = [...found].filter((id) => !known.includes(id))
  return { count: fresh.length, clear: () => setFound(new Set()) }
}

/** Without a status filter, only new runs count: an old run that ends is further down. */
function isWanted(event: LiveEvent, { status, pipeline_id, until }: RunsFilter): boolean {
  if (event.kind !== 'run.status') return false
  if (pipeline_id !== undefined && event.pipeline_id !== pipeline_id) return false
  if (until !== undefined && event.at >= until) return false
  return (status ?? ['REQUESTED']).includes(event.status)
}
