import { Button } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useMemo } from 'react'
import { runsQuery } from '../../api/runs.js'
import type { Run } from '../../api/wire.js'
import { usePage } from '../../app/page.js'
import { Page } from '../../app/shell/Page.js'
import { OlderButton } from '../../components/actions/OlderButton.js'
import { EmptyState } from '../../components/layout/EmptyState.js'
import { ProblemCard } from '../../components/layout/ProblemCard.js'
import { Skeleton } from '../../components/layout/Skeleton.js'
import { DataTable } from '../../components/table/DataTable.js'
import { useTexts } from '../../i18n/texts.js'
import { RunCard } from './cells.js'
import { useColumns } from './columns.js'
import { FilterBar } from './FilterBar.js'
import { type RunsSearch, runsFilter, statusesOf } from './search.js'
import { runsTexts } from './texts.js'
import { useNewRuns } from './use-new-runs.js'

const keyOf = ({ id }: Run) => id
const nameOf = ({ pipeline_name }: Run) => pipeline_name
const card = (run: Run) => <RunCard run={run} />

export function RunsScreen() {
  const texts = useTexts(runsTexts)
  const search = useSearch({ from: '/runs' })
  const filter = runsFilter(search)
  const query = useInfiniteQuery(runsQuery(filter))
  const runs = useMemo(() => query.data?.pages.flatMap(({ items }) => items), [query.data])
  const fresh = useNewRuns(runs?.map(keyOf) ?? [], filter)
  const statuses = statusesOf(search).map((each) => texts.statuses[each])
  usePage({ title: [texts.title, ...statuses], path: [{ label: texts.title }] })
  const reread = () => void query.refetch().then(fresh.clear)
  return (
    <Page>
      <h1 className="v-heard-only">{texts.title}</h1>
      <FilterBar search={search} />
      {query.error === null ? null : <ProblemCard error={query.error} onRetry={() => void query.refetch()} />}
      {fresh.count === 0 ? null : (
        <div role="status">
          <Button variant="light" size="compact-sm" onClick={reread} loading={query.isRefetching}>
            {texts.fresh(fresh.count)}
          </Button>
        </div>
      )}
      {runs === undefined ? (
        query.error === null && <Skeleton lines={12} height={32} />
      ) : (
        <RunsTable runs={runs} search={search} isDimmed={query.isPlaceholderData} />
      )}
      <OlderButton query={query}>{texts.older}</OlderButton>
    </Page>
  )
}

interface TableProps {
  readonly runs: readonly Run[]
  readonly search: RunsSearch
  readonly isDimmed: boolean
}

function RunsTable({ runs, search, isDimmed }: TableProps) {
  const texts = useTexts(runsTexts)
  const navigate = useNavigate()
  const columns = useColumns()
  if (runs.length === 0) return <NoRuns isFiltered={Object.keys(runsFilter(search)).length > 0} />
  return (
    <>
      <DataTable
        label={texts.title}
        rows={runs}
        columns={columns}
        keyOf={keyOf}
        nameOf={nameOf}
        card={card}
        rowHeight={60}
        isDimmed={isDimmed}
        onOpen={({ id }) => void navigate({ to: '/runs/$id', params: { id } })}
      />
      <p className="v-soft" role="status">
        {texts.shown(runs.length)}
      </p>
    </>
  )
}

function NoRuns({ isFiltered }: { readonly isFiltered: boolean }) {
  const texts = useTexts(runsTexts)
  if (isFiltered)
    return (
      <EmptyState icon="search" title={texts.none.title} link={{ to: '/runs', label: texts.none.clear }}>
        {texts.none.text}
      </EmptyState>
    )
  return (
    <EmptyState
      icon="runs"
      title={texts.empty.title}
      link={{ to: '/pipelines', label: texts.empty.action, isMain: true }}
    >
      {texts.empty.text}
    </EmptyState>
  )
}
