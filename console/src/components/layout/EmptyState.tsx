import { Flex, Stack } from '@mantine/core'
import type { ReactNode } from 'react'
import { Icon, type IconName } from '../../theme/icons.js'
import styles from './panel.module.css'

interface Props {
  readonly icon: IconName
  readonly title: string
  /** What this screen is for, and an example. */
  readonly children: ReactNode
  /** One primary action at most. */
  readonly actions?: ReactNode
}

export function EmptyState({ icon, title, children, actions }: Props) {
  return (
    <Stack className={styles.empty} gap={8} align="center">
      <span className={styles.emptyIcon}>
        <Icon name={icon} size={20} />
      </span>
      <h2>{title}</h2>
      <p>{children}</p>
      {actions === undefined ? null : (
        <Flex gap={8} wrap="wrap" mt={8}>
          {actions}
        </Flex>
      )}
    </Stack>
  )
}
