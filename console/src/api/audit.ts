import { infiniteQueryOptions } from '@tanstack/react-query'
import { api, ask } from './client.js'
import type { AuditPage } from './wire.js'

export interface AuditFilter {
  readonly id?: string
  readonly request_id?: string
  readonly pipeline_id?: string
  readonly action?: string
  readonly actor?: string
  /** Only entries of the last `lastMs` milliseconds. */
  readonly lastMs?: number
}

const PAGE = 50
const MINUTE_MS = 60_000

/** Newest first; the next page is older. */
export function auditQuery(filter: AuditFilter) {
  return infiniteQueryOptions({
    queryKey: ['audit', filter],
    queryFn: ({ pageParam, signal }): Promise<AuditPage> => {
      const query = {
        ...wireFilter(filter),
        limit: PAGE,
        ...(pageParam === null ? {} : { cursor: pageParam }),
      }
      return ask(api.GET('/audit', { params: { query }, signal }))
    },
    initialPageParam: null as string | null,
    getNextPageParam: ({ next_cursor }) => next_cursor,
    // A user who follows the link of a notification expects the action that was just taken.
    staleTime: 0,
  })
}

/** All matching entries, as a file. */
export function auditCsvUrl(filter: AuditFilter): string {
  const query = new URLSearchParams(Object.entries(wireFilter(filter)))
  return `/api/v1/audit.csv${query.size === 0 ? '' : `?${query}`}`
}

function wireFilter({ lastMs, ...rest }: AuditFilter) {
  if (lastMs === undefined) return rest
  // Rounded to the minute: otherwise the address would change with every render.
  const since = Math.floor((Date.now() - lastMs) / MINUTE_MS) * MINUTE_MS
  return { ...rest, since: new Date(since).toISOString() }
}
