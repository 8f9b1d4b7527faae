import type { RunsFilter } from '../../api/runs.js'
import type { RunStatus } from '../../api/wire.js'

/** `/runs?status=failed,cancelled&pipeline=&range=24h`, or `&since=&until=`. Invalid values are ignored. */
export interface RunsSearch {
  /** Comma-separated. */
  readonly status?: string
  /** The id of a pipeline. */
  readonly pipeline?: string
  readonly range?: RunsRange
  /** UTC times; used if `range` is `custom`. */
  readonly since?: string
  readonly until?: string
}

export const RUN_STATUS_FILTERS = ['queued', 'running', 'succeeded', 'failed', 'paused', 'cancelled'] as const
export type RunStatusFilter = (typeof RUN_STATUS_FILTERS)[number]

const STATUSES: Readonly<Record<RunStatusFilter, RunStatus>> = {
  queued: 'REQUESTED',
  running: 'RUNNING',
  succeeded: 'SUCCESS',
  failed: 'FAILED',
  paused: 'PAUSED',
  cancelled: 'CANCELLED',
}

const HOUR_MS = 3_600_000
const RANGE_MS = { '1h': HOUR_MS, '24h': 24 * HOUR_MS, '7d': 168 * HOUR_MS, '30d': 720 * HOUR_MS } as const
export const RUNS_RANGES = ['1h', '24h', '7d', '30d', 'custom'] as const
export type RunsRange = (typeof RUNS_RANGES)[number]

export function readRunsSearch(search: Record<string, unknown>): RunsSearch {
  const { status, pipeline, range, since, until } = search
  const known = statusesOf({ status: String(status) })
  return {
    status: known.length === 0 ? undefined : known.join(','),
    pipeline: typeof pipeline === 'string' && pipeline !== '' ? pipeline : undefined,
    range: RUNS_RANGES.find((each) => each === range),
    since: momentIn(since),
    until: momentIn(until),
  }
}

export function statusesOf({ status }: { readonly status?: string | undefined }): readonly RunStatusFilter[] {
  const asked = (status ?? '').split(',')
  return RUN_STATUS_FILTERS.filter((each) => asked.includes(each))
}

function momentIn(text: unknown): string | undefined {
  return typeof text === 'string' && !Number.isNaN(Date.parse(text)) ? text : undefined
}

/** The parameters of the request. */
export function runsFilter({ status, pipeline, range, since, until }: RunsSearch): RunsFilter {
  const statuses = statusesOf({ status }).map((each) => STATUSES[each])
  return {
    ...(statuses.length === 0 ? {} : { status: statuses }),
    ...(pipeline === undefined ? {} : { pipeline_id: pipeline }),
    ...(range === undefined || range === 'custom' ? {} : { range_ms: RANGE_MS[range] }),
    ...(range === 'custom' && since !== undefined ? { since } : {}),
    ...(range === 'custom' && until !== undefined ? { until } : {}),
  }
}
