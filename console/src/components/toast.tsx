import { notifications } from '@mantine/notifications'
import type { ReactNode } from 'react'
import { asProblem } from '../api/problem.js'
import { Icon } from '../theme/icons.js'

/** Something was done. Says what, and where to see it. */
export function toastDone(title: string, message?: ReactNode): void {
  notifications.show({ title, message, color: 'teal', icon: <Icon name="check" />, autoClose: 6_000 })
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
