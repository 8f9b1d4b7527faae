import styles from './one-width.module.css'

interface Props {
  /** The word that takes the place of this one when things change. */
  readonly also: string
  readonly children: string
}

/** A word that keeps its width when it becomes another: what is next to it is not moved away under the pointer. */
export function OneWidth({ also, children }: Props) {
  return (
    <span className={styles.oneWidth} data-also={also}>
      {children}
    </span>
  )
}
