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

/** Some rows, or all that are held and not newer than one that was seen. */
export type RowChoice =
  | { readonly row_ids: string[] }
  | { readonly up_to: string; readonly pipeline_id?: string }

/** One request, whatever the number of rows; the events that follow mend the lists. */
export function settleRows(deed: Settling, choice: RowChoice): Promise<SettledRows> {
  return deed === 'replay'
    ? ask(api.POST('/quarantine/replay', { body: choice }))
    : ask(api.POST('/quarantine/discard', { body: choice }))
}
