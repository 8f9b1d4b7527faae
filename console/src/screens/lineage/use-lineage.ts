import { useDebouncedCallback } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { createContext, useContext, useMemo } from 'react'
import { LINEAGE_KEY, lineageQuery } from '../../api/lineage.js'
import { overviewQuery } from '../../api/pipelines.js'
import { queryClient } from '../../api/query-client.js'
import type { LineageGraph } from '../../api/wire.js'
import { useLiveEvents } from '../../live/live.js'
import { useNow } from '../../time/clock.js'
import { type ColumnPath, type Lines, type NodeState, statesOf } from './graph-facts.js'
import type { LineageSearch } from './search.js'

/** Events come in bursts, and computing the graph parses every query. */
const PAUSE_MS = 2_000

/** Changes the search parameters. */
export function useShow(): (change: Partial<LineageSearch>) => void {
  const search = useSearch({ from: '/lineage' })
  const navigate = useNavigate()
  return (change) => void navigate({ to: '/lineage', search: { ...search, ...change } })
}

/** The whole graph for the selector and the states, and the part that is shown. One request if they are the same. */
export function useLineage(search: LineageSearch) {
  const { node, up, down, level } = search
  const fleet = useQuery(lineageQuery())
  const shown = useQuery(lineageQuery(node === undefined ? { level } : { node, up, down, level }))
  const overview = useQuery(overviewQuery())
  const reread = useDebouncedCallback(
    () => void queryClient.invalidateQueries({ queryKey: LINEAGE_KEY }),
    PAUSE_MS,
  )
  useLiveEvents((events) => {
    if (events.some(({ kind }) => /^pipeline\.(created|changed|deleted)$/.test(kind))) reread()
  })
  const lines: Lines = useMemo(
    () => new Map((overview.data?.items ?? []).map((line) => [line.id, line])),
    [overview.data],
  )
  // Without the states, cards and lines would have another height.
  return { fleet, shown, lines, isStateKnown: overview.data !== undefined || overview.error !== null }
}

/** Data that every card needs. */
export interface LineageView {
  readonly fleet: LineageGraph
  readonly graph: LineageGraph
  readonly states: ReadonlyMap<string, NodeState>
  readonly lines: Lines
  readonly path: ColumnPath | null
}

export function useStates(fleet: LineageGraph, lines: Lines): LineageView['states'] {
  const now = useNow()
  return useMemo(() => statesOf(fleet, lines, now), [fleet, lines, now])
}

const View = createContext<LineageView | null>(null)
export const LineageViewProvider = View.Provider

export function useView(): LineageView {
  const view = useContext(View)
  if (view === null) throw new Error('This node has no lineage.')
  return view
}
