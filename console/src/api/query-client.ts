import { keepPreviousData, QueryClient } from '@tanstack/react-query'
import { ApiProblem } from './problem.js'

/**
 * One cache for the tab. Events keep it fresh (live/), so it asks again only when somebody comes back to a screen
 * after a while, never because a window got the focus. Old data stays on screen until the new is there.
 */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 30_000,
      refetchOnWindowFocus: false,
      // `offline` of browsers lies on machines that run the server themselves.
      networkMode: 'always',
      placeholderData: keepPreviousData,
      retry: (count, error) => count < 2 && error instanceof ApiProblem && error.problem.retryable,
      retryDelay: (count) => 500 * 2 ** count,
    },
    mutations: { networkMode: 'always', retry: false },
  },
})
