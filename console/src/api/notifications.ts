import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { api, ask } from './client.js'
import { queryClient } from './query-client.js'
import type { NotificationRuleChange, NotificationRuleInput, NotificationTest } from './wire.js'

const PAGE = 100
const KEY = ['notifications'] as const
/** Deliveries happen without an event on the stream. */
const EVERY_MS = 5_000

export const rulesQuery = queryOptions({
  queryKey: [...KEY, 'rules'],
  queryFn: ({ signal }) => ask(api.GET('/notifications', { signal })),
  staleTime: 0,
})

export const channelsQuery = queryOptions({
  queryKey: [...KEY, 'channels'],
  queryFn: ({ signal }) => ask(api.GET('/notifications/channels', { signal })),
  staleTime: 0,
  refetchInterval: EVERY_MS,
})

/** Newest first. */
export const deadQuery = infiniteQueryOptions({
  queryKey: [...KEY, 'dead'],
  queryFn: ({ pageParam, signal }) => {
    const query = { limit: PAGE, ...(pageParam === null ? {} : { cursor: pageParam }) }
    return ask(api.GET('/notifications/dead', { params: { query }, signal }))
  },
  initialPageParam: null as string | null,
  getNextPageParam: ({ next_cursor }) => next_cursor,
  staleTime: 0,
  refetchInterval: EVERY_MS,
})

const at = (id: string) => ({ params: { path: { id } } })
const reread = () => void queryClient.invalidateQueries({ queryKey: KEY })

export const notificationActions = {
  create: async (body: NotificationRuleInput): Promise<void> => {
    await ask(api.POST('/notifications', { body }))
    reread()
  },
  change: async (id: string, body: NotificationRuleChange): Promise<void> => {
    await ask(api.PATCH('/notifications/{id}', { ...at(id), body }))
    reread()
  },
  delete: async (id: string): Promise<void> => {
    await ask(api.DELETE('/notifications/{id}', at(id)))
    reread()
  },
  test: (channel: string): Promise<NotificationTest> =>
    ask(api.POST('/notifications/test', { body: { channel } })),
  retry: async (id: string): Promise<void> => {
    await ask(api.POST('/notifications/dead/{id}/retry', at(id)))
    reread()
  },
  discard: async (id: string): Promise<void> => {
    await ask(api.POST('/notifications/dead/{id}/discard', at(id)))
    reread()
  },
}
