import { queryOptions } from '@tanstack/react-query'
import { api, ask } from './client.js'
import type { Runner } from './wire.js'

/** A sign of life is no event: who wants to see whether somebody lives has to look. */
const LOOK_MS = 5_000

export const runnersQuery = queryOptions({
  queryKey: ['runners'],
  queryFn: async ({ signal }): Promise<readonly Runner[]> =>
    (await ask(api.GET('/runners', { signal }))).items,
  refetchInterval: LOOK_MS,
})
