import { Button, Flex, Stack } from '@mantine/core'
import { Link, type LinkProps } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { Icon, type IconName } from '../../theme/icons.js'
import styles from './panel.module.css'

interface Props {
  readonly icon: IconName
  readonly title: string
  /** What this screen is for, and an example. */
  readonly children: ReactNode
  /** Where to go from here; `isMain`: what users of this screen should do next. */
  readonly link?: { readonly to: LinkProps['to']; readonly label: string; readonly isMain?: boolean }
  /** Instead of a link. One primary action at most. */
  readonly actions?: ReactNode
}

export function EmptyState({ icon, title, children, link, actions }: Props) {
  return (
    <Stack className={styles.empty} gap={8} align="center">
      <span className={styles.emptyIcon}>
        <Icon name={icon} size={20} />
      </span>
      <h2>{title}</h2>
      <p>{children}</p>
      {actions === undefined && link === undefined ? null : (
        <Flex gap={8} wrap="wrap" mt={8}>
          {link === undefined ? (
            actions
          ) : (
            <Button component={Link} to={link.to} variant={link.isMain ? 'filled' : 'default'}>
              {link.label}
            </Button>
          )}
        </Flex>
      )}
    </Stack>
  )
}
