import type { PipelineLine } from '../../api/wire.js'
import type { Sort } from '../../components/table/column.js'
import { dataFactsOf } from '../../facts/data-state.js'
import { checksOf, driftOf, lastComparisonOf, verdictOf, weightOf } from '../../facts/quality.js'
import type { QualitySearch, ShowFilter } from './search.js'

type Key = (line: PipelineLine, now: number) => string | number

/** The sort key of each column: the lowest is the most relevant. */
const KEYS: Readonly<Record<string, Key>> = {
  name: ({ name }) => name,
  worst: (line, now) => -weightOf(checksOf(line, now)),
  data: (line, now) => -overdue(line, now),
  compare: (line) => {
    const last = lastComparisonOf(line)
    // Differences first, then marts that were never compared, then the oldest comparisons.
    if (last === null) return -1
    return last.comparison.matches ? Date.parse(last.comparison.at) : -2 - driftOf(last)
  },
  quarantine: ({ quarantined }) => -quarantined,
}

/** The age of the data in parts of what is allowed; marts without a limit and a schedule have none. */
function overdue(line: PipelineLine, now: number): number {
  const { ageMs, periodMs, limitMs } = dataFactsOf(line, now)
  const allowedMs = limitMs ?? periodMs
  return ageMs === null || allowedMs === null ? -1 : ageMs / allowedMs
}

export function compareQuality({ by, isDescending }: Sort, now: number) {
  const key = remembered(KEYS[by] ?? (KEYS.worst as Key), now)
  const sign = isDescending ? -1 : 1
  return (a: PipelineLine, b: PipelineLine): number =>
    sign * order(key(a), key(b)) || a.name.localeCompare(b.name)
}

/** Cached per line: sorting 1,000 lines needs 10,000 keys. */
function remembered(key: Key, now: number): (line: PipelineLine) => string | number {
  const known = new Map<PipelineLine, string | number>()
  return (line) => {
    const found = known.get(line) ?? key(line, now)
    known.set(line, found)
    return found
  }
}

function order(a: string | number, b: string | number): number {
  return typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b))
}

const SHOWS: Readonly<Record<ShowFilter, (line: PipelineLine, now: number) => boolean>> = {
  attention: (line, now) => ['fail', 'warn'].includes(verdictOf(checksOf(line, now))),
  late: (line, now) => ['late', 'stale'].includes(dataFactsOf(line, now).state),
  differs: (line) => lastComparisonOf(line)?.comparison.matches === false,
  never: (line) => lastComparisonOf(line) === null,
}

export function isShown({ q, show }: QualitySearch, line: PipelineLine, now: number): boolean {
  const isNamed =
    q === undefined || `${line.name} ${line.target_table}`.toLowerCase().includes(q.toLowerCase())
  return isNamed && (show === undefined || SHOWS[show](line, now))
}
