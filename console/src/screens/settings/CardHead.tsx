import { Flex } from '@mantine/core'
import type { ReactNode } from 'react'
import styles from './settings.module.css'

/** What a card is about on the left, its state on the right. */
export function CardHead({ children }: { readonly children: ReactNode }) {
  return (
    <Flex component="header" className={styles.cardHead} gap={12} align="flex-start" justify="space-between">
      {children}
    </Flex>
  )
}
