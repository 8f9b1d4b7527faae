import { queryOptions, useQuery } from '@tanstack/react-query'
import { api, ask } from './client.js'
import { ApiProblem } from './problem.js'
import { queryClient } from './query-client.js'
import { keepSessionKey } from './session-key.js'
import type { Role, Session } from './wire.js'

/** Null: not signed in. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: async ({ signal }): Promise<Session | null> => {
    try {
      return await ask(api.GET('/session', { signal }))
    } catch (error) {
      if (error instanceof ApiProblem && error.problem.status === 401) return null
      throw error
    }
  },
  staleTime: Number.POSITIVE_INFINITY,
})

export async function signIn(body: { token: string } | { code: string }): Promise<void> {
  const { csrf_token, ...session } = await ask(api.POST('/session', { body }))
  keepSessionKey(csrf_token)
  queryClient.setQueryData(sessionQuery.queryKey, session)
}

export async function signOut(): Promise<void> {
  await ask(api.DELETE('/session', {})).catch(() => {})
  keepSessionKey(null)
  forgetSession()
}

/** Removes the data of the previous user. Not clear(): observers of the session would keep a removed query. */
export function forgetSession(): void {
  const isOther = ({ queryKey }: { queryKey: readonly unknown[] }) => queryKey[0] !== sessionQuery.queryKey[0]
  queryClient.removeQueries({ predicate: isOther })
  queryClient.setQueryData(sessionQuery.queryKey, null)
}

/** Only below the gate, where a user is signed in. */
export function useSession(): Session {
  const { data } = useQuery(sessionQuery)
  if (data === undefined || data === null) throw new Error('not signed in')
  return data
}

export function useMay(needed: Role): boolean {
  return useSession().acts_as.includes(needed)
}
