import type { Comparison, PipelineLine } from '../api/wire.js'
import { lastResultOf } from './activity.js'
import { dataFactsOf } from './data-state.js'

/** What is looked at in every pipeline to say whether its data is right. */
export const CHECKS = ['run', 'fresh', 'compare', 'volume', 'quarantine', 'position'] as const
export type Check = (typeof CHECKS)[number]

/** `unknown`: there is nothing to judge by yet, which is no good news either. */
export type Verdict = 'pass' | 'warn' | 'fail' | 'unknown'

export interface Checked {
  readonly check: Check
  readonly verdict: Verdict
}

type Line = Pick<
  PipelineLine,
  | 'enabled'
  | 'config_version'
  | 'last_run'
  | 'last_success_at'
  | 'schedule_period_ms'
  | 'quarantined'
  | 'recent'
  | 'compared'
>

export function checksOf(line: Line, now: number): readonly Checked[] {
  const verdicts: Readonly<Record<Check, Verdict>> = {
    run: runVerdict(line),
    fresh: freshVerdict(line, now),
    compare: compareVerdict(line),
    volume: volumeVerdict(line, now),
    quarantine: line.quarantined > 0 ? 'warn' : 'pass',
    position: line.last_run === null ? 'unknown' : line.last_run.held_back === null ? 'pass' : 'warn',
  }
  return CHECKS.map((check) => ({ check, verdict: verdicts[check] }))
}

function runVerdict({ last_run }: Line): Verdict {
  const result = lastResultOf(last_run)
  return result === 'failed' ? 'fail' : result === 'never' ? 'unknown' : 'pass'
}

function freshVerdict(line: Line, now: number): Verdict {
  const { state } = dataFactsOf(line, now)
  return ({ fresh: 'pass', late: 'warn', stale: 'fail', unknown: 'unknown' } as const)[state]
}

/** Counts may differ while rows are on their way; that rows differ is a fact, as long as nothing was written since. */
function compareVerdict(line: Line): Verdict {
  const last = lastComparisonOf(line)
  if (last === null) return 'unknown'
  if (last.comparison.matches) return 'pass'
  return last.isDeep && !last.isOutdated ? 'fail' : 'warn'
}

/** Three runs are too few to know what is usual. */
const ENOUGH_RUNS = 4

function volumeVerdict(line: Line, now: number): Verdict {
  // A row in quarantine hides the other warning; here each has a line of its own.
  if (dataFactsOf({ ...line, quarantined: 0 }, now).warning === 'no-rows') return 'warn'
  return line.recent.filter(({ status }) => status === 'SUCCESS').length < ENOUGH_RUNS ? 'unknown' : 'pass'
}

export interface LastComparison {
  readonly comparison: Comparison
  /** Every row, not only counts. */
  readonly isDeep: boolean
  /** The configuration or the mart is another since. */
  readonly isOutdated: boolean
}

/** The one that says most: of all rows, unless newer counts contradict it. */
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

/** Rows that differ, of all kinds; of a comparison of counts, how far the counts are apart. */
export function driftOf({ comparison, isDeep }: LastComparison): number {
  const { missing, extra, different, source_rows, target_rows } = comparison
  return isDeep ? missing + extra + different : Math.abs(source_rows - target_rows)
}

const WEIGHTS: Readonly<Record<Verdict, number>> = { fail: 100, warn: 10, unknown: 1, pass: 0 }

/** The higher, the sooner somebody should look. One failure weighs more than all warnings. */
export function weightOf(checks: readonly Checked[]): number {
  return checks.reduce((sum, { verdict }) => sum + WEIGHTS[verdict], 0)
}

/** The worst of them. */
export function verdictOf(checks: readonly Checked[]): Verdict {
  const order = ['fail', 'warn', 'pass', 'unknown'] as const
  return order.find((verdict) => checks.some((each) => each.verdict === verdict)) ?? 'unknown'
}
