import type { QuarantineStatus } from '../../api/wire.js'
import { searchText } from '../../components/search/search-text.js'

/** `/quarantine?pipeline=&status=&row=`: the filter, and the open row. */
export interface QuarantineSearch {
  readonly pipeline?: string
  readonly status?: QuarantineStatusFilter
  readonly row?: string
}

export const QUARANTINE_STATUS_FILTERS = ['held', 'requested', 'replayed', 'discarded'] as const
export type QuarantineStatusFilter = (typeof QUARANTINE_STATUS_FILTERS)[number]

export const STATUS_BY_FILTER: Readonly<Record<QuarantineStatusFilter, QuarantineStatus>> = {
  held: 'HELD',
  requested: 'REPLAY_REQUESTED',
  replayed: 'REPLAYED',
  discarded: 'DISCARDED',
}

export function readQuarantineSearch({ pipeline, status, row }: Record<string, unknown>): QuarantineSearch {
  return {
    pipeline: typeof pipeline === 'string' && UUID.test(pipeline) ? pipeline : undefined,
    status: QUARANTINE_STATUS_FILTERS.find((each) => each === status),
    row: searchText(row),
  }
}

/** Anything else is not an id, and the server would reject it. */
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
