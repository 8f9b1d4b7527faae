import { queryOptions } from '@tanstack/react-query'
import { api, ask } from './client.js'
import type { ConnectionLook } from './wire.js'

/** Asking is looking: the server tries every connection anew, so nobody asks without a reason. */
export const connectionsQuery = queryOptions({
  queryKey: ['connections'],
  queryFn: ({ signal }): Promise<ConnectionLook> => ask(api.GET('/connections', { signal })),
  staleTime: 60_000,
})
