import { queryOptions } from '@tanstack/react-query'
import { api, ask } from './client.js'
import type { OrderGraph } from './wire.js'

export const ORDER_KEY = ['order'] as const

/** The run order of pipelines, and which ones are due. Events trigger another request. */
export const orderQuery = queryOptions({
  queryKey: ORDER_KEY,
  queryFn: ({ signal }): Promise<OrderGraph> => ask(api.GET('/graph', { signal })),
})
