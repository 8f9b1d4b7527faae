import type { ReactNode } from 'react'
import { Icon, type IconName } from '../theme/icons.js'
import styles from './badge.module.css'

/** What a colour means, everywhere. */
export type Tone = 'ok' | 'run' | 'bad' | 'warn' | 'hold' | 'rest'

interface Props {
  readonly tone: Tone
  readonly icon: IconName
  readonly children: ReactNode
  /** Behind the word, softer: a number, a duration. */
  readonly more?: ReactNode
  readonly isSpinning?: boolean
}

/** Icon, word and colour say the same thing three times: one of them is enough for whoever misses the others. */
export function Badge({ tone, icon, children, more, isSpinning = false }: Props) {
  return (
    <span className={`${styles.badge} ${styles[tone]}`}>
      <Icon name={icon} size={14} className={isSpinning ? styles.spin : undefined} />
      <span className={styles.word}>{children}</span>
      {more === undefined || more === null ? null : <span className={styles.more}>{more}</span>}
    </span>
  )
}
