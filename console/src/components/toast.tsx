import { notifications } from '@mantine/notifications'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { takeDeed } from '../api/deeds.js'
import { asProblem } from '../api/problem.js'
import { queryClient } from '../api/query-client.js'
import { sessionQuery } from '../api/session.js'
import { useTexts } from '../i18n/texts.js'
import { Icon } from '../theme/icons.js'
import { shared } from './texts.js'
import styles from './toast.module.css'

/** Something was done. Says what, where to see it, and leads to its row in the audit. Called right after the deed. */
export function toastDone(title: string, message?: ReactNode): void {
  const requestId = takeDeed()
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

/** Only administrators read the audit; whoever asks one of them needs the id of the request. */
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

/** Something that the console itself knows to be impossible now. */
export function toastRefused(title: string, why: string): void {
  notifications.show({ title, message: why, color: 'orange', icon: <Icon name="warn" />, autoClose: 6_000 })
}

/** Something was refused. Stays until it is read. */
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
