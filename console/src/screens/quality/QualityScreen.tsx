import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useMemo } from 'react'
import { overviewQuery } from '../../api/pipelines.js'
import type { PipelineLine } from '../../api/wire.js'
import { usePage } from '../../app/page.js'
import { Page } from '../../app/shell/Page.js'
import { WaitingPage } from '../../app/shell/WaitingPage.js'
import { EmptyState } from '../../components/layout/EmptyState.js'
import { ProblemCard } from '../../components/layout/ProblemCard.js'
import { type Column, readSort, writeSort } from '../../components/table/column.js'
import { DataTable } from '../../components/table/DataTable.js'
import { useStableOrder } from '../../components/table/use-stable-order.js'
import { useTexts } from '../../i18n/texts.js'
import { useNow } from '../../time/clock.js'
import {
  ActionsCell,
  ChecksCell,
  ComparisonCell,
  DataCell,
  NameCell,
  QualityCard,
  QuarantineCell,
} from './cells.js'
import { FilterBar } from './FilterBar.js'
import { compareQuality, isShown } from './order.js'
import { Summary } from './Summary.js'
import type { QualitySearch } from './search.js'
import { fleetQualityTexts } from './texts.js'

const keyOf = ({ id }: PipelineLine) => id
const nameOf = ({ name }: PipelineLine) => name
const card = (line: PipelineLine) => <QualityCard line={line} />

/** The quality of all marts, worst first. */
export function QualityScreen() {
  const texts = useTexts(fleetQualityTexts)
  const search = useSearch({ from: '/quality' })
  const { data, error, refetch } = useQuery(overviewQuery())
  usePage({ title: [texts.title], path: [{ label: texts.title }] })
  if (data === undefined)
    return <WaitingPage title={texts.title} error={error} onRetry={refetch} lines={10} height={32} />
  if (data.summary.pipelines === 0) return <NoMarts />
  return (
    <Page>
      <h1 className="v-heard-only">{texts.title}</h1>
      <Summary lines={data.items} />
      <FilterBar search={search} />
      {error === null ? null : <ProblemCard error={error} onRetry={() => void refetch()} />}
      <QualityTable lines={data.items} search={search} />
    </Page>
  )
}

const WORST = 'worst'

interface TableProps {
  readonly lines: readonly PipelineLine[]
  readonly search: QualitySearch
}

function QualityTable({ lines, search }: TableProps) {
  const texts = useTexts(fleetQualityTexts)
  const navigate = useNavigate()
  const now = useNow()
  const columns = useColumns()
  const sort = readSort(search.sort ?? WORST)
  const shown = lines.filter((line) => isShown(search, line, now))
  const ordered = useStableOrder(shown, {
    keyOf,
    compare: compareQuality(sort, now),
    sortKey: writeSort(sort),
  })
  if (ordered.length === 0) return <NothingMatches />
  return (
    <>
      <DataTable
        label={texts.title}
        rows={ordered}
        columns={columns}
        keyOf={keyOf}
        nameOf={nameOf}
        card={card}
        rowHeight={60}
        sort={sort}
        onSort={(next) =>
          void navigate({ to: '/quality', search: { ...search, sort: writeSort(next) }, replace: true })
        }
        onOpen={({ id }) => void navigate({ to: '/pipelines/$id/quality', params: { id } })}
      />
      <p className="v-soft" role="status">
        {writeSort(sort) === WORST ? texts.shown(ordered.length) : texts.shownSorted(ordered.length)}
      </p>
    </>
  )
}

function useColumns(): readonly Column<PipelineLine>[] {
  const { columns: names } = useTexts(fleetQualityTexts)
  return useMemo(
    () => [
      {
        id: 'name',
        header: names.name,
        width: 'minmax(130px, 1.3fr)',
        isSortable: true,
        cell: (line) => <NameCell line={line} />,
      },
      {
        id: 'worst',
        header: names.worst,
        width: 'minmax(164px, 1.1fr)',
        isSortable: true,
        cell: (line) => <ChecksCell line={line} />,
      },
      {
        id: 'data',
        header: names.data,
        width: 'minmax(176px, 1.1fr)',
        isSortable: true,
        cell: (line) => <DataCell line={line} />,
      },
      {
        id: 'compare',
        header: names.compare,
        width: 'minmax(150px, 1.2fr)',
        isSortable: true,
        cell: (line) => <ComparisonCell line={line} />,
      },
      {
        id: 'quarantine',
        header: names.quarantine,
        width: '92px',
        isSortable: true,
        cell: (line) => <QuarantineCell line={line} />,
      },
      {
        id: 'actions',
        header: names.actions,
        width: 'minmax(108px, 184px)',
        cell: (line) => <ActionsCell line={line} />,
      },
    ],
    [names],
  )
}

function NoMarts() {
  const { empty } = useTexts(fleetQualityTexts)
  return (
    <EmptyState
      icon="quality"
      title={empty.title}
      link={{ to: '/pipelines/new', label: empty.action, isMain: true }}
    >
      {empty.text}
    </EmptyState>
  )
}

function NothingMatches() {
  const { nothing } = useTexts(fleetQualityTexts)
  return (
    <EmptyState icon="search" title={nothing.title} link={{ to: '/quality', label: nothing.clear }}>
      {nothing.text}
    </EmptyState>
  )
}
