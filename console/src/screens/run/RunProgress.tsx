import { Flex } from '@mantine/core'
import type { RunDetail } from '../../api/wire.js'
import { activityOfRun } from '../../components/status/RunStatusBadge.js'
import { rateOf } from '../../facts/progress.js'
import { useFormat } from '../../i18n/format.js'
import { useTexts } from '../../i18n/texts.js'
import { useNow } from '../../time/clock.js'
import styles from './run.module.css'
import { runTexts } from './texts.js'

/** Numbers that change from the first batch on. Possible problems are shown only if not zero. */
export function RunProgress({ run }: { readonly run: RunDetail }) {
  const { progress: texts } = useTexts(runTexts)
  const format = useFormat()
  const rate = useRate(run)
  return (
    <Flex
      component="section"
      className={styles.progress}
      rowGap={6}
      columnGap={20}
      align="baseline"
      wrap="wrap"
      aria-label={texts.title}
    >
      <Count n={run.rows_read} label={texts.read} />
      <Count n={run.rows_written} label={texts.written} />
      <Count n={run.rows_inserted} label={texts.inserted} isMinor />
      <Count n={run.rows_updated} label={texts.updated} isMinor />
      <Count n={run.rows_unchanged} label={texts.unchanged} isMinor />
      <Count n={run.rows_deleted} label={texts.deleted} isMinor />
      {run.rows_duplicate > 0 ? <Count n={run.rows_duplicate} label={texts.duplicate} isMinor /> : null}
      {run.rows_quarantined > 0 ? <Count n={run.rows_quarantined} label={texts.quarantined} isBad /> : null}
      <Count n={run.batches} label={texts.batches(run.batches)} />
      <span className={styles.count}>
        <strong>{rate === null ? '–' : format.compact(rate)}</strong> {texts.rate}
      </span>
    </Flex>
  )
}

function useRate(run: RunDetail): number | null {
  const now = useNow()
  if (activityOfRun(run) === null) return rateOf(run)
  if (run.started_at === null) return null
  return rateOf({ rows_read: run.rows_read, duration_ms: Math.max(0, now - Date.parse(run.started_at)) })
}

interface CountProps {
  readonly n: number
  readonly label: string
  readonly isMinor?: boolean
  readonly isBad?: boolean
}

function Count({ n, label, isMinor = false, isBad = false }: CountProps) {
  const format = useFormat()
  return (
    <span className={styles.count} data-minor={isMinor || undefined} data-bad={isBad || undefined}>
      <strong>{format.number(n)}</strong> {label}
    </span>
  )
}
