import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { api, ask } from './client.js'
import type { MartProfile, MartRows } from './wire.js'

const PAGE = 50

/** Not below `pipelineKey`: rows are read again when the user asks for it, not for every run. */
const martKey = (id: string) => ['mart', id] as const

export interface RowsView {
  readonly sort?: string | undefined
  readonly filter?: string | undefined
}

/** The rows of a mart, page by page. */
export function martRowsQuery(id: string, { sort, filter }: RowsView) {
  return infiniteQueryOptions({
    queryKey: [...martKey(id), 'rows', sort ?? '', filter ?? ''],
    queryFn: ({ pageParam, signal }): Promise<MartRows> => {
      const query = {
        limit: PAGE,
        ...(sort === undefined ? {} : { sort }),
        ...(filter === undefined ? {} : { filter }),
        ...(pageParam === null ? {} : { cursor: pageParam }),
      }
      return ask(api.GET('/pipelines/{id}/rows', { params: { path: { id }, query }, signal }))
    },
    initialPageParam: null as string | null,
    getNextPageParam: ({ next_cursor }) => next_cursor,
    retry: false,
  })
}

/** The stored profile; the server computes it if none is stored. */
export function martProfileQuery(id: string) {
  return queryOptions({
    queryKey: [...martKey(id), 'profile'],
    queryFn: ({ signal }): Promise<MartProfile> =>
      ask(api.GET('/pipelines/{id}/profile', { params: { path: { id } }, signal })),
    placeholderData: undefined,
    retry: false,
  })
}

export function computeProfile(id: string): Promise<MartProfile> {
  return ask(api.GET('/pipelines/{id}/profile', { params: { path: { id }, query: { refresh: true } } }))
}
