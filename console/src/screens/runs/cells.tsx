import { Link } from '@tanstack/react-router'
import type { Run } from '../../api/wire.js'
import list from '../../components/layout/list.module.css'
import { activityOfRun, RunStatusBadge } from '../../components/status/RunStatusBadge.js'
import { NumberText } from '../../components/text/NumberText.js'
import { TimeText } from '../../components/text/TimeText.js'
import { useFormat } from '../../i18n/format.js'
import { useTexts } from '../../i18n/texts.js'
import { useNow } from '../../time/clock.js'
import styles from './runs.module.css'
import { runsTexts } from './texts.js'

interface CellProps {
  readonly run: Run
}

export function PipelineCell({ run }: CellProps) {
  const texts = useTexts(runsTexts)
  const short = run.id.slice(0, 8)
  return (
    <div className={`${list.two} ${styles.linked}`}>
      <Link to="/pipelines/$id/overview" params={{ id: run.pipeline_id }} className={list.name}>
        {run.pipeline_name}
      </Link>
      <Link
        to="/runs/$id"
        params={{ id: run.id }}
        className={`${list.soft} v-mono`}
        aria-label={texts.run(short)}
      >
        {short}
      </Link>
    </div>
  )
}

export function StartedCell({ run }: CellProps) {
  const texts = useTexts(runsTexts)
  if (run.started_at === null) return <span className="v-soft">{texts.notStarted}</span>
  return (
    <div className={list.two}>
      <TimeText at={run.started_at} as="short" />
      <span className={list.soft}>
        <TimeText at={run.started_at} as="relative" />
      </span>
    </div>
  )
}

export function DurationCell({ run }: CellProps) {
  const format = useFormat()
  const now = useNow()
  const isActive = activityOfRun(run) !== null
  const ms =
    isActive && run.started_at !== null ? Math.max(0, now - Date.parse(run.started_at)) : run.duration_ms
  return ms === null ? (
    <span className="v-soft">–</span>
  ) : (
    <span className="v-number">{format.duration(ms)}</span>
  )
}

export function ErrorCell({ run }: CellProps) {
  if (run.error_code === null) return null
  return (
    <span className={`${styles.error} v-mono`} title={run.error ?? undefined}>
      {run.error_code}
    </span>
  )
}

/** A run on a phone. */
export function RunCard({ run }: CellProps) {
  const texts = useTexts(runsTexts)
  const { columns } = texts
  return (
    <div className={styles.card}>
      <div className={list.cardTop}>
        <PipelineCell run={run} />
        <RunStatusBadge run={run} />
      </div>
      <div className={styles.cardFacts}>
        <span>
          {run.started_at === null ? texts.notStarted : <TimeText at={run.started_at} as="short" />}
        </span>
        <span>
          {columns.duration} <DurationCell run={run} />
        </span>
        <span>
          {columns.read} <NumberText value={run.rows_read} isCompact />
        </span>
        <span>
          {columns.written} <NumberText value={run.rows_written} isCompact />
        </span>
      </div>
      <ErrorCell run={run} />
    </div>
  )
}
