import type { Comparison, PipelineLine } from '../api/wire.js'
import { lastResultOf } from './activity.js'
import { dataFactsOf } from './data-state.js'

/** The checks of every pipeline. */
export const QUALITY_CHECKS = ['run', 'fresh', 'compare', 'volume', 'quarantine', 'position'] as const
export type QualityCheck = (typeof QUALITY_CHECKS)[number]

/** `unknown`: not enough data yet, which is not a pass. */
export type QualityVerdict = 'pass' | 'warn' | 'fail' | 'unknown'

export interface QualityResult {
  readonly check: QualityCheck
  readonly verdict: QualityVerdict
}

type Line = Pick<
  PipelineLine,
  | 'enabled'
  | 'config_version'
  | 'last_run'
  | 'last_success_at'
  | 'data_as_of'
  | 'budget_seconds'
  | 'schedule_period_ms'
  | 'quarantined'
  | 'recent'
  | 'compared'
>

export function checksOf(line: Line, now: number): readonly QualityResult[] {
  const verdicts: Readonly<Record<QualityCheck, QualityVerdict>> = {
    run: runVerdict(line),
    fresh: freshVerdict(line, now),
    compare: compareVerdict(line),
    volume: volumeVerdict(line, now),
    quarantine: line.quarantined > 0 ? 'warn' : 'pass',
    position: line.last_run === null ? 'unknown' : line.last_run.held_back === null ? 'pass' : 'warn',
  }
  return QUALITY_CHECKS.map((check) => ({ check, verdict: verdicts[check] }))
}

function runVerdict({ last_run }: Line): QualityVerdict {
  const result = lastResultOf(last_run)
  return result === 'failed' ? 'fail' : result === 'never' ? 'unknown' : 'pass'
}

function freshVerdict(line: Line, now: number): QualityVerdict {
  const { state } = dataFactsOf(line, now)
  return ({ fresh: 'pass', late: 'warn', stale: 'fail', unknown: 'unknown' } as const)[state]
}

/** Counts may differ while rows are pending; differing rows are certain unless the mart was written since. */
function compareVerdict(line: Line): QualityVerdict {
  const last = lastComparisonOf(line)
  if (last === null) return 'unknown'
  if (last.comparison.matches) return 'pass'
  return last.isDeep && !last.isOutdated ? 'fail' : 'warn'
}

/** Fewer runs are not enough to know the usual volume. */
const ENOUGH_RUNS = 4

function volumeVerdict(line: Line, now: number): QualityVerdict {
  // Quarantined rows hide the other warning; here each has its own line.
  if (dataFactsOf({ ...line, quarantined: 0 }, now).warning === 'no-rows') return 'warn'
  return line.recent.filter(({ status }) => status === 'SUCCESS').length < ENOUGH_RUNS ? 'unknown' : 'pass'
}

export interface LastComparison {
  readonly comparison: Comparison
  /** All rows were compared, not only counts. */
  readonly isDeep: boolean
  /** The configuration or the mart has changed since. */
  readonly isOutdated: boolean
}

/** The most informative comparison: the one of all rows, unless newer counts contradict it. */
export function lastComparisonOf({
  compared: { counts, rows },
  config_version,
  last_success_at,
}: Pick<Line, 'compared' | 'config_version' | 'last_success_at'>): LastComparison | null {
  const isContradicted = counts !== null && rows !== null && !counts.matches && counts.at > rows.at
  const comparison = isContradicted ? counts : (rows ?? counts)
  if (comparison === null) return null
  const isWrittenSince = last_success_at !== null && last_success_at > comparison.at
  return {
    comparison,
    isDeep: comparison === rows,
    isOutdated: comparison.config_version !== config_version || isWrittenSince,
  }
}

/** The number of differing rows; for a comparison of counts, the difference of the counts. */
export function driftOf({ comparison, isDeep }: LastComparison): number {
  const { missing, extra, different, source_rows, target_rows } = comparison
  return isDeep ? missing + extra + different : Math.abs(source_rows - target_rows)
}

const WEIGHTS: Readonly<Record<QualityVerdict, number>> = { fail: 100, warn: 10, unknown: 1, pass: 0 }

/** Higher means more urgent. One failure weighs more than all warnings. */
export function weightOf(checks: readonly QualityResult[]): number {
  return checks.reduce((sum, { verdict }) => sum + WEIGHTS[verdict], 0)
}

/** The worst of them. */
export function verdictOf(checks: readonly QualityResult[]): QualityVerdict {
  const order = ['fail', 'warn', 'pass', 'unknown'] as const
  return order.find((verdict) => checks.some((each) => each.verdict === verdict)) ?? 'unknown'
}
