import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { runQuery } from '../../api/runs.js'
import type { RunDetail } from '../../api/wire.js'
import { usePage } from '../../app/page.js'
import { Page } from '../../app/shell/Page.js'
import { WaitingPage } from '../../app/shell/WaitingPage.js'
import { ProblemCard } from '../../components/layout/ProblemCard.js'
import { activityOfRun } from '../../components/status/RunStatusBadge.js'
import { shared } from '../../components/texts.js'
import { isReleased } from '../../facts/holder.js'
import { shareOf } from '../../facts/progress.js'
import { useFormat } from '../../i18n/format.js'
import { useTexts } from '../../i18n/texts.js'
import { Attempts } from './Attempts.js'
import { BatchesPanel } from './BatchesPanel.js'
import { HeldBackCard, RunErrorCard, WroteNothingCard } from './cards.js'
import { LogPanel } from './LogPanel.js'
import { PartsPanel } from './PartsPanel.js'
import { RunHeader } from './RunHeader.js'
import { RunProgress } from './RunProgress.js'
import styles from './run.module.css'
import { ThroughputPanel } from './ThroughputPanel.js'
import { runTexts } from './texts.js'
import { useRereading } from './use-rereading.js'

export function RunScreen() {
  const { id } = useParams({ from: '/runs/$id' })
  const texts = useTexts(runTexts)
  const { data, error, refetch } = useQuery(runQuery(id))
  useRunPage(id, data)
  useRereading(id, data !== undefined && isReleased(data))
  if (data === undefined)
    return (
      <WaitingPage title={texts.run(id.slice(0, 8))} error={error} onRetry={refetch} lines={12} height={22} />
    )
  return (
    <Page>
      <RunErrorCard run={data} />
      <RunHeader run={data} />
      {error === null ? null : <ProblemCard error={error} onRetry={() => void refetch()} />}
      <WroteNothingCard run={data} />
      <HeldBackCard run={data} />
      <RunProgress run={data} />
      <Attempts run={data} />
      <PartsPanel run={data} />
      <div className={styles.columns}>
        <BatchesPanel run={data} />
        <ThroughputPanel batches={data.batch_history} />
      </div>
      <LogPanel key={id} run={data} isActive={activityOfRun(data) !== null} />
    </Page>
  )
}

function useRunPage(id: string, run: RunDetail | undefined): void {
  const texts = useTexts(runTexts)
  const words = useTexts(shared)
  const format = useFormat()
  const label = texts.run(id.slice(0, 8))
  const isRunning = run?.status === 'RUNNING'
  const share = isRunning ? shareOf(run.expected_rows_read, run.rows_read) : null
  // Wait for the pipeline: its name would move the rest.
  const pipeline =
    run === undefined
      ? []
      : [{ label: run.pipeline_name, to: `/pipelines/${run.pipeline_id}/overview` }, { label }]
  usePage({
    title:
      run === undefined
        ? [label]
        : [
            run.pipeline_name,
            [words.runStatus[run.status], ...(share === null ? [] : [format.percent(share)])].join(' '),
          ],
    path: [{ label: texts.runs, to: '/runs' }, ...pipeline],
  })
}
