import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { api, ask } from './client.js'
import { pipelineKey } from './pipeline.js'
import type { CheckPage, CheckState } from './wire.js'

export const CHECKS_KEY = ['checks'] as const
const PAGE = 100

/** The data checks of a pipeline; events of the pipeline invalidate them. */
export function checksQuery(id: string) {
  return queryOptions({
    queryKey: [...pipelineKey(id), 'checks'],
    queryFn: ({ signal }): Promise<{ items: CheckState[] }> =>
      ask(api.GET('/pipelines/{id}/checks', { params: { path: { id } }, signal })),
    placeholderData: undefined,
  })
}

/** The data checks of all pipelines, by pipeline. */
export function fleetChecksQuery(status: CheckState['status'] | undefined) {
  return infiniteQueryOptions({
    queryKey: [...CHECKS_KEY, status ?? ''],
    queryFn: ({ pageParam, signal }): Promise<CheckPage> => {
      const query = {
        limit: PAGE,
        ...(status === undefined ? {} : { status }),
        ...(pageParam === null ? {} : { cursor: pageParam }),
      }
      return ask(api.GET('/checks', { params: { query }, signal }))
    },
    initialPageParam: null as string | null,
    getNextPageParam: ({ next_cursor }) => next_cursor,
  })
}

/** Evaluates the checks over the rows that the mart has now. */
export function runChecks(id: string): Promise<{ items: CheckState[] }> {
  return ask(api.POST('/pipelines/{id}/checks/run', { params: { path: { id } } }))
}
