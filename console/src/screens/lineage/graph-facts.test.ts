import { describe, expect, it } from 'vitest'
import type { LineageGraph, PipelineLine } from '../../api/wire.js'
import { branchesOf, findColumn, pathOf, staleInputs, statesOf } from './graph-facts.js'

const NOW = Date.parse('2026-11-15T13:00:00Z')

function column(name: string, ...sources: string[]) {
  return {
    name,
    type: null,
    kind: 'direct' as const,
    sources: sources.map((text) => ({ node: text.split('#')[0]!, column: text.split('#')[1]! })),
    expression: null,
    through: [],
    reason: null,
  }
}

function node(id: string, kind: 'table' | 'view' | 'pipeline', columns: ReturnType<typeof column>[] = []) {
  return {
    id,
    kind,
    name: id,
    connection: null,
    pipeline_id: kind === 'pipeline' ? id : null,
    exists: true,
    error: null,
    hidden_up: 0,
    hidden_down: 0,
    columns,
    open: null,
    shaping: [],
  }
}

/** s → p → m → q → n, and q also reads another table. */
const GRAPH: LineageGraph = {
  focus: null,
  level: 'column',
  nodes: [
    node('s', 'table', [column('a'), column('b')]),
    node('p', 'pipeline', [column('x', 's#a', 's#b')]),
    node('m', 'table', [column('x', 'p#x'), column('y', 's#a')]),
    node('q', 'pipeline', [column('z', 'm#x')]),
    node('n', 'table', [column('z', 'q#z')]),
    node('t', 'table', [column('c')]),
  ],
  edges: [
    { from: 's', to: 'p' },
    { from: 'p', to: 'm' },
    { from: 'm', to: 'q' },
    { from: 't', to: 'q' },
    { from: 'q', to: 'n' },
  ],
  total_nodes: 6,
  problems: [],
}

function line(id: string, minutes: number | null): PipelineLine {
  const at = minutes === null ? null : new Date(NOW - minutes * 60_000).toISOString()
  return {
    id,
    enabled: true,
    last_success_at: at,
    data_as_of: null,
    budget_seconds: null,
    schedule_period_ms: 600_000,
    quarantined: 0,
    recent: [],
  } as unknown as PipelineLine
}

describe('the state of a node', () => {
  const states = statesOf(
    GRAPH,
    new Map([
      ['p', line('p', 60)],
      ['q', line('q', 1)],
    ]),
    NOW,
  )

  it('of a mart is that of its pipelines; a source has none', () => {
    expect(states.get('m')).toMatchObject({ kind: 'data', facts: { state: 'stale' } })
    expect(states.get('n')).toMatchObject({ kind: 'data', facts: { state: 'fresh' } })
    expect(states.get('s')).toEqual({ kind: 'source' })
  })

  it('marks a fresh pipeline whose input is stale', () => {
    expect(staleInputs(GRAPH, states, 'q')).toEqual(['m'])
    expect(staleInputs(GRAPH, states, 'p')).toEqual([])
  })

  it('is broken if the query is invalid, also for the mart', () => {
    const error = { code: 'SOURCE_REFUSED', message: '', hint: '' }
    const nodes = GRAPH.nodes.map((one) => (one.id === 'p' ? { ...one, error } : one))
    expect(statesOf({ ...GRAPH, nodes }, new Map(), NOW).get('m')).toEqual({ kind: 'broken' })
  })
})

describe('the path of a column', () => {
  it('contains all sources and dependents, and nothing else', () => {
    const path = pathOf(GRAPH, { node: 'm', column: 'x' })!
    expect(path.above.map(({ node: id, column: name }) => `${id}.${name}`)).toEqual(['p.x', 's.a', 's.b'])
    expect(path.below.map(({ node: id, column: name }) => `${id}.${name}`)).toEqual(['q.z', 'n.z'])
    expect(path.keys.has('m#y')).toBe(false)
    expect(path.links).toHaveLength(5)
  })

  it('is found by the address, or is null', () => {
    expect(findColumn(GRAPH, 'm#x')).toEqual({ node: 'm', column: 'x' })
    expect(findColumn(GRAPH, 'm#gone')).toBeNull()
    expect(pathOf(GRAPH, { node: 'm', column: 'gone' })).toBeNull()
  })
})

describe('the list', () => {
  it('shows the children of a node once, even in a cycle', () => {
    const round = { ...GRAPH, edges: [...GRAPH.edges, { from: 'n', to: 'p' }] }
    const [p] = branchesOf(round, 'm', 'up')
    expect(p!.node.id).toBe('p')
    expect(p!.branches.map(({ node: one }) => one.id)).toEqual(['s', 'n'])
    const q = p!.branches[1]!.branches[0]!
    expect(q.branches.map(({ node: one, isRepeated }) => [one.id, isRepeated])).toEqual([
      ['m', true],
      ['t', false],
    ])
  })
})
