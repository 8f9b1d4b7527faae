import { useQuery } from '@tanstack/react-query'
import { runnersQuery } from '../../api/runners.js'
import type { FleetSummary, PipelineLine } from '../../api/wire.js'
import list from '../../components/layout/list.module.css'
import { SummaryFact, SummaryLine } from '../../components/layout/SummaryLine.js'
import { Badge } from '../../components/status/Badge.js'
import { dataFactsOf } from '../../facts/data-state.js'
import { runnerStateOf } from '../../facts/runners.js'
import { useTexts } from '../../i18n/texts.js'
import { useNow } from '../../time/clock.js'
import { pipelinesTexts } from './texts.js'

interface Props {
  readonly summary: FleetSummary
  readonly lines: readonly PipelineLine[]
}

/** All pipelines and runners in one line. */
export function Summary({ summary, lines }: Props) {
  const texts = useTexts(pipelinesTexts)
  const now = useNow()
  const fleet = useFleet(summary, now)
  const stale = lines.filter((line) => dataFactsOf(line, now).state === 'stale').length
  return (
    <SummaryLine>
      <SummaryFact n={summary.pipelines} label={texts.all(summary.pipelines)} />
      <SummaryFact n={summary.running} label={texts.running} tone="run" />
      <SummaryFact n={summary.queued} label={texts.queued} />
      <SummaryFact n={summary.failed} label={texts.failing(summary.failed)} tone="bad" />
      <SummaryFact n={stale} label={texts.stale} tone="bad" />
      <span className={list.space} />
      {fleet.alive === 0 ? (
        <Badge tone="bad" icon="warn">
          {texts.noRunners}
        </Badge>
      ) : (
        <span className="v-soft">{texts.runners(fleet.alive, fleet.known)}</span>
      )}
    </SummaryLine>
  )
}

/** Heartbeats are not events: runners are polled, and become unresponsive on screen even if the server does not respond. */
function useFleet(summary: FleetSummary, now: number) {
  const { data } = useQuery(runnersQuery)
  if (data === undefined) return { alive: summary.runners_alive, known: summary.runners_known }
  const known = data.filter(({ stopped_at }) => stopped_at === null)
  const alive = known.filter(
    (runner) => runnerStateOf(runner, now - Date.parse(runner.heartbeat_at)) === 'alive',
  )
  return { alive: alive.length, known: known.length }
}
