import { notifications } from '@mantine/notifications'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { takeLastAction } from '../../api/last-action.js'
import { asProblem } from '../../api/problem.js'
import { queryClient } from '../../api/query-client.js'
import { sessionQuery } from '../../api/session.js'
import { useTexts } from '../../i18n/texts.js'
import { Icon } from '../../theme/icons.js'
import { shared } from '../texts.js'
import styles from './toast.module.css'

/** Reports a completed action, with a link to its audit entry. Call it right after the action. */
export function toastDone(title: string, message?: ReactNode): void {
  const requestId = takeLastAction()
  notifications.show({
    title,
    message: (
      <>
        {message}
        {requestId === null ? null : <InAudit requestId={requestId} />}
      </>
    ),
    color: 'teal',
    icon: <Icon name="check" />,
    autoClose: 6_000,
  })
}

/** Only administrators can read the audit log; other users need the request id to ask one of them. */
function InAudit({ requestId }: { readonly requestId: string }) {
  const texts = useTexts(shared)
  const isAdmin = queryClient.getQueryData(sessionQuery.queryKey)?.acts_as.includes('admin') ?? false
  return (
    <span className={styles.audit}>
      {isAdmin ? (
        <Link to="/settings/audit" search={{ request: requestId } as never} className="v-link">
          {texts.seeInAudit}
        </Link>
      ) : (
        texts.request
      )}{' '}
      <code className="v-mono">{requestId.slice(0, 8)}</code>
    </span>
  )
}

/** Reports an action that is not available. */
export function toastRefused(title: string, why: string): void {
  notifications.show({ title, message: why, color: 'orange', icon: <Icon name="warn" />, autoClose: 6_000 })
}

/** Reports a failed action. Stays until it is closed. */
export function toastProblem(title: string, error: unknown): void {
  const { problem } = asProblem(error)
  notifications.show({
    title,
    message: (
      <>
        {problem.detail} <span className="v-soft">{problem.hint}</span>
      </>
    ),
    color: 'orange',
    icon: <Icon name="warn" />,
    autoClose: false,
  })
}
