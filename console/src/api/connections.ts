import { queryOptions } from '@tanstack/react-query'
import { api, ask } from './client.js'
import type { ConnectionCheck } from './wire.js'

/** Each request makes the server try every connection, so results are reused for a minute. */
export const connectionsQuery = queryOptions({
  queryKey: ['connections'],
  queryFn: ({ signal }): Promise<ConnectionCheck> => ask(api.GET('/connections', { signal })),
  staleTime: 60_000,
})
