import { queryOptions } from '@tanstack/react-query'
import { createContext, useContext } from 'react'
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

/**
 * The session that the gate has let in. Not the query itself: signing out changes the query first, and a component that
 * renders before the gate removes it would find no session.
 */
export const SessionContext = createContext<Session | null>(null)

/** Only below the gate, where a user is signed in. */
export function useSession(): Session {
  const session = useContext(SessionContext)
  if (session === null) throw new Error('useSession is used outside of SessionGate')
  return session
}

export function useMay(needed: Role): boolean {
  return useSession().acts_as.includes(needed)
}
