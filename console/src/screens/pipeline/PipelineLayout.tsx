import { useQuery } from '@tanstack/react-query'
import { Link, Outlet, useParams } from '@tanstack/react-router'
import { useMemo } from 'react'
import { pipelineQuery } from '../../api/pipeline.js'
import { OVERVIEW_KEY, overviewQuery } from '../../api/pipelines.js'
import { queryClient } from '../../api/query-client.js'
import type { Overview, PipelineLine } from '../../api/wire.js'
import { usePage } from '../../app/page.js'
import { Page } from '../../app/shell/Page.js'
import { WaitingPage } from '../../app/shell/WaitingPage.js'
import { ProblemCard } from '../../components/layout/ProblemCard.js'
import { Tabs } from '../../components/layout/Tabs.js'
import { shared } from '../../components/texts.js'
import { activityOf } from '../../facts/activity.js'
import { progressOf } from '../../facts/progress.js'
import { type Format, useFormat } from '../../i18n/format.js'
import { useTexts } from '../../i18n/texts.js'
import { DraftBar } from './DraftBar.js'
import { PipelineHeader } from './PipelineHeader.js'
import styles from './pipeline.module.css'
import { PipelineContext } from './pipeline-context.js'
import { pipelineTexts } from './texts.js'

const TABS = ['overview', 'sql', 'config', 'versions', 'runs', 'state', 'quality', 'checks', 'data'] as const

export function PipelineLayout() {
  const texts = useTexts(pipelineTexts)
  const { activity: words } = useTexts(shared)
  const { id } = useParams({ from: '/pipelines/$id' })
  const { data, error, refetch } = useQuery(pipelineQuery(id))
  const line = useLine(id, data?.name)
  const format = useFormat()
  const name = data?.name ?? line?.name ?? null
  usePage({
    title: [name ?? id, ...(line ? [[words[activityOf(line)], ...shareText(line, format)].join(' ')] : [])],
    path: [{ label: texts.pipelines, to: '/pipelines' }, ...(name === null ? [] : [{ label: name }])],
  })
  // Wait for both: the line fills the header and panels, and would move the rest if it arrived later.
  const shown = useMemo(
    () => (data === undefined || line === undefined ? null : { pipeline: data, line }),
    [data, line],
  )
  if (shown === null)
    return <WaitingPage title={name ?? id} error={error} onRetry={refetch} lines={8} height={28} />
  return (
    <PipelineContext value={shown}>
      <Page>
        <PipelineHeader {...shown} />
        <Tabs label={texts.tabsLabel}>
          {TABS.map((tab) => (
            <Link key={tab} to={`/pipelines/$id/${tab}`} params={{ id }}>
              {texts.tabs[tab]}
            </Link>
          ))}
        </Tabs>
        {error === null ? null : <ProblemCard error={error} onRetry={() => void refetch()} />}
        {/* Unsaved input of a tab belongs to this pipeline only. */}
        <div key={id} className={styles.tabBody}>
          <Outlet />
        </div>
        <DraftBar pipeline={shown.pipeline} />
      </Page>
    </PipelineContext>
  )
}

function shareText(line: PipelineLine, format: Format): readonly string[] {
  const run = line.current_run
  const share = run === null ? null : progressOf(line, run, 0).share
  return share === null ? [] : [format.percent(share)]
}

/**
 * The same line as in the list, updated by the same events and available at once after the list. Undefined while loading;
 * null if it could not be loaded.
 */
function useLine(id: string, name: string | undefined): PipelineLine | null | undefined {
  const query = useQuery({ ...overviewQuery({ q: name ?? '' }), enabled: name !== undefined })
  const isThis = (each: PipelineLine) => each.id === id
  const found = query.data?.items.find(isThis) ?? cachedLine(isThis)
  const isLoading = query.error === null && (query.isPending || query.isPlaceholderData)
  return found ?? (isLoading ? undefined : null)
}

function cachedLine(isThis: (line: PipelineLine) => boolean): PipelineLine | null {
  for (const [, overview] of queryClient.getQueriesData<Overview>({ queryKey: OVERVIEW_KEY })) {
    const line = overview?.items.find(isThis)
    if (line !== undefined) return line
  }
  return null
}
