import type { PipelineLine } from '../api/wire.js'

/** How far the mart can be trusted. The third fact, and the one that matters: a green run over old data is no good news. */
export type DataState = 'fresh' | 'late' | 'stale' | 'unknown'

export interface DataFacts {
  readonly state: DataState
  /** Since the last success; null: never filled. */
  readonly ageMs: number | null
  /** What the schedule promises; null: nothing is promised, so nothing is late. */
  readonly periodMs: number | null
  /** What somebody should look at although the run succeeded. */
  readonly warning: 'quarantine' | 'no-rows' | null
}

/** A run takes its time: one and a half periods are still on time, three are no accident any more. */
const LATE_AFTER = 1.5
const STALE_AFTER = 3
const GRACE_MS = 30_000

type Facts = Pick<
  PipelineLine,
  'last_success_at' | 'schedule_period_ms' | 'quarantined' | 'recent' | 'enabled'
>

export function dataFactsOf(line: Facts, now: number): DataFacts {
  const ageMs = line.last_success_at === null ? null : Math.max(0, now - Date.parse(line.last_success_at))
  const periodMs = line.enabled ? line.schedule_period_ms : null
  return { state: stateOf(ageMs, periodMs), ageMs, periodMs, warning: warningOf(line) }
}

function stateOf(ageMs: number | null, periodMs: number | null): DataState {
  if (ageMs === null || periodMs === null) return 'unknown'
  if (ageMs <= periodMs * LATE_AFTER + GRACE_MS) return 'fresh'
  return ageMs <= periodMs * STALE_AFTER + GRACE_MS ? 'late' : 'stale'
}

function warningOf({ quarantined, recent }: Facts): DataFacts['warning'] {
  if (quarantined > 0) return 'quarantine'
  return readNothingThoughItUsuallyDoes(recent) ? 'no-rows' : null
}

/** A run that read nothing succeeds; when most runs before it read something, that deserves a look. */
function readNothingThoughItUsuallyDoes(recent: PipelineLine['recent']): boolean {
  const [last, ...before] = recent.filter(({ status }) => status === 'SUCCESS')
  if (last === undefined || last.rows_read > 0 || before.length < 3) return false
  return before.filter(({ rows_read }) => rows_read > 0).length > before.length / 2
}
