import { Button, Flex, TextInput } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { martRowsQuery } from '../../../api/mart-data.js'
import { asProblem } from '../../../api/problem.js'
import type { MartRows, Pipeline } from '../../../api/wire.js'
import { ActionButton } from '../../../components/actions/ActionButton.js'
import { EmptyState } from '../../../components/layout/EmptyState.js'
import { Panel } from '../../../components/layout/Panel.js'
import { ProblemCard } from '../../../components/layout/ProblemCard.js'
import { Skeleton } from '../../../components/layout/Skeleton.js'
import { useFormat } from '../../../i18n/format.js'
import { useTexts } from '../../../i18n/texts.js'
import { useShortcut } from '../../../keyboard/shortcuts.js'
import { useLiveEvents } from '../../../live/live.js'
import { Icon } from '../../../theme/icons.js'
import styles from './data.module.css'
import { dataTexts } from './data-texts.js'
import { MartRowsTable } from './MartRowsTable.js'
import type { DataSearch } from './search.js'

export function RowsPanel({ pipeline }: { readonly pipeline: Pipeline }) {
  const texts = useTexts(dataTexts)
  const navigate = useNavigate()
  const search = useSearch({ from: '/pipelines/$id/data' })
  const rows = useInfiniteQuery(martRowsQuery(pipeline.id, search))
  const show = (next: DataSearch) =>
    void navigate({
      to: '/pipelines/$id/data',
      params: { id: pipeline.id },
      search: { ...search, ...next },
      replace: true,
    })
  return (
    <Panel
      title={texts.rows}
      isFlush
      actions={
        <ActionButton
          needs="operator"
          icon="retry"
          size="compact-sm"
          loading={rows.isRefetching && !rows.isFetchingNextPage}
          onClick={() => void rows.refetch()}
        >
          {texts.reload}
        </ActionButton>
      }
    >
      <FilterForm filter={search.filter} onChange={(filter) => show({ filter })} />
      <div className={styles.rowsBody}>
        {rows.error === null ? null : <RowsProblem error={rows.error} onRetry={() => void rows.refetch()} />}
        {rows.data === undefined ? (
          rows.error === null ? (
            <Skeleton lines={10} height={22} />
          ) : null
        ) : (
          <MartRowsTable
            pages={rows.data.pages}
            search={search}
            isDimmed={rows.isPlaceholderData || rows.error !== null}
            onSort={(sort) => show({ sort })}
          />
        )}
      </div>
      <Foot
        key={`${search.sort} ${search.filter}`}
        pipelineId={pipeline.id}
        pages={rows.data?.pages ?? null}
        isFiltered={search.filter !== undefined}
        readAt={rows.dataUpdatedAt}
      >
        {rows.hasNextPage && rows.error === null ? (
          <Button
            variant="default"
            size="compact-sm"
            loading={rows.isFetchingNextPage}
            onClick={() => void rows.fetchNextPage()}
          >
            {texts.more}
          </Button>
        ) : null}
      </Foot>
    </Panel>
  )
}

/** Applied by Enter: half of a condition would only be an error. */
function FilterForm({
  filter,
  onChange,
}: {
  readonly filter: string | undefined
  readonly onChange: (filter: string | undefined) => void
}) {
  const texts = useTexts(dataTexts)
  const input = useRef<HTMLInputElement>(null)
  const [text, setText] = useState(filter ?? '')
  useShortcut({ keys: '/', label: texts.filterKey }, () => input.current?.focus())
  useEffect(() => setText(filter ?? ''), [filter])
  const apply = (next: string) => onChange(next.trim() === '' ? undefined : next.trim())
  return (
    <form
      className={styles.filter}
      onSubmit={(event) => {
        event.preventDefault()
        apply(text)
      }}
    >
      <TextInput
        ref={input}
        className={styles.filterBox}
        size="xs"
        aria-label={texts.filter}
        placeholder={texts.filterExample}
        description={texts.filterHelp}
        inputWrapperOrder={['input', 'description']}
        leftSection={<Icon name="search" size={14} />}
        value={text}
        spellCheck={false}
        autoComplete="off"
        onChange={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => event.key === 'Escape' && event.currentTarget.blur()}
      />
      <Button type="submit" variant="default" size="xs">
        {texts.apply}
      </Button>
      <Button
        variant="subtle"
        size="xs"
        disabled={text === '' && filter === undefined}
        onClick={() => {
          setText('')
          apply('')
        }}
      >
        {texts.clear}
      </Button>
    </form>
  )
}

/** What is not an error of the user has a quiet text. */
function RowsProblem({ error, onRetry }: { readonly error: unknown; readonly onRetry: () => void }) {
  const texts = useTexts(dataTexts)
  const { problem } = asProblem(error)
  if (problem.code === 'MART_MISSING')
    return (
      <EmptyState icon="table" title={texts.missing.title}>
        {texts.missing.text}
      </EmptyState>
    )
  if (problem.code === 'ROWS_UNSUPPORTED')
    return (
      <EmptyState icon="table" title={texts.unsupported.title}>
        {texts.unsupported.text}
      </EmptyState>
    )
  return (
    <div className={styles.problem}>
      <ProblemCard error={error} onRetry={onRetry} />
    </div>
  )
}

interface FootProps {
  readonly pipelineId: string
  readonly pages: readonly MartRows[] | null
  readonly isFiltered: boolean
  readonly readAt: number
  readonly children: ReactNode
}

/** How many rows are shown, and whether a run has written others since. */
function Foot({ pipelineId, pages, isFiltered, readAt, children }: FootProps) {
  const texts = useTexts(dataTexts)
  const [changedAt, setChangedAt] = useState(0)
  useLiveEvents((events) => {
    const writes = events.some(
      (event) =>
        event.kind === 'run.batch' &&
        event.pipeline_id === pipelineId &&
        event.rows_inserted + event.rows_updated + event.rows_deleted > 0,
    )
    if (writes) setChangedAt(Date.now())
  })
  const [first] = pages ?? []
  return (
    <Flex
      className={styles.foot}
      rowGap={4}
      columnGap={12}
      align="center"
      wrap="wrap"
      justify="space-between"
    >
      <p className="v-soft" role="status">
        {pages === null ? ' ' : <Shown pages={pages} isFiltered={isFiltered} />}
        {first !== undefined && first.hidden_columns.length > 0
          ? ` ${texts.hidden(first.hidden_columns.join(', '))}`
          : ''}
        {changedAt > readAt && readAt > 0 ? ` ${texts.changed}` : ''}
      </p>
      {children}
    </Flex>
  )
}

function Shown({
  pages,
  isFiltered,
}: Pick<FootProps, 'isFiltered'> & { readonly pages: readonly MartRows[] }) {
  const texts = useTexts(dataTexts)
  const format = useFormat()
  const shown = pages.reduce((sum, { rows }) => sum + rows.length, 0)
  const last = pages.at(-1)
  if (last === undefined || last.next_cursor !== null)
    return texts.shown(shown, format.compact(last?.rows_estimate ?? 0))
  return isFiltered ? texts.found(shown) : texts.all(shown)
}
