import { keepPreviousData, QueryClient } from '@tanstack/react-query'
import { ApiProblem } from './problem.js'

/** Options of a query whose result must be current: it is requested each time, and never shown from the cache. */
export const UNCACHED = { placeholderData: undefined, retry: false, staleTime: 0, gcTime: 0 } as const

/**
 * One cache per tab. Events keep it up to date (live/), so data is requested again only when a user returns to a screen
 * after a while, never because a window got the focus. Old data stays on screen until the new data arrives.
 */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 30_000,
      refetchOnWindowFocus: false,
      // The browser's `offline` state is wrong on machines that run the server themselves.
      networkMode: 'always',
      placeholderData: keepPreviousData,
      retry: (count, error) => count < 2 && error instanceof ApiProblem && error.problem.retryable,
      retryDelay: (count) => 500 * 2 ** count,
    },
    mutations: { networkMode: 'always', retry: false },
  },
})
