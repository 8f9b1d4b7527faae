import type { PipelineLine } from '../api/wire.js'

/** The state of the data, the third fact and the most important one: a successful run says nothing about stale data. */
export type DataState = 'fresh' | 'late' | 'stale' | 'unknown'

export interface DataFacts {
  readonly state: DataState
  /** Since the last success, or with a limit since the time to which the data is complete; null: never filled. */
  readonly ageMs: number | null
  /** The period of the schedule; null: no schedule, so nothing is late. */
  readonly periodMs: number | null
  /** How old the data may become; null: not limited, and the schedule decides. */
  readonly limitMs: number | null
  /** A problem that needs attention although the run succeeded. */
  readonly warning: 'quarantine' | 'no-rows' | null
}

/** How many marts have a schedule or a limit, and how many of them are late. */
export function lateOf(lines: readonly Facts[], now: number): { late: number; promised: number } {
  const promised = lines
    .filter(({ enabled }) => enabled)
    .map((line) => dataFactsOf(line, now))
    .filter(({ periodMs, limitMs }) => periodMs !== null || limitMs !== null)
  const late = promised.filter(({ state }) => state === 'late' || state === 'stale')
  return { late: late.length, promised: promised.length }
}

/** When a run is going to be requested, by its schedule or to keep the data fresh; null: on request only. */
export function nextRunOf({
  enabled,
  next_run_at: scheduled,
  freshness_due_at: due,
}: Pick<PipelineLine, 'enabled' | 'next_run_at' | 'freshness_due_at'>): string | null {
  if (!enabled) return null
  // Both are in UTC and have the same length.
  return scheduled === null || due === null ? (scheduled ?? due) : scheduled < due ? scheduled : due
}

/** A run takes time: up to one and a half periods are on time, more than three are stale. */
const LATE_AFTER = 1.5
const STALE_AFTER = 3
const GRACE_MS = 30_000

type Facts = Pick<
  PipelineLine,
  | 'last_success_at'
  | 'data_as_of'
  | 'budget_seconds'
  | 'schedule_period_ms'
  | 'quarantined'
  | 'recent'
  | 'enabled'
>

export function dataFactsOf(line: Facts, now: number): DataFacts {
  const limitMs = line.budget_seconds === null ? null : line.budget_seconds * 1000
  const since = limitMs === null ? line.last_success_at : line.data_as_of
  const ageMs = since === null ? null : Math.max(0, now - Date.parse(since))
  const periodMs = line.enabled ? line.schedule_period_ms : null
  const state = limitMs === null ? stateOf(ageMs, periodMs) : limitedState(ageMs, limitMs)
  return { state, ageMs, periodMs, limitMs, warning: warningOf(line) }
}

function stateOf(ageMs: number | null, periodMs: number | null): DataState {
  if (ageMs === null || periodMs === null) return 'unknown'
  if (ageMs <= periodMs * LATE_AFTER + GRACE_MS) return 'fresh'
  return ageMs <= periodMs * STALE_AFTER + GRACE_MS ? 'late' : 'stale'
}

/** Without a grace: the limit is exact. */
function limitedState(ageMs: number | null, limitMs: number): DataState {
  return ageMs === null ? 'unknown' : ageMs <= limitMs ? 'fresh' : 'stale'
}

function warningOf({ quarantined, recent }: Facts): DataFacts['warning'] {
  if (quarantined > 0) return 'quarantine'
  return readNothingThoughItUsuallyDoes(recent) ? 'no-rows' : null
}

/** A run that reads nothing succeeds; if most earlier runs read rows, it needs attention. */
function readNothingThoughItUsuallyDoes(recent: PipelineLine['recent']): boolean {
  const [last, ...before] = recent.filter(({ status }) => status === 'SUCCESS')
  if (last === undefined || last.rows_read > 0 || before.length < 3) return false
  return before.filter(({ rows_read }) => rows_read > 0).length > before.length / 2
}
