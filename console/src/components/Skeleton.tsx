import { useTexts } from '../i18n/texts.js'
import styles from './panel.module.css'
import { shared } from './texts.js'

interface Props {
  readonly lines?: number
  readonly height?: number
}

/** Bones in place of what is loading. They take their space at once and are seen only when it takes long enough to notice. */
export function Skeleton({ lines = 6, height = 14 }: Props) {
  const texts = useTexts(shared)
  return (
    <div className={styles.bones} role="status" aria-label={texts.loading} data-skeleton>
      {Array.from({ length: lines }, (_, n) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: bones are all alike.
        <div key={n} className={styles.bone} style={{ height, width: `${92 - ((n * 17) % 40)}%` }} />
      ))}
    </div>
  )
}
