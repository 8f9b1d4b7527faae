import { infiniteQueryOptions } from '@tanstack/react-query'
import { api, ask } from './client.js'
import { queryClient } from './query-client.js'

const PAGE = 100
const SESSIONS_KEY = ['sessions'] as const

/** Newest first. `everyone`: of all tokens, for administrators. */
export function sessionsQuery(everyone: boolean) {
  return infiniteQueryOptions({
    queryKey: [...SESSIONS_KEY, everyone],
    queryFn: ({ pageParam, signal }) => {
      const query = {
        limit: PAGE,
        ...(everyone ? { everyone: true } : {}),
        ...(pageParam === null ? {} : { cursor: pageParam }),
      }
      return ask(api.GET('/sessions', { params: { query }, signal }))
    },
    initialPageParam: null as string | null,
    getNextPageParam: ({ next_cursor }) => next_cursor,
    // No event reports that a browser signed in.
    staleTime: 0,
  })
}

const reread = () => void queryClient.invalidateQueries({ queryKey: SESSIONS_KEY })

export const sessionActions = {
  end: async (id: string): Promise<void> => {
    await ask(api.DELETE('/sessions/{id}', { params: { path: { id } } }))
    reread()
  },
  /** All except this one. */
  endOthers: async (everyone: boolean): Promise<number> => {
    const query = { keep_current: true, ...(everyone ? { everyone: true } : {}) }
    const { ended } = await ask(api.DELETE('/sessions', { params: { query } }))
    reread()
    return ended
  },
}
