import type { OverviewFilter } from '../../api/pipelines.js'
import type { PipelineStatus } from '../../api/wire.js'
import { searchText } from '../../components/search/search-text.js'

/** `/pipelines?status=&target=&tag=&q=&sort=`: the filter of the list in the address. */
export interface PipelinesSearch {
  readonly q?: string
  readonly status?: PipelineStatusFilter
  /** The start of the target: `analytics.`, `es:`. */
  readonly target?: string
  readonly tag?: string
  readonly sort?: string
}

export const PIPELINE_STATUS_FILTERS = [
  'queued',
  'running',
  'pausing',
  'paused',
  'failed',
  'idle',
  'disabled',
] as const
export type PipelineStatusFilter = (typeof PIPELINE_STATUS_FILTERS)[number]

export function readPipelinesSearch(search: Record<string, unknown>): PipelinesSearch {
  const { q, status, target, tag, sort } = search
  return {
    q: searchText(q),
    target: searchText(target),
    tag: searchText(tag),
    status: PIPELINE_STATUS_FILTERS.find((each) => each === status),
    sort: searchText(sort),
  }
}

const STATUSES: Readonly<Record<Exclude<PipelineStatusFilter, 'disabled'>, PipelineStatus>> = {
  queued: 'RUN_REQUESTED',
  running: 'RUNNING',
  pausing: 'PAUSE_REQUESTED',
  paused: 'PAUSED',
  failed: 'FAILED',
  idle: 'IDLE',
}

/** The parameters of the request. */
export function overviewFilter({ q, status, target, tag }: PipelinesSearch): OverviewFilter {
  return {
    ...(q === undefined ? {} : { q }),
    ...(target === undefined ? {} : { target }),
    ...(tag === undefined ? {} : { tag }),
    ...(status === undefined
      ? {}
      : status === 'disabled'
        ? { enabled: false }
        : { status: STATUSES[status] }),
  }
}

/** The kind of a target: `es:` for es:films, `analytics.` for analytics.film_dim. */
export function kindOf(target: string): string {
  return /^[^.:]*[.:]/.exec(target)?.[0] ?? target
}
