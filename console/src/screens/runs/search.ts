import type { RunsFilter } from '../../api/runs.js'
import type { RunStatus } from '../../api/wire.js'

/** `/runs?status=&pipeline=`. What is not understood is left out. */
export interface RunsSearch {
  readonly status?: StatusFilter
  /** The id of a pipeline. */
  readonly pipeline?: string
}

export const STATUS_FILTERS = ['queued', 'running', 'succeeded', 'failed', 'paused', 'cancelled'] as const
export type StatusFilter = (typeof STATUS_FILTERS)[number]

const STATUSES: Readonly<Record<StatusFilter, RunStatus>> = {
  queued: 'REQUESTED',
  running: 'RUNNING',
  succeeded: 'SUCCESS',
  failed: 'FAILED',
  paused: 'PAUSED',
  cancelled: 'CANCELLED',
}

export function readRunsSearch({ status, pipeline }: Record<string, unknown>): RunsSearch {
  return {
    status: STATUS_FILTERS.find((each) => each === status),
    pipeline: typeof pipeline === 'string' && pipeline !== '' ? pipeline : undefined,
  }
}

/** What the server is asked for. */
export function filterOf({ status, pipeline }: RunsSearch): RunsFilter {
  return {
    ...(status === undefined ? {} : { status: STATUSES[status] }),
    ...(pipeline === undefined ? {} : { pipeline_id: pipeline }),
  }
}
