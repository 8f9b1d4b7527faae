import type { OverviewFilter } from '../../api/pipelines.js'
import type { PipelineStatus } from '../../api/wire.js'

/** `/pipelines?status=&q=&sort=`: what the list shows, as it stands in the address. */
export interface PipelinesSearch {
  readonly q?: string
  readonly status?: StatusFilter
  readonly sort?: string
}

export const STATUS_FILTERS = [
  'queued',
  'running',
  'pausing',
  'paused',
  'failed',
  'idle',
  'disabled',
] as const
export type StatusFilter = (typeof STATUS_FILTERS)[number]

export function readPipelinesSearch(search: Record<string, unknown>): PipelinesSearch {
  const { q, status, sort } = search
  return {
    q: typeof q === 'string' && q !== '' ? q : undefined,
    status: STATUS_FILTERS.find((each) => each === status),
    sort: typeof sort === 'string' && sort !== '' ? sort : undefined,
  }
}

const STATUSES: Readonly<Record<Exclude<StatusFilter, 'disabled'>, PipelineStatus>> = {
  queued: 'RUN_REQUESTED',
  running: 'RUNNING',
  pausing: 'PAUSE_REQUESTED',
  paused: 'PAUSED',
  failed: 'FAILED',
  idle: 'IDLE',
}

/** What the server is asked for. */
export function filterOf({ q, status }: PipelinesSearch): OverviewFilter {
  return {
    ...(q === undefined ? {} : { q }),
    ...(status === undefined
      ? {}
      : status === 'disabled'
        ? { enabled: false }
        : { status: STATUSES[status] }),
  }
}
