import type { InfiniteData } from '@tanstack/react-query'
import { CHECKS_KEY } from '../api/checks.js'
import { leaving, pipelineKey } from '../api/pipeline.js'
import { OVERVIEW_KEY, type OverviewFilter } from '../api/pipelines.js'
import { QUARANTINE_KEY } from '../api/quarantine.js'
import { queryClient } from '../api/query-client.js'
import { RUN_KEY, RUNS_KEY } from '../api/runs.js'
import type { Overview, RunDetail, RunPage } from '../api/wire.js'
import { isOver } from '../facts/run-result.js'
import type { LiveEvent } from './event.js'
import { onLiveEvents } from './live.js'
import { patchOverview } from './patch-overview.js'
import { patchRunDetail, patchRunPages } from './patch-runs.js'

/**
 * Keeps the cache up to date without requests: every query that events can update is patched here. Data that events do
 * not contain (the columns of a new pipeline, the next run of a schedule) is requested again shortly afterwards, at most
 * once per interval.
 */
export function startPatching(): () => void {
  const soon = rereader(2_000)
  const later = rereader(15_000)
  return onLiveEvents((events) => {
    queryClient.setQueriesData<Overview>({ queryKey: OVERVIEW_KEY }, (overview) =>
      overview === undefined ? overview : patchOverview(overview, events),
    )
    queryClient.setQueriesData<InfiniteData<RunPage>>({ queryKey: RUNS_KEY }, (runs) =>
      runs === undefined ? runs : patchRunPages(runs, events),
    )
    queryClient.setQueriesData<RunDetail>({ queryKey: RUN_KEY }, (run) =>
      run === undefined ? run : patchRunDetail(run, events),
    )
    if (events.some(isAboutTheList)) soon(() => true)
    // Only the server knows which pipelines enter or leave a filter.
    if (events.some(({ kind }) => kind === 'pipeline.status')) soon(({ status }) => status !== undefined)
    // Only the list contains the hint of an error.
    if (events.some(isFailure)) soon(() => true)
    if (events.some(isEnd)) later(() => true)
    if (events.some((event) => event.kind === 'check.failed' || isEnd(event)))
      void queryClient.invalidateQueries({ queryKey: CHECKS_KEY })
    if (events.some(({ kind }) => kind === 'quarantine.settled'))
      void queryClient.invalidateQueries({ queryKey: QUARANTINE_KEY })
    rereadPipelines(events)
  })
}

function isAboutTheList({ kind }: LiveEvent): boolean {
  return kind === 'pipeline.created' || kind === 'pipeline.deleted' || kind === 'pipeline.changed'
}

function isEnd(event: LiveEvent): boolean {
  return event.kind === 'run.status' && isOver(event.status)
}

function isFailure(event: LiveEvent): boolean {
  return event.kind === 'run.status' && event.status === 'FAILED'
}

/** Data of a pipeline is outdated when it was changed and when a run started or ended. Batches and comparisons change nothing. */
function rereadPipelines(events: readonly LiveEvent[]): void {
  const changed = new Set<string>()
  for (const { kind, pipeline_id } of events)
    if (kind !== 'run.batch' && kind !== 'pipeline.compared' && !leaving.has(pipeline_id))
      changed.add(pipeline_id)
  for (const id of changed)
    void queryClient.invalidateQueries({
      queryKey: pipelineKey(id),
      // Expensive queries are not repeated for every run.
      predicate: ({ queryKey }) => queryKey[2] !== 'reconcile' && queryKey[2] !== 'validation',
    })
  for (const { kind, pipeline_id } of events)
    if (kind === 'pipeline.changed')
      void queryClient.invalidateQueries({ queryKey: [...pipelineKey(pipeline_id), 'validation'] })
}

type Which = (filter: OverviewFilter) => boolean

function rereader(ms: number): (which: Which) => void {
  let waiting: Which[] = []
  return (which) => {
    waiting.push(which)
    if (waiting.length > 1) return
    setTimeout(() => {
      const asked = waiting
      waiting = []
      void queryClient.invalidateQueries({
        queryKey: OVERVIEW_KEY,
        predicate: ({ queryKey }) => asked.some((each) => each((queryKey[2] ?? {}) as OverviewFilter)),
      })
    }, ms)
  }
}
