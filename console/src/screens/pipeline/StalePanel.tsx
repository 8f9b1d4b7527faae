import { Stack } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { freshnessQuery } from '../../api/pipeline.js'
import { Panel } from '../../components/layout/Panel.js'
import { ProblemCard } from '../../components/layout/ProblemCard.js'
import { Skeleton } from '../../components/layout/Skeleton.js'
import { useTexts } from '../../i18n/texts.js'
import styles from './pipeline.module.css'
import { staleTexts } from './stale-texts.js'

/** Why the data is older than it may be. */
export function StalePanel({ id }: { readonly id: string }) {
  const texts = useTexts(staleTexts)
  const { data, error, refetch } = useQuery(freshnessQuery(id))
  const cause = data?.cause
  return (
    <Panel title={texts.tooOld}>
      {error !== null ? (
        <ProblemCard error={error} onRetry={() => void refetch()} />
      ) : cause ? (
        <Stack className={styles.stale} gap={4} role="status">
          <strong>{texts.causes[cause.code]}</strong>
          <span>{cause.detail}</span>
          <span className={styles.note}>{cause.hint}</span>
        </Stack>
      ) : (
        <Skeleton lines={3} />
      )}
    </Panel>
  )
}
