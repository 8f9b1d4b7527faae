import type { ReactNode } from 'react'
import { Icon, type IconName } from '../../theme/icons.js'
import styles from './badge.module.css'

/** The meaning of the colours. */
export type Tone = 'ok' | 'run' | 'bad' | 'warn' | 'hold' | 'rest'

interface Props {
  readonly tone: Tone
  readonly icon: IconName
  readonly children: ReactNode
  /** Secondary text after the label: a number, a duration. */
  readonly more?: ReactNode
  readonly isSpinning?: boolean
}

/** Icon, label and colour have the same meaning, so that none of them is required. */
export function Badge({ tone, icon, children, more, isSpinning = false }: Props) {
  return (
    <span className={`${styles.badge} ${styles[tone]}`}>
      <Icon name={icon} size={14} className={isSpinning ? styles.spin : undefined} />
      <span className={styles.word}>{children}</span>
      {more === undefined || more === null ? null : <span className={styles.more}>{more}</span>}
    </span>
  )
}
