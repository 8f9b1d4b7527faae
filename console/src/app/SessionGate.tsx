import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useEffect } from 'react'
import { onSignedOut } from '../api/client.js'
import { forgetSession, SessionContext, sessionQuery } from '../api/session.js'
import { ProblemCard } from '../components/layout/ProblemCard.js'
import { Skeleton } from '../components/layout/Skeleton.js'
import { SignInScreen } from '../screens/sign-in/SignInScreen.js'

/** Shows the sign-in screen until a user is signed in. The address is kept, so that the requested page opens then. */
export function SessionGate({ children }: { readonly children: ReactNode }) {
  const { data, error, refetch } = useQuery(sessionQuery)
  useEffect(() => onSignedOut(forgetSession), [])
  if (data === null) return <SignInScreen />
  if (data !== undefined) return <SessionContext value={data}>{children}</SessionContext>
  return (
    <div style={{ maxWidth: '40rem', margin: '0 auto', padding: '15vh 16px' }}>
      {error === null ? <Skeleton /> : <ProblemCard error={error} onRetry={() => void refetch()} />}
    </div>
  )
}
