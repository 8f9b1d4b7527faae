import { useEffect, useState } from 'react'
import { useTexts } from '../i18n/texts.js'
import styles from './panel.module.css'
import { shared } from './texts.js'

const PATIENCE_MS = 150

/** Bones in place of what is coming, but only when it takes long enough to be noticed. */
export function Skeleton({ lines = 6, height = 14 }: { readonly lines?: number; readonly height?: number }) {
  const texts = useTexts(shared)
  const [isShown, show] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => show(true), PATIENCE_MS)
    return () => clearTimeout(timer)
  }, [])
  if (!isShown) return null
  return (
    <div className={styles.bones} role="status" aria-label={texts.loading}>
      {Array.from({ length: lines }, (_, n) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: bones are all alike.
        <div key={n} className={styles.bone} style={{ height, width: `${92 - ((n * 17) % 40)}%` }} />
      ))}
    </div>
  )
}
