import type { PipelineStatus, RunStatus } from './status.js'

/** A table that a pipeline reads, under one name of its database. */
export interface RelationRead {
  /** Null: the main database. */
  readonly connection: string | null
  readonly schema: string
  readonly table: string
}

/** Which pipelines run together with one, each after those it follows. */
export const WAVES = ['upstream', 'downstream', 'all'] as const
export type Wave = (typeof WAVES)[number]

/** What decides the order of a pipeline: what it fills and what it follows. */
export interface OrderFacts {
  readonly name: string
  /** In the form of etl.target_identity. */
  readonly target: string
  /** The tables that it reads, in the same form. */
  readonly reads: readonly string[]
  readonly after: readonly string[] | null
}

/** More would not help, and each is a search through the pipelines that follow each other in a circle. */
const MOST_CYCLES = 100

/**
 * The shortest cycle through each of these pipelines, each cycle once, as names from the first pipeline back to it. The
 * database decides in the same way when a pipeline is saved (etl.require_no_cycle).
 */
export function findCycles(all: readonly OrderFacts[], through: ReadonlySet<string>): string[][] {
  const followers = followersOf(all)
  // Only these are searched: a thousand changes with a hundred upstreams each took 4 s, although nothing was wrong.
  const circular = circularOf(followers)
  const cycles: string[][] = []
  const found = new Set<string>()
  for (const { name } of all) {
    if (!through.has(name) || found.has(name) || !circular.has(name) || cycles.length === MOST_CYCLES)
      continue
    const cycle = shortestCycle(name, followers)
    if (cycle === null) continue
    cycles.push(cycle)
    for (const member of cycle) found.add(member)
  }
  return cycles
}

/** The names on any cycle: those of strongly connected components with more than one member (Tarjan's algorithm). */
function circularOf(followers: ReadonlyMap<string, readonly string[]>): ReadonlySet<string> {
  const circular = new Set<string>()
  /** The number of each name, in the order in which they are found, and the lowest number that it leads back to. */
  const numbers = new Map<string, number>()
  const lowest = new Map<string, number>()
  const open: string[] = []
  const isOpen = new Set<string>()
  /** Not recursive: a chain may be longer than the stack. */
  const path: { readonly name: string; next: number }[] = []
  const enter = (name: string) => {
    lowest.set(name, numbers.size)
    numbers.set(name, numbers.size)
    open.push(name)
    isOpen.add(name)
    path.push({ name, next: 0 })
  }
  const lower = (name: string, number: number) => lowest.set(name, Math.min(lowest.get(name)!, number))
  for (const start of followers.keys()) {
    if (!numbers.has(start)) enter(start)
    for (let at = path.at(-1); at !== undefined; at = path.at(-1)) {
      const follower = followers.get(at.name)![at.next]
      at.next += 1
      if (follower === undefined) {
        path.pop()
        const parent = path.at(-1)
        if (parent !== undefined) lower(parent.name, lowest.get(at.name)!)
        if (lowest.get(at.name) !== numbers.get(at.name)) continue
        const members = open.splice(open.lastIndexOf(at.name))
        for (const member of members) {
          isOpen.delete(member)
          if (members.length > 1) circular.add(member)
        }
      } else if (!numbers.has(follower)) enter(follower)
      else if (isOpen.has(follower)) lower(at.name, numbers.get(follower)!)
    }
  }
  return circular
}

/** These pipelines, each after those that it follows, otherwise in the given order. */
export function inOrder(all: readonly OrderFacts[], names: readonly string[]): string[] {
  const upstreams = new Map<string, string[]>()
  for (const [upstream, followers] of followersOf(all))
    for (const name of followers) {
      const known = upstreams.get(name)
      if (known === undefined) upstreams.set(name, [upstream])
      else known.push(upstream)
    }
  const ordered: string[] = []
  const seen = new Set<string>()
  // Not recursive: a chain of 10,000 pipelines is longer than the stack.
  const path: { readonly name: string; next: number }[] = []
  const enter = (name: string) => {
    if (seen.has(name)) return
    seen.add(name)
    path.push({ name, next: 0 })
  }
  for (const name of names) {
    enter(name)
    for (let at = path.at(-1); at !== undefined; at = path.at(-1)) {
      const upstream = upstreams.get(at.name)?.[at.next]
      at.next += 1
      if (upstream !== undefined) enter(upstream)
      else ordered.push(path.pop()!.name)
    }
  }
  const wanted = new Set(names)
  return ordered.filter((name) => wanted.has(name))
}

