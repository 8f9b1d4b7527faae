import { Flex } from '@mantine/core'
import type { ReactNode } from 'react'
import styles from './panel.module.css'

interface Props {
  readonly title: string
  readonly actions?: ReactNode
  /** The body has its own padding: tables, logs, code. */
  readonly isFlush?: boolean
  readonly children: ReactNode
}

/** A section of a page with a title. */
export function Panel({ title, actions, isFlush = false, children }: Props) {
  return (
    <section className={styles.panel} aria-label={title}>
      <Flex
        component="header"
        className={styles.panelHead}
        rowGap={0}
        columnGap={12}
        align="center"
        wrap="wrap"
        justify="space-between"
      >
        <h2>{title}</h2>
        {actions}
      </Flex>
      <div className={isFlush ? undefined : styles.panelBody}>{children}</div>
    </section>
  )
}
