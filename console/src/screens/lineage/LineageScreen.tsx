import { Button, Flex, Stack } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { Link, useSearch } from '@tanstack/react-router'
import { lazy, Suspense, useMemo } from 'react'
import { asProblem } from '../../api/problem.js'
import type { LineageGraph } from '../../api/wire.js'
import { usePage } from '../../app/page.js'
import { Page } from '../../app/shell/Page.js'
import { EmptyState } from '../../components/layout/EmptyState.js'
import { ProblemCard } from '../../components/layout/ProblemCard.js'
import { Skeleton } from '../../components/layout/Skeleton.js'
import { useTexts } from '../../i18n/texts.js'
import { Icon } from '../../theme/icons.js'
import { findColumn, type Lines, MOST_DRAWN, pathOf } from './graph-facts.js'
import { LineageList } from './LineageList.js'
import styles from './lineage.module.css'
import { PathPanel } from './PathPanel.js'
import type { LineageSearch } from './search.js'
import { Toolbar } from './Toolbar.js'
import { lineageTexts } from './texts.js'
import { LineageViewProvider, useLineage, useStates } from './use-lineage.js'

const Drawing = lazy(() => import('./LineageCanvas.js').then((module) => ({ default: module.LineageCanvas })))

export function LineageScreen() {
  const texts = useTexts(lineageTexts)
  const search = useSearch({ from: '/lineage' })
  const { fleet, shown, lines, isStateKnown } = useLineage(search)
  const focus = fleet.data?.nodes.find(({ id }) => id === (shown.data?.focus ?? search.node)) ?? null
  usePage({
    title: [...(focus === null ? [] : [focus.name]), texts.title],
    path:
      focus === null
        ? [{ label: texts.title }]
        : [{ label: texts.title, to: '/lineage' }, { label: focus.name }],
  })
  const view = useViewOf(search, shown.data)
  if (fleet.data === undefined)
    return (
      <Page>
        <h1 className="v-heard-only">{texts.title}</h1>
        {fleet.error === null ? (
          <Skeleton lines={8} height={32} />
        ) : (
          <ProblemCard error={fleet.error} onRetry={() => void fleet.refetch()} />
        )}
      </Page>
    )
  if (fleet.data.nodes.length === 0) return <NothingYet />
  return (
    <Page>
      <h1 className="v-heard-only">{texts.title}</h1>
      <Toolbar search={search} fleet={fleet.data} focus={focus} view={view} />
      {shown.error === null ? null : (
        <Failed error={shown.error} node={search.node} onRetry={() => void shown.refetch()} />
      )}
      {shown.error !== null ? null : shown.data === undefined || !isStateKnown ? (
        <Skeleton lines={8} height={32} />
      ) : (
        // Around everything: content below the graph waits until the graph has its height.
        <Suspense fallback={<Skeleton lines={8} height={32} />}>
          <Shown
            fleet={fleet.data}
            graph={shown.data}
            lines={lines}
            search={search}
            view={view}
            isDimmed={shown.isPlaceholderData}
          />
        </Suspense>
      )}
    </Page>
  )
}

/** The list is the default on a phone, and used for too many nodes. */
function useViewOf(search: LineageSearch, graph: LineageGraph | undefined): 'graph' | 'list' {
  const isPhone = useMediaQuery('(max-width: 719px)', undefined, { getInitialValueInEffect: false }) ?? false
  if (graph !== undefined && graph.nodes.length > MOST_DRAWN) return 'list'
  return search.view ?? (isPhone ? 'list' : 'graph')
}

interface ShownProps {
  readonly fleet: LineageGraph
  readonly graph: LineageGraph
  readonly lines: Lines
  readonly search: LineageSearch
  readonly view: 'graph' | 'list'
  readonly isDimmed: boolean
}

function Shown({ fleet, graph, lines, search, view, isDimmed }: ShownProps) {
  const texts = useTexts(lineageTexts)
  const states = useStates(fleet, lines)
  const path = useMemo(() => {
    const column = findColumn(graph, search.column)
    return column === null ? null : pathOf(graph, column)
  }, [graph, search.column])
  const value = useMemo(() => ({ fleet, graph, states, lines, path }), [fleet, graph, states, lines, path])
  return (
    <LineageViewProvider value={value}>
      <Notes graph={graph} search={search} />
      <Stack
        className={styles.shown}
        gap={12}
        data-dim={isDimmed || undefined}
        data-path={path !== null || undefined}
      >
        {view === 'graph' ? <Drawing /> : <LineageList />}
        {graph.level === 'column' ? <PathPanel /> : null}
      </Stack>
      <p className="v-soft" role="status">
        {texts.shown(graph.nodes.length, graph.total_nodes)}
      </p>
    </LineageViewProvider>
  )
}

/** What the graph does not show, and why. */
function Notes({ graph, search }: { readonly graph: LineageGraph; readonly search: LineageSearch }) {
  const texts = useTexts(lineageTexts)
  const notes = [
    ...(graph.nodes.length > MOST_DRAWN ? [texts.tooMany(graph.nodes.length, MOST_DRAWN)] : []),
    ...(search.level === 'column' && graph.level === 'table' ? [texts.noColumnsHere(MOST_DRAWN)] : []),
    ...graph.problems.map(
      ({ connection, message }) => `${texts.sourceDown(connection ?? texts.mainDatabase)} ${message}`,
    ),
  ]
  return notes.map((note) => (
    <Flex component="p" key={note} className={styles.note} gap={8} align="baseline" role="status">
      <Icon name="info" size={14} /> {note}
    </Flex>
  ))
}

interface FailedProps {
  readonly error: unknown
  readonly node: string | undefined
  readonly onRetry: () => void
}

function Failed({ error, node, onRetry }: FailedProps) {
  const { gone } = useTexts(lineageTexts)
  if (asProblem(error).problem.code !== 'LINEAGE_NOT_FOUND')
    return <ProblemCard error={error} onRetry={onRetry} />
  return (
    <EmptyState icon="lineage" title={gone.title} link={{ to: '/lineage', label: gone.action, isMain: true }}>
      {gone.text(node ?? '')}
    </EmptyState>
  )
}

function NothingYet() {
  const { title, empty } = useTexts(lineageTexts)
  return (
    <Page>
      <h1 className="v-heard-only">{title}</h1>
      <EmptyState
        icon="lineage"
        title={empty.title}
        actions={
          <Button component={Link} to="/pipelines/new" leftSection={<Icon name="plus" size={14} />}>
            {empty.action}
          </Button>
        }
      >
        {empty.text}
      </EmptyState>
    </Page>
  )
}
