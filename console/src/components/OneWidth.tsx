import styles from './one-width.module.css'

interface Props {
  /** The word that takes the place of this one when things change. */
  readonly also: string
  /** Where there is room, the first button of a row that is aligned to the right may grow: it moves no other. */
  readonly isOnPhones?: boolean
  readonly children: string
}

/** A word that keeps its width when it becomes another: what is next to it is not moved away under the pointer. */
export function OneWidth({ also, isOnPhones = false, children }: Props) {
  return (
    <span className={`${styles.oneWidth} ${isOnPhones ? styles.onPhones : ''}`} data-also={also}>
      {children}
    </span>
  )
}
