import type { PipelineLine } from '../../api/wire.js'
import type { Sort } from '../../components/table/column.js'
import { activityOf } from '../../facts/activity.js'
import { nextRunOf } from '../../facts/data-state.js'
import { rateOf } from '../../facts/progress.js'

const ACTIVITIES = ['retrying', 'cancelling', 'pausing', 'running', 'queued', 'paused', 'idle', 'disabled']

/** The sort key of each column; unknown values come last. */
const KEYS: Readonly<Record<string, (line: PipelineLine) => string | number | null>> = {
  name: ({ name }) => name,
  now: (line) => ACTIVITIES.indexOf(activityOf(line)),
  // Oldest first: the most relevant.
  data: ({ last_success_at }) => last_success_at,
  runs: ({ recent }) => -recent.filter(({ status }) => status === 'FAILED').length,
  rate: ({ last_run }) => (last_run === null ? null : -(rateOf(last_run) ?? 0)),
  next: nextRunOf,
}

export function comparePipelines({ by, isDescending }: Sort): (a: PipelineLine, b: PipelineLine) => number {
  const key = KEYS[by] ?? (({ name }: PipelineLine) => name)
  const sign = isDescending ? -1 : 1
  return (a, b) => compareKeys(key(a), key(b), sign) || a.name.localeCompare(b.name)
}

function compareKeys(a: string | number | null, b: string | number | null, sign: number): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1
  return sign * (typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b)))
}
