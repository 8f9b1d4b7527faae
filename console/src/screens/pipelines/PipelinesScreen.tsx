import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import { overviewQuery } from '../../api/pipelines.js'
import type { Overview, PipelineLine } from '../../api/wire.js'
import { usePage } from '../../app/page.js'
import { Page } from '../../app/shell/Page.js'
import { WaitingPage } from '../../app/shell/WaitingPage.js'
import list from '../../components/layout/list.module.css'
import { ProblemCard } from '../../components/layout/ProblemCard.js'
import { type Column, readSort, writeSort } from '../../components/table/column.js'
import { DataTable } from '../../components/table/DataTable.js'
import { useStableOrder } from '../../components/table/use-stable-order.js'
import { useTexts } from '../../i18n/texts.js'
import { usePreferences } from '../../preferences/preferences.js'
import { BulkBar } from './BulkBar.js'
import type { BulkAction } from './BulkDialog.js'
import { DataCell, NameCell, NextCell, NowCell, RateCell, RunnersAlive, RunsCell } from './cells.js'
import { NoPipelines, NothingMatches } from './empty.js'
import { FilterBar } from './FilterBar.js'
import { comparePipelines } from './order.js'
import { PipelineCard } from './PipelineCard.js'
import styles from './pipelines.module.css'
import { RowActions } from './RowActions.js'
import { Summary } from './Summary.js'
import { overviewFilter, type PipelinesSearch } from './search.js'
import { pipelinesTexts } from './texts.js'
import { useRowShortcuts } from './use-row-shortcuts.js'

/** One line per pipeline: twice as many fit on a screen. */
const COMPACT_PX = 34

const keyOf = ({ id }: PipelineLine) => id
const nameOf = ({ name }: PipelineLine) => name
const card = (line: PipelineLine) => <PipelineCard line={line} />

export function PipelinesScreen() {
  const texts = useTexts(pipelinesTexts)
  const search = useSearch({ from: '/pipelines' })
  const { data, error, isPlaceholderData, refetch } = useQuery(overviewQuery(overviewFilter(search)))
  const failed = data?.summary.failed ?? 0
  usePage({
    title: [texts.title, ...(failed > 0 ? [`${failed} ${texts.failing(failed)}`] : [])],
    path: [{ label: texts.title }],
  })
  if (data === undefined)
    return <WaitingPage title={texts.title} error={error} onRetry={refetch} lines={10} height={32} />
  if (data.summary.pipelines === 0) return <NoPipelines />
  return (
    <Page>
      <h1 className="v-heard-only">{texts.title}</h1>
      <Summary summary={data.summary} lines={data.items} />
      <FilterBar search={search} lines={data.items} />
      {error === null ? null : <ProblemCard error={error} onRetry={() => void refetch()} />}
      <PipelinesTable overview={data} search={search} isDimmed={isPlaceholderData} />
    </Page>
  )
}

interface TableProps {
  readonly overview: Overview
  readonly search: PipelinesSearch
  readonly isDimmed: boolean
}

function PipelinesTable({ overview, search, isDimmed }: TableProps) {
  const texts = useTexts(pipelinesTexts)
  const navigate = useNavigate()
  const columns = useColumns()
  const [picked, pick] = useState<ReadonlySet<string>>(new Set())
  const [action, choose] = useState<BulkAction | null>(null)
  const isCompact = usePreferences().density === 'compact'
  const rowKeys = useRowShortcuts(picked.size > 0, choose)
  const sort = readSort(search.sort ?? 'name')
  const lines = useStableOrder(overview.items, {
    keyOf,
    compare: comparePipelines(sort),
    sortKey: writeSort(sort),
  })
  if (lines.length === 0) return <NothingMatches />
  return (
    <RunnersAlive value={overview.summary.runners_alive > 0}>
      <div className={isCompact ? `${styles.compact} ${list.compact}` : undefined}>
        <DataTable
          label={texts.title}
          rows={lines}
          columns={columns}
          keyOf={keyOf}
          nameOf={nameOf}
          card={card}
          rowHeight={isCompact ? COMPACT_PX : undefined}
          rowKeys={rowKeys}
          isDimmed={isDimmed}
          sort={sort}
          onSort={(next) =>
            void navigate({ to: '/pipelines', search: { ...search, sort: writeSort(next) }, replace: true })
          }
          picked={picked}
          onPick={pick}
          onOpen={({ id }) => void navigate({ to: '/pipelines/$id/overview', params: { id } })}
        />
      </div>
      <p className="v-soft" role="status">
        {overview.next_cursor === null ? texts.shown(lines.length) : texts.shownFirst(lines.length)}
      </p>
      <BulkBar
        lines={lines.filter(({ id }) => picked.has(id))}
        action={action}
        choose={choose}
        onClear={() => pick(new Set())}
      />
    </RunnersAlive>
  )
}

function useColumns(): readonly Column<PipelineLine>[] {
  const { columns: names } = useTexts(pipelinesTexts)
  return useMemo(
    () => [
      {
        id: 'name',
        header: names.name,
        width: 'minmax(150px, 1.55fr)',
        isSortable: true,
        cell: (line) => <NameCell line={line} />,
      },
      {
        id: 'now',
        header: names.now,
        width: 'minmax(130px, 1.1fr)',
        isSortable: true,
        cell: (line) => <NowCell line={line} />,
      },
      {
        id: 'data',
        header: names.data,
        width: 'minmax(164px, 1.3fr)',
        isSortable: true,
        cell: (line) => <DataCell line={line} />,
      },
      {
        id: 'runs',
        header: names.runs,
        width: 'minmax(284px, 2fr)',
        isSortable: true,
        cell: (line) => <RunsCell line={line} />,
      },
      {
        id: 'rate',
        header: names.rate,
        width: '76px',
        align: 'end',
        isSortable: true,
        cell: (line) => <RateCell line={line} />,
      },
      {
        id: 'next',
        header: names.next,
        width: 'minmax(96px, 0.7fr)',
        isSortable: true,
        cell: (line) => <NextCell line={line} />,
      },
      { id: 'actions', header: '', width: '62px', cell: (line) => <RowActions line={line} /> },
    ],
    [names],
  )
}
