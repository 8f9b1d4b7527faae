import type { ReactNode } from 'react'
import styles from './shell.module.css'

/** The container of a screen, with the same margins everywhere. */
export function Page({ children }: { readonly children: ReactNode }) {
  return <div className={styles.page}>{children}</div>
}
