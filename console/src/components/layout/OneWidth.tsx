import styles from './one-width.module.css'

interface Props {
  /** The text that may replace this one. */
  readonly also: string
  /** The first button of a right-aligned row may grow if there is room: it moves no other button. */
  readonly isOnPhones?: boolean
  readonly children: string
}

/** A text whose width does not change when it is replaced, so that adjacent controls do not move. */
export function OneWidth({ also, isOnPhones = false, children }: Props) {
  return (
    <span className={`${styles.oneWidth} ${isOnPhones ? styles.onPhones : ''}`} data-also={also}>
      {children}
    </span>
  )
}
