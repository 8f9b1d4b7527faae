import type { ReactNode } from 'react'
import { useFormat } from '../i18n/format.js'
import styles from './summary-line.module.css'

/** A whole list in one line of numbers. */
export function SummaryLine({ children }: { readonly children: ReactNode }) {
  return <div className={styles.line}>{children}</div>
}

interface Props {
  readonly n: number
  readonly label: string
  /** Only where the number is not zero: nothing to worry about has no colour. */
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