function followersOf(all: readonly OrderFacts[]): ReadonlyMap<string, readonly string[]> {
  const writers = new Map<string, string[]>()
  for (const { name, target } of all) {
    const known = writers.get(target)
    if (known === undefined) writers.set(target, [name])
    else known.push(name)
  }
  const followers = new Map(all.map(({ name }) => [name, [] as string[]]))
  for (const { name, reads, after } of all) {
    const seen = after?.length === 0 ? [] : reads.flatMap((table) => writers.get(table) ?? [])
    for (const upstream of new Set([...seen, ...(after ?? [])]))
      if (upstream !== name) followers.get(upstream)?.push(name)
  }
  return new Map([...followers].map(([name, names]) => [name, names.sort()]))
}

/**
 * How many steps the longest path to each of these takes. Each edge is followed once; in SQL, there was a row for each number
 * of steps to each. What is on or after a cycle has the number of the paths that lead there.
 */
export function longestPaths(
  ids: readonly string[],
  edges: readonly { readonly from: string; readonly to: string }[],
): ReadonlyMap<string, number> {
  const steps = new Map(ids.map((id) => [id, 0]))
  const missing = new Map(ids.map((id) => [id, 0]))
  const followers = new Map(ids.map((id) => [id, [] as string[]]))
  for (const { from, to } of edges) {
    if (!steps.has(from) || !steps.has(to)) continue
    followers.get(from)!.push(to)
    missing.set(to, missing.get(to)! + 1)
  }
  const ready = ids.filter((id) => missing.get(id) === 0)
  for (const id of ready)
    for (const follower of followers.get(id)!) {
      steps.set(follower, Math.max(steps.get(follower)!, steps.get(id)! + 1))
      missing.set(follower, missing.get(follower)! - 1)
      if (missing.get(follower) === 0) ready.push(follower)
    }
  return steps
}

/** Breadth first: enumerating all paths would take exponential time. */
function shortestCycle(start: string, followers: ReadonlyMap<string, readonly string[]>): string[] | null {
  const reachedFrom = new Map<string, string>()
  const seen = [start]
  for (const at of seen)
    for (const next of followers.get(at) ?? []) {
      if (next === start) {
        const path = [start]
        for (let back = at; back !== start; back = reachedFrom.get(back)!) path.push(back)
        return [start, ...path.reverse()]
      }
      if (reachedFrom.has(next)) continue
      reachedFrom.set(next, at)
      seen.push(next)
    }
  return null
}

/** Why a set of changes would be refused. */
export interface OrderConflict {
  readonly name: string
  readonly code: 'ORDER_CYCLE' | 'AFTER_UNKNOWN'
  /** ORDER_CYCLE: from the pipeline back to it. AFTER_UNKNOWN: the name that does not exist. */
  readonly path: readonly string[]
}

/** What saving a set of changes would lead to. */
export interface OrderPlan {
  /** Why it would be refused. */
  readonly conflicts: readonly OrderConflict[]
  /** The changed pipelines, each after those that it follows. */
  readonly order: readonly string[]
}

export function explainOrderConflict({ code, path }: OrderConflict): string {
  return code === 'ORDER_CYCLE'
    ? `The pipelines would form a cycle: ${path.join(' → ')}.`
    : `No pipeline is named "${path[0]}".`
}

/** Why a pipeline that has to run does not run yet, as the function etl.pending_pipelines returns it. */
export const HELD_CODES = [
  'UPSTREAM_RUNS',
  'UPSTREAM_FAILED',
  'UPSTREAM_PAUSED',
  'UPSTREAM_HELD',
  'PIPELINE_ACTIVE',
  'PIPELINE_FAILED',
  'PIPELINE_PAUSED',
  'PIPELINE_DISABLED',
] as const
export type HeldCode = (typeof HELD_CODES)[number]

