import { Stack } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { freshnessQuery } from '../../api/pipeline.js'
import { Panel } from '../../components/layout/Panel.js'
import { ProblemCard } from '../../components/layout/ProblemCard.js'
import { Skeleton } from '../../components/layout/Skeleton.js'
import { useFormat } from '../../i18n/format.js'
import { useTexts } from '../../i18n/texts.js'
import styles from './pipeline.module.css'
import { sentencesOf } from './stale-sentences.js'
import { staleTexts } from './stale-texts.js'

/** Why the data is older than it may be. */
export function StalePanel({ id }: { readonly id: string }) {
  const texts = useTexts(staleTexts)
  const { data, error, refetch } = useQuery(freshnessQuery(id))
  const format = useFormat()
  const cause = data?.cause
  const sentences = cause ? sentencesOf(cause, texts, format) : null
  return (
    <Panel title={texts.tooOld}>
      {error !== null ? (
        <ProblemCard error={error} onRetry={() => void refetch()} />
      ) : cause && sentences ? (
        <Stack className={styles.stale} gap={4} role="status">
          <strong>{texts.causes[cause.code]}</strong>
          <span>{sentences.detail}</span>
          <span className={styles.note}>{sentences.hint}</span>
        </Stack>
      ) : (
        <Skeleton lines={3} />
      )}
    </Panel>
  )
}
