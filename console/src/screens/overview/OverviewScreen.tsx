import { Flex, Stack } from '@mantine/core'
import { type UseQueryResult, useQuery } from '@tanstack/react-query'
import { overviewQuery } from '../../api/pipelines.js'
import { runnersQuery } from '../../api/runners.js'
import type { Overview, Runner } from '../../api/wire.js'
import { usePage } from '../../app/page.js'
import { Page } from '../../app/shell/Page.js'
import { WaitingPage } from '../../app/shell/WaitingPage.js'
import { EmptyState } from '../../components/layout/EmptyState.js'
import { ProblemCard } from '../../components/layout/ProblemCard.js'
import { FleetReason } from '../../components/status/FleetReason.js'
import { fleetOf, queuedIn } from '../../facts/runners.js'
import { useTexts } from '../../i18n/texts.js'
import { useNow } from '../../time/clock.js'
import { AttentionPanel } from './AttentionPanel.js'
import { attentionOf } from './attention.js'
import { NextPanel, RestingPanel } from './NextPanel.js'
import { QueuePanel, RunningPanel } from './NowPanels.js'
import styles from './overview.module.css'
import { RunnersPanel } from './RunnersPanel.js'
import { Tiles } from './Tiles.js'
import { overviewTexts } from './texts.js'

/** Overview of all pipelines and runners, and of the state of the data. */
export function OverviewScreen() {
  const texts = useTexts(overviewTexts)
  const { data, error, refetch } = useQuery(overviewQuery())
  const runners = useQuery(runnersQuery)
  const now = useNow()
  const needing = data === undefined ? 0 : attentionOf(data.items, now).length
  usePage({
    title: [texts.title, ...(needing > 0 ? [texts.needs(needing)] : [])],
    path: [{ label: texts.title }],
  })
  // The state of the runners is at the top: if it arrived later, it would move the rest.
  if (data === undefined || (runners.isPending && error === null))
    return <WaitingPage title={texts.title} error={error} onRetry={refetch} lines={8} height={40} />
  if (data.summary.pipelines === 0) return <NoPipelines />
  return (
    <Page>
      {error === null ? null : <ProblemCard error={error} onRetry={() => void refetch()} />}
      <Fleet overview={data} runners={runners} needing={needing} />
    </Page>
  )
}

interface FleetProps {
  readonly overview: Overview
  readonly runners: UseQueryResult<readonly Runner[]>
  readonly needing: number
}

function Fleet({ overview, runners, needing }: FleetProps) {
  const texts = useTexts(overviewTexts)
  const { items: lines, summary } = overview
  const fleet = runners.data === undefined ? null : fleetOf(runners.data)
  const queued = queuedIn(overview)
  return (
    <>
      <Flex component="header" direction="column" gap={10}>
        <h1 className={styles.headline} data-calm={needing === 0 || undefined}>
          {needing === 0 ? texts.calm : texts.needs(needing)}
        </h1>
        {lines.length < summary.pipelines ? (
          <p className={styles.soft}>{texts.partly(lines.length, summary.pipelines)}</p>
        ) : null}
        {fleet === null ? null : <FleetReason queued={queued} fleet={fleet} />}
      </Flex>
      <Tiles overview={overview} runners={runners.data ?? null} />
      <div className={styles.columns}>
        <Stack gap={14} miw={0}>
          <AttentionPanel lines={lines} />
          <RestingPanel lines={lines} />
        </Stack>
        <Stack gap={14} miw={0}>
          <RunningPanel lines={lines} />
          <QueuePanel lines={lines} queued={queued} fleet={fleet} />
          <NextPanel lines={lines} />
          <RunnersPanel
            runners={runners.data ?? null}
            error={runners.error}
            onRetry={() => void runners.refetch()}
          />
        </Stack>
      </div>
    </>
  )
}

function NoPipelines() {
  const { empty } = useTexts(overviewTexts)
  return (
    <EmptyState
      icon="overview"
      title={empty.title}
      link={{ to: '/pipelines/new', label: empty.action, isMain: true }}
    >
      {empty.text}
    </EmptyState>
  )
}
