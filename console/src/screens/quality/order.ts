import type { PipelineLine } from '../../api/wire.js'
import type { Sort } from '../../components/table/column.js'
import { dataFactsOf } from '../../facts/data-state.js'
import { checksOf, driftOf, lastComparisonOf, verdictOf, weightOf } from '../../facts/quality.js'
import type { QualitySearch, ShowFilter } from './search.js'

type Key = (line: PipelineLine, now: number) => string | number

/** What each column is ordered by: the lowest first is what somebody looks for. */
const KEYS: Readonly<Record<string, Key>> = {
  name: ({ name }) => name,
  worst: (line, now) => -weightOf(checksOf(line, now)),
  data: (line, now) => -overdue(line, now),
  compare: (line) => {
    const last = lastComparisonOf(line)
    // Differences first, then what was never compared, then what was longest ago.
    if (last === null) return -1
    return last.comparison.matches ? Date.parse(last.comparison.at) : -2 - driftOf(last)
  },
  quarantine: ({ quarantined }) => -quarantined,
}

/** How many periods old the data is; nothing is promised about the rest. */
function overdue(line: PipelineLine, now: number): number {
  const { ageMs, periodMs } = dataFactsOf(line, now)
  return ageMs === null || periodMs === null ? -1 : ageMs / periodMs
}

export function compareBy({ by, isDescending }: Sort, now: number) {
  const key = remembered(KEYS[by] ?? (KEYS.worst as Key), now)
  const sign = isDescending ? -1 : 1
  return (a: PipelineLine, b: PipelineLine): number =>
    sign * order(key(a), key(b)) || a.name.localeCompare(b.name)
}

/** Once for each line: sorting a thousand asks for ten thousand. */
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
