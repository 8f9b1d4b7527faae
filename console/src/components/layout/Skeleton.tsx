import { Stack } from '@mantine/core'
import { useTexts } from '../../i18n/texts.js'
import { shared } from '../texts.js'
import styles from './panel.module.css'

interface Props {
  readonly lines?: number
  readonly height?: number
}

/** A placeholder for loading content. It reserves its space at once and becomes visible after 150 ms. */
export function Skeleton({ lines = 6, height = 14 }: Props) {
  const texts = useTexts(shared)
  return (
    <Stack className={styles.bones} gap={10} role="status" aria-label={texts.loading} data-skeleton>
      {Array.from({ length: lines }, (_, n) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: all lines are identical.
        <div key={n} className={styles.bone} style={{ height, width: `${92 - ((n * 17) % 40)}%` }} />
      ))}
    </Stack>
  )
}
