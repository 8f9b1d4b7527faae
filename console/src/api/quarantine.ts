import { infiniteQueryOptions } from '@tanstack/react-query'
import { api, ask } from './client.js'
import type { QuarantinePage, QuarantineStatus, SettledRows } from './wire.js'

export interface QuarantineFilter {
  readonly pipeline_id?: string
  readonly status: QuarantineStatus
}

const PAGE = 100

export const QUARANTINE_KEY = ['quarantine'] as const

/** Newest first; the next page is older. */
export function quarantineRowsQuery(filter: QuarantineFilter) {
  return infiniteQueryOptions({
    queryKey: [...QUARANTINE_KEY, filter],
    queryFn: ({ pageParam, signal }): Promise<QuarantinePage> => {
      const query = { ...filter, limit: PAGE, ...(pageParam === null ? {} : { cursor: pageParam }) }
      return ask(api.GET('/quarantine', { params: { query }, signal }))
    },
    initialPageParam: null as string | null,
    getNextPageParam: ({ next_cursor }) => next_cursor,
  })
}

export type Settling = 'replay' | 'discard'

/** Selected rows, or all held rows up to a given one. */
export type RowChoice =
  | { readonly row_ids: string[] }
  | { readonly up_to: string; readonly pipeline_id?: string }

/** One request for any number of rows; the events that follow update the lists. */
export function settleRows(action: Settling, choice: RowChoice): Promise<SettledRows> {
  return action === 'replay'
    ? ask(api.POST('/quarantine/replay', { body: choice }))
    : ask(api.POST('/quarantine/discard', { body: choice }))
}
