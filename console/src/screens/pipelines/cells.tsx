import { Link } from '@tanstack/react-router'
import { createContext, useContext } from 'react'
import type { PipelineLine } from '../../api/wire.js'
import { RunBars } from '../../components/charts/RunBars.js'
import { Sparkline } from '../../components/charts/Sparkline.js'
import list from '../../components/layout/list.module.css'
import { DataDue } from '../../components/status/DataDue.js'
import { DataStateBadge } from '../../components/status/DataStateBadge.js'
import { LastResultBadge } from '../../components/status/LastResultBadge.js'
import { StatusActivity } from '../../components/status/StatusActivity.js'
import { NumberText } from '../../components/text/NumberText.js'
import { TimeText } from '../../components/text/TimeText.js'
import { shared } from '../../components/texts.js'
import { ATTEMPTS, activityOf, isActive, lastResultOf } from '../../facts/activity.js'
import { dataFactsOf, nextRunOf } from '../../facts/data-state.js'
import { progressOf, rateOf } from '../../facts/progress.js'
import { useFormat } from '../../i18n/format.js'
import { useTexts } from '../../i18n/texts.js'
import { useNow } from '../../time/clock.js'
import styles from './pipelines.module.css'
import { pipelinesTexts } from './texts.js'

interface CellProps {
  readonly line: PipelineLine
}

/** Whether a runner is alive. */
export const RunnersAlive = createContext(true)

export function NameCell({ line }: CellProps) {
  const target =
    line.target_connection === null ? line.target_table : `${line.target_connection}: ${line.target_table}`
  return (
    <div className={list.two}>
      <Link to="/pipelines/$id/overview" params={{ id: line.id }} className={list.name}>
        {line.name}
      </Link>
      <span className={`${list.soft} v-mono`}>{target}</span>
    </div>
  )
}

export function NowCell({ line }: CellProps) {
  const texts = useTexts(pipelinesTexts)
  const format = useFormat()
  const now = useNow()
  const activity = activityOf(line)
  const run = line.current_run
  const { share } = run === null ? { share: null } : progressOf(line, run, now)
  const since = run === null ? null : now - Date.parse(run.started_at ?? run.requested_at)
  const more =
    activity === 'retrying'
      ? texts.attempt(run?.attempt ?? 1, ATTEMPTS)
      : share !== null
        ? `~${format.percent(share)}`
        : since !== null && isActive(activity)
          ? format.duration(Math.max(0, since))
          : null
  return (
    <div className={list.two}>
      <StatusActivity activity={activity} more={more} />
      <span className={list.soft}>
        <Waiting line={line} />
      </span>
    </div>
  )
}

/** Every non-final state says what it waits for. */
function Waiting({ line }: CellProps) {
  const texts = useTexts(pipelinesTexts)
  const format = useFormat()
  const now = useNow()
  const isRunnerAlive = useContext(RunnersAlive)
  const activity = activityOf(line)
  const run = line.current_run
  if (activity === 'queued' && !line.enabled) return texts.waitsDisabled
  if (activity === 'queued') return isRunnerAlive ? texts.waitsForRunner : texts.noRunner
  if (activity === 'cancelling' || activity === 'pausing') return texts.stopsAfterBatch
  if (activity === 'retrying' && run?.error_code) return <span className="v-mono">{run.error_code}</span>
  if (run === null || !isActive(activity)) return null
  const { etaMs } = progressOf(line, run, now)
  const parts = [texts.batch(run.batches + 1), etaMs === null ? null : texts.eta(format.duration(etaMs))]
  return parts.filter((part) => part !== null).join(' · ')
}

export function DataCell({ line }: CellProps) {
  const texts = useTexts(pipelinesTexts)
  const facts = dataFactsOf(line, useNow())
  return (
    <div className={list.two}>
      <DataStateBadge facts={facts} />
      {facts.warning === 'quarantine' ? (
        <span className={styles.warn}>{texts.quarantined(line.quarantined)}</span>
      ) : facts.warning === 'no-rows' ? (
        <span className={styles.warn}>{texts.readNothing}</span>
      ) : (
        <DataDue facts={facts} />
      )}
    </div>
  )
}

export function RunsCell({ line }: CellProps) {
  if (line.last_run === null) return <LastResultBadge result="never" />
  return (
    <div className={styles.runs}>
      <RunBars runs={line.recent} />
      <LastRun line={line} />
    </div>
  )
}

function LastRun({ line: { last_run: run } }: CellProps) {
  const texts = useTexts(pipelinesTexts)
  const format = useFormat()
  if (run === null) return null
  return (
    <div className={list.two}>
      <LastResultBadge
        result={lastResultOf(run)}
        more={run.duration_ms === null ? null : format.duration(run.duration_ms)}
      />
      <span className={list.soft}>
        {run.status === 'FAILED' ? (
          <span className="v-mono" title={run.error ?? undefined}>
            {run.error_code}
          </span>
        ) : (
          texts.written(format.compact(run.rows_written))
        )}
      </span>
    </div>
  )
}

export function RateCell({ line }: CellProps) {
  const texts = useTexts(pipelinesTexts)
  const now = useNow()
  const run = line.current_run
  const last = line.last_run === null ? null : rateOf(line.last_run)
  const rate = run === null || run.rows_read === 0 ? last : progressOf(line, run, now).rowsPerSecond
  const history = line.recent.map((bar) => rateOf(bar) ?? 0).reverse()
  return (
    <div className={styles.rate}>
      <NumberText value={rate} isCompact />
      <Sparkline values={history} label={texts.columns.rate} width={64} height={14} />
    </div>
  )
}

export function NextCell({ line }: CellProps) {
  const texts = useTexts(pipelinesTexts)
  const format = useFormat()
  const now = useNow()
  const words = useTexts(shared)
  const at = nextRunOf(line)
  if (at === null) return <span className={list.soft}>{texts.manual}</span>
  const wait = Date.parse(at) - now
  return (
    <div className={list.two}>
      <TimeText at={at} as="short" />
      <span className={list.soft}>{wait > 0 ? words.inTime(format.duration(wait)) : texts.dueNow}</span>
    </div>
  )
}
