import type {
  Alternative,
  BaseColumn,
  BaseExpression,
  Link,
  LinkCondition,
  Occurrence,
} from './alternative.js'
import { SameColumns } from './same-columns.js'
import { nodeOf } from './tree.js'

/** How a changed row of one occurrence leads to the scopes it can touch. */
export interface ScopePath {
  /** The changed one first. */
  readonly occurrences: readonly Occurrence[]
  readonly conditions: readonly LinkCondition[]
  /** The scope columns, read as near to the changed row as possible. */
  readonly scope: readonly BaseExpression[]
}

/** Null: no chain of usable links leads from the changed occurrence to every scope column. */
export function pathFrom(
  changed: Occurrence,
  scope: readonly BaseExpression[],
  { occurrences, links }: Alternative,
): ScopePath | null {
  const known = scope.flatMap(({ uses }) => uses.map(idOf))
  const usable = usableLinks(links, new Set([changed.id, ...known]))
  // Compared with something, or part of the key: else the rows of a function may be absent.
  const present = new Set([...known, ...usable.flatMap((link) => usesOf(link).map(idOf))])
  const calls = occurrences.filter(({ id, call }) => call !== null && present.has(id))
  const byId = new Map(occurrences.map((each) => [each.id, each]))
  const same = new SameColumns(usable, byId)
  const reached = reach(changed, byId, { same, others: usable.filter((link) => !same.has(link)), calls })
  const near = (use: BaseColumn) => nearest(use, same, reached)
  if (scope.some(({ uses }) => uses.some((use) => !reached.has(near(use).occurrence)))) return null
  const moved = scope.map((each) => movedTo(each, near))
  const chosen = new Set([changed.id])
  const choose = ({ occurrence }: BaseColumn) => {
    for (let at: number | null = occurrence; at !== null; at = reached.get(at)?.from ?? null) chosen.add(at)
  }
  for (const use of moved.flatMap(({ uses }) => uses)) choose(use)
  // A function needs its arguments. The set grows while it is walked.
  for (const id of chosen)
    for (const use of byId.get(id)?.call?.uses ?? []) {
      if (!reached.has(use.occurrence)) return null
      choose(use)
    }
  const isChosen = (use: BaseColumn) => chosen.has(use.occurrence)
  return {
    occurrences: functionsLast([...chosen].map((id) => byId.get(id)!)),
    conditions: [
      ...same.conditions(isChosen),
      ...usable.filter((link) => !same.has(link) && usesOf(link).every(isChosen)),
    ],
    scope: moved,
  }
}

/** Each one may name those before it: inner calls have smaller numbers. */
function functionsLast(occurrences: readonly Occurrence[]): Occurrence[] {
  const calls = occurrences.filter(({ call }) => call !== null).sort((one, other) => one.id - other.id)
  return [...occurrences.filter(({ call }) => call === null), ...calls]
}

function idOf({ occurrence }: BaseColumn): number {
  return occurrence
}

export function usesOf({ left, right }: LinkCondition): BaseColumn[] {
  return [...left.uses, ...right.uses]
}

/**
 * The changed row is present, and so are the rows of the scope columns: a key is never NULL. A guarded condition that
 * holds shows that what it compares is present too, since comparisons with NULL do not hold.
 */
function usableLinks(links: readonly Link[], known: ReadonlySet<number>): Link[] {
  const present = new Set(known)
  const holds = ({ guards }: Link) => guards.every((guard) => [...guard].some((id) => present.has(id)))
  for (let before = -1; before !== present.size; ) {
    before = present.size
    for (const link of links)
      if (link.guards.length > 0 && holds(link))
        for (const { occurrence } of usesOf(link)) present.add(occurrence)
  }
  return links.filter(holds)
}

interface PathStep {
  readonly cost: number
  readonly from: number | null
}

interface Roads {
  readonly same: SameColumns
  /** Links that compare something else than two columns of one type for equality. */
  readonly others: readonly Link[]
  /** Rows of functions that are certainly there. */
  readonly calls: readonly Occurrence[]
}

/** An inequality names many more scopes than an equality, however long its way. */
const INEQUALITY = 1_000

/** The cheapest way to every occurrence that can be reached and read (Dijkstra; queries have a few dozen at most). */
function reach(
  changed: Occurrence,
  byId: ReadonlyMap<number, Occurrence>,
  roads: Roads,
): ReadonlyMap<number, PathStep> {
  const reached = new Map<number, PathStep>([[changed.id, { cost: 0, from: null }]])
  const open = new Set([changed.id])
  while (open.size > 0) {
    const at = [...open].reduce((best, each) =>
      reached.get(each)!.cost < reached.get(best)!.cost ? each : best,
    )
    open.delete(at)
    for (const [to, cost] of neighbours(at, roads)) {
      const total = reached.get(at)!.cost + cost
      if (byId.get(to)?.table.isReadable !== true || total >= (reached.get(to)?.cost ?? Infinity)) continue
      reached.set(to, { cost: total, from: at })
      open.add(to)
    }
  }
  return reached
}

function neighbours(at: number, { same, others, calls }: Roads): (readonly [number, number])[] {
  const byLink = others.flatMap((link) => {
    const ids = usesOf(link).map(idOf)
    const cost = link.operator === '=' ? 1 : INEQUALITY
    return ids.includes(at) ? ids.filter((id) => id !== at).map((id) => [id, cost] as const) : []
  })
  return [...same.neighbours(at).map((id) => [id, 1] as const), ...byLink, ...alongCalls(at, calls)]
}

/** From the arguments of a function to its rows, and back: that way all rows of the other table are tried. */
function alongCalls(at: number, calls: readonly Occurrence[]): (readonly [number, number])[] {
  return calls.flatMap(({ id, call }): (readonly [number, number])[] => {
    const ids = call === null ? [] : call.uses.map(idOf)
    if (id === at) return ids.map((each) => [each, INEQUALITY])
    return ids.includes(at) ? [[id, 1]] : []
  })
}

/** A column that is equal to this one and nearer to the change: reading it there often saves reading a table. */
function nearest(use: BaseColumn, same: SameColumns, reached: ReadonlyMap<number, PathStep>): BaseColumn {
  const cost = ({ occurrence }: BaseColumn) => reached.get(occurrence)?.cost ?? Infinity
  return same.of(use).reduce((best, each) => (cost(each) < cost(best) ? each : best), use)
}

function movedTo({ node, uses }: BaseExpression, near: (use: BaseColumn) => BaseColumn): BaseExpression {
  return { node: replaced(node, near) as BaseExpression['node'], uses: uses.map(near) }
}

function replaced(value: unknown, near: (use: BaseColumn) => BaseColumn): unknown {
  if (Array.isArray(value)) return value.map((each) => replaced(each, near))
  if (value === null || typeof value !== 'object') return value
  const { kind, node } = nodeOf(value)
  if (kind === 'BaseColumn') return { BaseColumn: near(node as unknown as BaseColumn) }
  return Object.fromEntries(Object.entries(value).map(([field, each]) => [field, replaced(each, near)]))
}
