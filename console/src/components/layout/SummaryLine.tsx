import { Flex } from '@mantine/core'
import type { ReactNode } from 'react'
import { useFormat } from '../../i18n/format.js'
import styles from './summary-line.module.css'

/** The numbers of a list in one line. */
export function SummaryLine({ children }: { readonly children: ReactNode }) {
  return (
    <Flex className={styles.line} rowGap={6} columnGap={20} align="baseline" wrap="wrap">
      {children}
    </Flex>
  )
}

interface Props {
  readonly n: number
  readonly label: string
  /** Applied if the number is not zero. */
  readonly tone?: 'ok' | 'run' | 'bad' | 'warn'
}

export function SummaryFact({ n, label, tone }: Props) {
  const format = useFormat()
  return (
    <span className={styles.fact} data-tone={n > 0 ? tone : undefined}>
      <strong>{format.number(n)}</strong> {label}
    </span>
  )
}