export interface Held {
  readonly code: HeldCode
  /** The name of the upstream that it waits for. */
  readonly upstream: string | null
}

/** A pipeline that has to run because rows that it reads have changed, or because of a request. */
export interface Due {
  readonly since: string
  /** The names of the upstreams that have changed; none: it was requested together with others. */
  readonly changed: readonly string[]
  /** The run that was requested together with others; null: its run is created when it starts. */
  readonly runId: string | null
  /** Null: a runner requests its run at any moment. */
  readonly held: Held | null
}

export interface OrderNode {
  readonly id: string
  readonly name: string
  readonly status: PipelineStatus
  readonly enabled: boolean
  readonly target: string
  /** The names of the pipelines whose marts are published with its own, itself included; null: none are. */
  readonly group: readonly string[] | null
  readonly due: Due | null
  readonly lastRun: {
    readonly id: string
    readonly status: RunStatus
    readonly finishedAt: string | null
    readonly rowsWritten: number
    readonly rowsDeleted: number
  } | null
}

export interface OrderEdge {
  readonly from: string
  readonly to: string
  /** lineage: `to` reads what `from` fills. declared: `to` names `from` in its field "after". */
  readonly kind: 'lineage' | 'declared'
  /** The table. */
  readonly via: string | null
}

/** Pipelines that are not followed, or not published together, although they could be. */
export interface OrderProblem {
  readonly pipelineId: string
  readonly code: OrderProblemCode
  /** The name of a pipeline, or a table. */
  readonly about: string
}

export const ORDER_PROBLEMS = ['AFTER_UNKNOWN', 'ORDER_CYCLE', 'GROUP_APART'] as const
export type OrderProblemCode = (typeof ORDER_PROBLEMS)[number]

export interface OrderGraph {
  readonly nodes: readonly OrderNode[]
  readonly edges: readonly OrderEdge[]
  readonly problems: readonly OrderProblem[]
}

/** Why a pipeline does not run yet, in words, and what to do about it. */
export function explainHeld({ code, upstream }: Held): { readonly detail: string; readonly hint: string } {
  switch (code) {
    case 'UPSTREAM_RUNS':
      return {
        detail: `It waits until "${upstream}" has run.`,
        hint: 'No action needed: it runs after the pipelines that it follows.',
      }
    case 'UPSTREAM_FAILED':
      return {
        detail: `Pipeline "${upstream}", which it follows, failed.`,
        hint: `Fix "${upstream}" and run it, or set on_upstream_failure to run.`,
      }
    case 'UPSTREAM_PAUSED':
      return {
        detail: `Pipeline "${upstream}", which it follows, is paused.`,
        hint: `Run "${upstream}" to continue it, or set on_upstream_failure to run.`,
      }
    case 'UPSTREAM_HELD':
      return {
        detail: `Pipeline "${upstream}", which it follows, is itself held back.`,
        hint: `Check why "${upstream}" does not run, or set on_upstream_failure to run.`,
      }
    case 'PIPELINE_ACTIVE':
      return {
        detail: 'A run is queued or in progress.',
        hint: 'No action needed: another run follows if this one does not include the change.',
      }
    case 'PIPELINE_FAILED':
      return { detail: 'Its last run failed.', hint: 'Fix the cause and run it.' }
    case 'PIPELINE_PAUSED':
      return { detail: 'It is paused.', hint: 'Run it to continue.' }
    case 'PIPELINE_DISABLED':
      return { detail: 'It is disabled.', hint: 'Enable it.' }
  }
}

export function explainOrderProblem({ code, about }: OrderProblem): string {
  switch (code) {
    case 'AFTER_UNKNOWN':
      return `The field after refers to "${about}", which does not exist.`
    case 'ORDER_CYCLE':
      return `${about} is ignored: following it would create a cycle.`
    case 'GROUP_APART':
      return `${about} is read over another connection or for transforms: the pipeline runs after its group, not in it.`
  }
}
