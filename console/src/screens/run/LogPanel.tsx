import { Button } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { type RunLog, type RunLogFilter, readOlderLog, runLogQuery } from '../../api/runs.js'
import type { RunDetail } from '../../api/wire.js'
import { toastProblem } from '../../components/actions/toast.js'
import { Panel } from '../../components/layout/Panel.js'
import { ProblemCard } from '../../components/layout/ProblemCard.js'
import { Skeleton } from '../../components/layout/Skeleton.js'
import { LogView } from '../../components/log/LogView.js'
import { shared } from '../../components/texts.js'
import { useLanguage, useTexts } from '../../i18n/texts.js'
import { useZone, zoneLabel } from '../../time/zone.js'
import { LogTools } from './LogTools.js'
import styles from './run.module.css'
import type { RunSearch } from './search.js'
import { runTexts } from './texts.js'
import { useRunSearch } from './use-run-search.js'

interface Props {
  readonly run: RunDetail
  readonly isActive: boolean
}

export function LogPanel({ run, isActive }: Props) {
  const { log: texts } = useTexts(runTexts)
  const [search] = useRunSearch()
  const [isWrapped, wrap] = useState(true)
  const [isFollowing, follow] = useState(isActive && search.line === undefined)
  const filter = filterOf(search)
  const { data, error, isFetching, refetch } = useQuery(runLogQuery(run.id, filter, search.line))
  const isMore = data?.isMore === true
  // Follow mode loads page after page until the end.
  useEffect(() => {
    if (isFollowing && isMore && !isFetching && error === null) void refetch()
  }, [isFollowing, isMore, isFetching, error, refetch])
  return (
    <div id="run-log">
      <Panel
        title={texts.title}
        isFlush
        actions={
          <LogTools
            run={run}
            filter={filter}
            pages={data?.pages ?? []}
            {...{ isWrapped, isFollowing, wrap, follow }}
          />
        }
      >
        {error === null ? null : <ProblemCard error={error} onRetry={() => void refetch()} />}
        {data === undefined ? (
          error === null && <Skeleton lines={6} />
        ) : (
          <Lines log={data} runId={run.id} {...{ filter, isWrapped, isFollowing }} />
        )}
        {isMore ? (
          <Button variant="subtle" m={8} loading={isFetching} onClick={() => void refetch()}>
            {texts.newer}
          </Button>
        ) : null}
      </Panel>
    </div>
  )
}

/** The parameters of the request. */
function filterOf({ log, attempt, q }: RunSearch): RunLogFilter {
  return {
    ...(log === 'errors' ? { errors_only: true } : {}),
    ...(attempt === undefined ? {} : { attempt }),
    ...(q === undefined ? {} : { q }),
  }
}

interface LinesProps {
  readonly runId: string
  readonly log: RunLog
  readonly filter: RunLogFilter
  readonly isWrapped: boolean
  readonly isFollowing: boolean
}

function Lines({ runId, log, filter, isWrapped, isFollowing }: LinesProps) {
  const { log: texts } = useTexts(runTexts)
  const words = useTexts(shared)
  const [{ line }, change] = useRunSearch()
  const zone = useZone()
  const language = useLanguage()
  const count = log.pages.reduce((sum, page) => sum + page.length, 0)
  const isFiltered = Object.keys(filter).length > 0
  if (count === 0)
    return (
      <p className={styles.nothing}>
        {!isFiltered ? words.logEmpty : filter.q === undefined ? texts.none : texts.noMatch(filter.q)}
      </p>
    )
  return (
    <>
      {log.older === null ? null : <Older runId={runId} filter={filter} />}
      <LogView
        pages={log.pages}
        isWrapped={isWrapped}
        isFollowing={isFollowing}
        chosen={line}
        onChoose={(id) => void change({ line: id === line ? undefined : id })}
      />
      <p className={styles.logFoot}>
        {texts.lines(count)}
        {log.older === null ? '' : `, ${texts.older}`}
        {log.isMore ? `, ${texts.more}` : ''}
        {` · ${texts.zone(zoneLabel(zone, Date.parse(log.pages[0]?.[0]?.at ?? ''), language))}`}
      </p>
    </>
  )
}

function Older({ runId, filter }: Pick<LinesProps, 'runId' | 'filter'>) {
  const words = useTexts(shared)
  const { log: texts } = useTexts(runTexts)
  const client = useQueryClient()
  const [isBusy, setBusy] = useState(false)
  const read = async () => {
    setBusy(true)
    await readOlderLog(client, runId, filter).catch((error) => toastProblem(texts.notRead, error))
    setBusy(false)
  }
  return (
    <Button variant="subtle" m={8} loading={isBusy} onClick={() => void read()}>
      {words.olderLines}
    </Button>
  )
}
