import type { GuardSession } from '../ports/query-guard.js'
import { KeptCosts } from './kept-costs.js'
import type { KeyQuery, Recompute, RecomputeWay } from './scope-trace.js'

/** Of this process: a pipeline that runs every minute asks the planner once in ten. */
const COSTS = new KeptCosts()

export interface RecomputeChoice {
  readonly way: RecomputeWay
  readonly text: string
  /** For the parameters of `text`. */
  readonly values: readonly (readonly string[])[]
  /** The planner's total cost of each way that was considered. */
  readonly costs: Readonly<Partial<Record<RecomputeWay, number>>>
}

/** A guess: with so many changes the full query is cheaper, and the arrays alone take long to send and plan. */
export const MOST_LOG_ENTRIES = 50_000

export interface Affected {
  /** One array for each scope column; all have the same length. */
  readonly scopes: readonly (readonly string[])[]
  /** How many entries of the log they come from. */
  readonly entries: number
  /** The planner's cost of the key queries, which only the incremental ways need. */
  readonly keyQueryCost: number
}

/**
 * Chooses how to compute the affected scopes, by the planner's cost in the session that is going to run it: cost chose the
 * fastest statement, or one within 1.5 times of it, for every shape that was measured.
 */
export async function chooseRecompute(
  session: Pick<GuardSession, 'rows'>,
  recompute: Recompute,
  { scopes, entries, keyQueryCost }: Affected,
): Promise<RecomputeChoice> {
  if (entries > MOST_LOG_ENTRIES) return { way: 'full', text: recompute.full, values: [], costs: {} }
  const costOf = (way: RecomputeWay, values: Values) =>
    COSTS.of({ of: recompute, what: way, size: sizeOf(values) }, () =>
      planCost(session, recompute[way], values),
    )
  const lateral = (await costOf('lateral', scopes)) + keyQueryCost
  const any = (await costOf('any', scopes)) + keyQueryCost
  const full = await costOf('full', [])
  const way = full < Math.min(lateral, any) ? 'full' : lateral <= any ? 'lateral' : 'any'
  return { way, text: recompute[way], values: way === 'full' ? [] : scopes, costs: { lateral, any, full } }
}

/** What the planner expects a key query to cost. */
export function keyQueryCost(
  session: Pick<GuardSession, 'rows'>,
  keyQuery: KeyQuery,
  values: Values,
): Promise<number> {
  return COSTS.of({ of: keyQuery, what: 'key query', size: sizeOf(values) }, () =>
    planCost(session, keyQuery.text, values),
  )
}

type Values = readonly (readonly (string | null)[])[]

function sizeOf(values: Values): number {
  return values[0]?.length ?? 0
}

async function planCost(session: Pick<GuardSession, 'rows'>, text: string, values: Values): Promise<number> {
  const [row] = await session.rows(`EXPLAIN (FORMAT JSON) ${text}`, values)
  const [plan] = JSON.parse(row?.['QUERY PLAN'] ?? '[]') as { Plan?: Record<string, unknown> }[]
  return Number(plan?.Plan?.['Total Cost'] ?? Number.POSITIVE_INFINITY)
}
