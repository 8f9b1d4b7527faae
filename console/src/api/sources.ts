import { queryOptions } from '@tanstack/react-query'
import { api, ask } from './client.js'
import type { Source } from './wire.js'

/** The figures of a slot are not events, so sources are polled. */
const REFRESH_MS = 5_000

export const sourcesQuery = queryOptions({
  queryKey: ['sources'],
  queryFn: async ({ signal }): Promise<readonly Source[]> =>
    (await ask(api.GET('/sources', { signal }))).items,
  refetchInterval: REFRESH_MS,
})
