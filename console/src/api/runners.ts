import { queryOptions } from '@tanstack/react-query'
import { api, ask } from './client.js'
import type { Runner } from './wire.js'

/** Heartbeats are not events, so runners are polled. */
const REFRESH_MS = 5_000

export const runnersQuery = queryOptions({
  queryKey: ['runners'],
  queryFn: async ({ signal }): Promise<readonly Runner[]> =>
    (await ask(api.GET('/runners', { signal }))).items,
  refetchInterval: REFRESH_MS,
})
