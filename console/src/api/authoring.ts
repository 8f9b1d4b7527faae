import { queryOptions } from '@tanstack/react-query'
import { api, ask } from './client.js'
import type { ComingRuns, SourceTables, TaskList } from './wire.js'

/** The tables that a query may use. Null: the main database. */
export function tablesQuery(connection: string | null) {
  return queryOptions({
    queryKey: ['tables', connection],
    queryFn: ({ signal }): Promise<SourceTables> => {
      const query = connection === null ? {} : { connection }
      return ask(api.GET('/catalog/tables', { params: { query }, signal }))
    },
    staleTime: 5 * 60_000,
    placeholderData: undefined,
  })
}

/** The functions that a task plan can use. */
export const tasksQuery = queryOptions({
  queryKey: ['tasks'],
  queryFn: ({ signal }): Promise<TaskList> => ask(api.GET('/tasks', { signal })),
})

/** Number of upcoming runs shown. */
export const COMING = 5

export function comingRunsQuery(schedule: string, zone: string) {
  return queryOptions({
    queryKey: ['coming-runs', schedule, zone],
    queryFn: ({ signal }): Promise<ComingRuns> =>
      ask(
        api.GET('/schedule/runs', {
          params: { query: { schedule_interval: schedule, schedule_timezone: zone, limit: COMING } },
          signal,
        }),
      ),
    enabled: schedule !== '',
  })
}
