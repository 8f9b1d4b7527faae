import { infiniteQueryOptions, type QueryClient, queryOptions } from '@tanstack/react-query'
import { serverNow } from '../time/clock.js'
import { api, ask } from './client.js'
import type { LogLine, RunDetail, RunPage, RunStatus } from './wire.js'

export interface RunsFilter {
  readonly status?: readonly RunStatus[]
  readonly pipeline_id?: string
  /** Requested within the last `lastMs` milliseconds. */
  readonly range_ms?: number
  readonly since?: string
  readonly until?: string
}

const PAGE = 50

export const RUNS_KEY = ['runs', 'list'] as const
export const RUN_KEY = ['runs', 'one'] as const

/** Newest first; the next page is older. */
export function runsQuery(filter: RunsFilter) {
  return infiniteQueryOptions({
    queryKey: [...RUNS_KEY, filter],
    queryFn: ({ pageParam, signal }): Promise<RunPage> => {
      const { range_ms, status, ...rest } = filter
      const query = {
        ...rest,
        ...(status === undefined ? {} : { status: [...status] }),
        ...(range_ms === undefined ? {} : { since: new Date(serverNow() - range_ms).toISOString() }),
        ...(pageParam === null ? {} : { cursor: pageParam }),
        limit: PAGE,
      }
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
    // Do not show the numbers of another run.
    placeholderData: undefined,
  })
}

/** How often the parts of a run in progress are read. */
const PARTS_MS = 2_000

export function partsQuery(id: string, isActive: boolean) {
  return queryOptions({
    queryKey: [...RUN_KEY, id, 'parts', isActive],
    queryFn: ({ signal }) =>
      ask(api.GET('/runs/{id}/parts', { params: { path: { id }, query: { limit: 1000 } }, signal })),
    refetchInterval: isActive ? PARTS_MS : false,
  })
}

/** Lines per page of the log: the maximum of the server. */
const LOG_PAGE = 1_000

export interface RunLog {
  /** Oldest first. A page does not change once it is full. */
  readonly pages: readonly (readonly LogLine[])[]
  /** The cursor of older lines; null: the first line is loaded. */
  readonly older: string | null
  /** Newer lines exist. */
  readonly isMore: boolean
}

export interface RunLogFilter {
  readonly errors_only?: true
  readonly attempt?: number
  /** The server searches all lines. */
  readonly q?: string
}

const logKey = (id: string, filter: RunLogFilter) => ['run-log', id, filter] as const

function readLog(id: string, query: object, signal?: AbortSignal) {
  const params = { path: { id }, query: { limit: LOG_PAGE, ...query } as never }
  return ask(api.GET('/runs/{id}/log', { params, ...(signal === undefined ? {} : { signal }) }))
}

/**
 * The end of the log. It only grows there, so a refetch reads the lines after the last known one: loading newer lines
 * and reacting to an event are the same request. With `line`, it starts at that line.
 */
export function runLogQuery(id: string, filter: RunLogFilter, line?: number) {
  return queryOptions({
    queryKey: logKey(id, filter),
    queryFn: async ({ client, queryKey, signal }): Promise<RunLog> => {
      const known = () => client.getQueryData<RunLog>(queryKey)
      const after = lastOf(known()?.pages)?.id
      if (after === undefined && line !== undefined) return readAround(id, { filter, line }, signal)
      if (after === undefined) {
        const { items, next_cursor } = await readLog(id, { ...filter, last: true }, signal)
        return { pages: items.length === 0 ? [] : [items], older: next_cursor, isMore: false }
      }
      const { items, next_cursor } = await readLog(id, { ...filter, after: String(after) }, signal)
      // Read again: older pages may have been added in the meantime.
      const { pages = [], older = null } = known() ?? {}
      return { pages: withLines(pages, items), older, isMore: next_cursor !== null }
    },
    placeholderData: undefined,
    structuralSharing: false,
  })
}

/** The page that ends with the line, and the one after it. */
async function readAround(
  id: string,
  { filter, line }: { readonly filter: RunLogFilter; readonly line: number },
  signal: AbortSignal,
): Promise<RunLog> {
  const [before, after] = await Promise.all([
    readLog(id, { ...filter, last: true, before: String(line + 1) }, signal),
    readLog(id, { ...filter, after: String(line) }, signal),
  ])
  return {
    pages: [before.items, after.items].filter(({ length }) => length > 0),
    older: before.next_cursor,
    isMore: after.next_cursor !== null,
  }
}

/** Adds a page before the loaded ones. */
export async function readOlderLog(client: QueryClient, id: string, filter: RunLogFilter): Promise<void> {
  const key = logKey(id, filter)
  const cursor = client.getQueryData<RunLog>(key)?.older
  if (cursor === undefined || cursor === null) return
  const { items, next_cursor } = await readLog(id, { ...filter, last: true, cursor })
  client.setQueryData<RunLog>(key, (log) =>
    // Requested twice, added once.
    log === undefined || log.older !== cursor
      ? log
      : { ...log, pages: [items, ...log.pages], older: next_cursor },
  )
}

/** All matching lines, as a file. */
export function logAddress(id: string, filter: RunLogFilter): string {
  const query = new URLSearchParams(Object.entries(filter).map(([name, value]) => [name, String(value)]))
  return `/api/v1/runs/${id}/log.txt${query.size === 0 ? '' : `?${query}`}`
}

function lastOf(pages: RunLog['pages'] | undefined): LogLine | undefined {
  return pages?.at(-1)?.at(-1)
}

/** Fills the last page first; pages that are full stay the same objects. */
function withLines(pages: RunLog['pages'], lines: readonly LogLine[]): RunLog['pages'] {
  const known = lastOf(pages)?.id ?? 0
  const fresh = lines.filter(({ id }) => id > known)
  if (fresh.length === 0) return pages
  const last = pages.at(-1) ?? []
  const room = LOG_PAGE - last.length
  const grown = room > 0 ? [...pages.slice(0, -1), [...last, ...fresh.slice(0, room)]] : [...pages]
  const rest = fresh.slice(Math.max(0, room))
  return rest.length === 0 ? grown : [...grown, rest]
}
