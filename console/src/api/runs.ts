import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { api, ask } from './client.js'
import type { LogLine, RunDetail, RunPage, RunStatus } from './wire.js'

export interface RunsFilter {
  readonly status?: RunStatus
  readonly pipeline_id?: string
}

const PAGE = 50

export const RUNS_KEY = ['runs', 'list'] as const
export const RUN_KEY = ['runs', 'one'] as const

/** Newest first; the next page is older. */
export function runsQuery(filter: RunsFilter) {
  return infiniteQueryOptions({
    queryKey: [...RUNS_KEY, filter],
    queryFn: ({ pageParam, signal }): Promise<RunPage> => {
      const query = { ...filter, limit: PAGE, ...(pageParam === null ? {} : { cursor: pageParam }) }
      return ask(api.GET('/runs', { params: { query }, signal }))
    },
    initialPageParam: null as string | null,
    getNextPageParam: ({ next_cursor }) => next_cursor,
  })
}

export function runQuery(id: string) {
  return queryOptions({
    queryKey: [...RUN_KEY, id],
    queryFn: ({ signal }): Promise<RunDetail> =>
      ask(api.GET('/runs/{id}', { params: { path: { id } }, signal })),
    // Another run is another page: its numbers must not stand under this name.
    placeholderData: undefined,
  })
}

/** Lines of a page of the log; the server gives no more at once. */
const LOG_PAGE = 1_000

export interface RunLog {
  /** Oldest first, each full but the last. */
  readonly pages: readonly (readonly LogLine[])[]
  /** There are lines beyond these. */
  readonly isMore: boolean
}

/**
 * The log grows at its end only, so reading it again means reading what is new: every fetch adds what came after the
 * last known line. "More lines" and "something happened" are the same request.
 */
export function runLogQuery(id: string, errorsOnly: boolean) {
  return queryOptions({
    queryKey: ['run-log', id, errorsOnly] as const,
    queryFn: async ({ client, queryKey, signal }): Promise<RunLog> => {
      const known = client.getQueryData<RunLog>(queryKey)?.pages ?? []
      const after = known.at(-1)?.at(-1)?.id
      const query = {
        limit: LOG_PAGE,
        ...(errorsOnly ? { errors_only: true } : {}),
        ...(after === undefined ? {} : { after: String(after) }),
      }
      const page = await ask(
        api.GET('/runs/{id}/log', { params: { path: { id }, query: query as never }, signal }),
      )
      return { pages: withLines(known, page.items), isMore: page.next_cursor !== null }
    },
    placeholderData: undefined,
    structuralSharing: false,
  })
}

/** Fills the last page first; pages that are full stay the same objects. */
function withLines(pages: RunLog['pages'], lines: readonly LogLine[]): RunLog['pages'] {
  if (lines.length === 0) return pages
  const last = pages.at(-1) ?? []
  const room = LOG_PAGE - last.length
  const grown = room > 0 ? [...pages.slice(0, -1), [...last, ...lines.slice(0, room)]] : [...pages]
  const rest = lines.slice(Math.max(0, room))
  return rest.length === 0 ? grown : [...grown, rest]
}
