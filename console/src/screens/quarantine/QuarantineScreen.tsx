import { Button, Flex, Group, Stack } from '@mantine/core'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { overviewQuery } from '../../api/pipelines.js'
import { quarantineRowsQuery } from '../../api/quarantine.js'
import type { QuarantinedRow, QuarantinePage } from '../../api/wire.js'
import { usePage } from '../../app/page.js'
import { Page } from '../../app/shell/Page.js'
import { EmptyState } from '../../components/layout/EmptyState.js'
import { ProblemCard } from '../../components/layout/ProblemCard.js'
import { Skeleton } from '../../components/layout/Skeleton.js'
import { useTexts } from '../../i18n/texts.js'
import { useLiveEvents } from '../../live/live.js'
import { Icon } from '../../theme/icons.js'
import { AllActions } from './AllActions.js'
import type { Selection } from './dialogs.js'
import { FilterBar } from './FilterBar.js'
import { QuarantineTable } from './QuarantineTable.js'
import styles from './quarantine.module.css'
import { type QuarantineSearch, STATUS_BY_FILTER } from './search.js'
import { quarantineTexts } from './texts.js'

/** The quarantined rows of all pipelines. */
export function QuarantineScreen() {
  const texts = useTexts(quarantineTexts)
  const search = useSearch({ from: '/quarantine' })
  const { data: overview } = useQuery(overviewQuery())
  const lines = overview?.items ?? []
  const rows = useInfiniteQuery(
    quarantineRowsQuery({
      status: STATUS_BY_FILTER[search.status ?? 'held'],
      ...(search.pipeline === undefined ? {} : { pipeline_id: search.pipeline }),
    }),
  )
  const total = rows.data?.pages[0]?.total ?? null
  usePage({
    title: [texts.title, ...(total === null ? [] : [texts.total(total)])],
    path: [{ label: texts.title }],
  })
  const pipeline = lines.find(({ id }) => id === search.pipeline) ?? null
  return (
    <Page>
      <Flex component="header" className={styles.top} direction="column" gap={2}>
        <h1 className={styles.headline}>{texts.title}</h1>
        <p className="v-soft">{texts.what}</p>
      </Flex>
      <FilterBar search={search} lines={lines}>
        {rows.data === undefined || rows.isPlaceholderData ? null : (
          <AllActions selection={allOf(rows.data.pages, search, pipeline)} />
        )}
      </FilterBar>
      <NewRows search={search} onShow={() => void rows.refetch()} />
      {rows.error === null ? null : <ProblemCard error={rows.error} onRetry={() => void rows.refetch()} />}
      {rows.data === undefined ? (
        rows.error === null ? (
          <Skeleton lines={8} height={32} />
        ) : null
      ) : (
        <Rows
          pages={rows.data.pages}
          search={search}
          isDimmed={rows.isPlaceholderData}
          onMore={rows.hasNextPage ? () => void rows.fetchNextPage() : null}
          isMore={rows.isFetchingNextPage}
        />
      )}
    </Page>
  )
}

/** All held rows up to the newest one on screen; null: none. */
function allOf(
  pages: readonly QuarantinePage[],
  search: QuarantineSearch,
  pipeline: { readonly id: string; readonly name: string } | null,
): Selection | null {
  const newest = pages[0]?.items[0]
  if (newest === undefined || newest.status !== 'HELD') return null
  // Until the list of pipelines is loaded, take the name from a row.
  const named =
    search.pipeline === undefined
      ? null
      : { id: search.pipeline, name: pipeline?.name ?? newest.pipeline_name }
  return { kind: 'all', total: pages[0]?.total ?? 0, upTo: newest.id, pipeline: named }
}

/** New rows are not inserted while the user reads. */
function NewRows({ search, onShow }: { readonly search: QuarantineSearch; readonly onShow: () => void }) {
  const texts = useTexts(quarantineTexts)
  const [isNew, setNew] = useState(false)
  useLiveEvents((events) => {
    const isOurs = (id: string) => search.pipeline === undefined || search.pipeline === id
    const refused = events.some(
      (event) => event.kind === 'run.batch' && event.rows_quarantined > 0 && isOurs(event.pipeline_id),
    )
    if (refused && search.status === undefined) setNew(true)
  })
  if (!isNew) return null
  return (
    <Stack gap={0} align="center">
      <Button
        variant="light"
        radius="xl"
        leftSection={<Icon name="up" size={14} />}
        onClick={() => {
          setNew(false)
          onShow()
        }}
      >
        {texts.fresh}
      </Button>
    </Stack>
  )
}

interface RowsProps {
  readonly pages: readonly QuarantinePage[]
  readonly search: QuarantineSearch
  readonly isDimmed: boolean
  readonly onMore: (() => void) | null
  readonly isMore: boolean
}

function Rows({ pages, search, isDimmed, onMore, isMore }: RowsProps) {
  const texts = useTexts(quarantineTexts)
  const navigate = useNavigate()
  const rows = pages.flatMap(({ items }) => items)
  if (rows.length === 0) return <NoRows search={search} />
  const open = (row: QuarantinedRow | null) =>
    void navigate({ to: '/quarantine', search: { ...search, row: row?.id }, replace: true })
  return (
    <>
      <QuarantineTable rows={rows} openedId={search.row ?? null} onOpen={open} isDimmed={isDimmed} />
      <Group className={styles.foot} gap={12}>
        <p className="v-soft" role="status">
          {texts.shown(rows.length, pages[0]?.total ?? rows.length)}
        </p>
        {onMore === null ? null : (
          <Button variant="default" loading={isMore} onClick={onMore}>
            {texts.more}
          </Button>
        )}
      </Group>
    </>
  )
}

function NoRows({ search }: { readonly search: QuarantineSearch }) {
  const { empty, nothing } = useTexts(quarantineTexts)
  const isAll = search.pipeline === undefined && search.status === undefined
  return (
    <EmptyState
      icon={isAll ? 'quarantine' : 'search'}
      title={isAll ? empty.title : nothing.title}
      link={{ to: isAll ? '/quality' : '/quarantine', label: isAll ? empty.action : nothing.clear }}
    >
      {isAll ? empty.text : nothing.text}
    </EmptyState>
  )
}
