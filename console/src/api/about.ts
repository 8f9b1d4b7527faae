import { queryOptions } from '@tanstack/react-query'
import { api, ask } from './client.js'
import type { About, Readiness, Setting } from './wire.js'

export const aboutQuery = queryOptions({
  queryKey: ['about'],
  queryFn: ({ signal }): Promise<About> => ask(api.GET('/about', { signal })),
})

export const settingsQuery = queryOptions({
  queryKey: ['settings'],
  queryFn: async ({ signal }): Promise<readonly Setting[]> =>
    (await ask(api.GET('/settings', { signal }))).items,
})

/** "Not ready" is a valid response that names the failed part. */
export const readinessQuery = queryOptions({
  queryKey: ['readiness'],
  queryFn: async ({ signal }): Promise<Readiness> => {
    const answer = await api.GET('/health/ready', { signal })
    if (answer.response.status === 503) return answer.error as unknown as Readiness
    return ask(Promise.resolve(answer))
  },
  staleTime: 5_000,
})
