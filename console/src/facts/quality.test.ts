import { describe, expect, it } from 'vitest'
import type { Comparison, EndedRun } from '../api/wire.js'
import { checksOf, driftOf, lastComparisonOf, verdictOf, weightOf } from './quality.js'

const NOW = Date.parse('2026-11-15T13:00:00Z')
const minutesAgo = (n: number) => new Date(NOW - n * 60_000).toISOString()

const BAR = { status: 'SUCCESS', duration_ms: 1_000, rows_read: 70, rows_written: 70 } as const
const RUN: EndedRun = {
  ...{ id: 'r1', status: 'SUCCESS' as const, finished_at: minutesAgo(5), duration_ms: 1_000 },
  ...{ rows_read: 70, rows_written: 70, rows_deleted: 0, held_back: null },
  ...{ error: null, error_code: null, error_hint: null },
}
const EQUAL: Comparison = {
  ...{
    at: minutesAgo(2),
    duration_ms: 12,
    config_version: 1,
    matches: true,
    source_rows: 70,
    target_rows: 70,
  },
  ...{ missing: 0, extra: 0, different: 0, on_their_way: 0, undecided: 0 },
}
const DRIFTED: Comparison = { ...EQUAL, matches: false, target_rows: 69, missing: 2, extra: 1 }
const LINE = {
  ...{ enabled: true, config_version: 1, last_run: RUN, last_success_at: minutesAgo(5) },
  ...{
    data_as_of: null,
    budget_seconds: null,
    schedule_period_ms: 600_000,
    quarantined: 0,
    recent: [BAR, BAR, BAR, BAR],
  },
  compared: { counts: null, rows: EQUAL },
}

const found = (line: Parameters<typeof checksOf>[0]) =>
  Object.fromEntries(checksOf(line, NOW).map(({ check, verdict }) => [check, verdict]))

describe('the checks of a pipeline', () => {
  it('all pass when it succeeded, is fresh, equal, complete and as usual', () => {
    const checks = checksOf(LINE, NOW)
    expect(new Set(checks.map(({ verdict }) => verdict))).toEqual(new Set(['pass']))
    expect([verdictOf(checks), weightOf(checks)]).toEqual(['pass', 0])
  })

  it.each([
    ['run', 'fail', { last_run: { ...RUN, status: 'FAILED' } }],
    ['run', 'unknown', { last_run: null }],
    ['fresh', 'warn', { last_success_at: minutesAgo(20) }],
    ['fresh', 'fail', { last_success_at: minutesAgo(60) }],
    ['fresh', 'unknown', { schedule_period_ms: null }],
    ['compare', 'unknown', { compared: { counts: null, rows: null } }],
    ['compare', 'fail', { compared: { counts: null, rows: DRIFTED } }],
    ['compare', 'warn', { compared: { counts: DRIFTED, rows: null } }],
    ['compare', 'warn', { compared: { counts: null, rows: { ...DRIFTED, at: minutesAgo(9) } } }],
    ['volume', 'warn', { recent: [{ ...BAR, rows_read: 0 }, BAR, BAR, BAR], quarantined: 4 }],
    ['volume', 'unknown', { recent: [BAR] }],
    ['quarantine', 'warn', { quarantined: 1 }],
    ['position', 'warn', { last_run: { ...RUN, held_back: { reason: 'open', pid: 7, since: null } } }],
  ] as const)('%s: %s', (check, verdict, change) => {
    expect(found({ ...LINE, ...change } as typeof LINE)[check]).toBe(verdict)
  })

  it('put one failure before any number of warnings', () => {
    const failed = checksOf({ ...LINE, last_success_at: minutesAgo(60) }, NOW)
    const warned = checksOf(
      {
        ...LINE,
        quarantined: 1,
        last_success_at: minutesAgo(20),
        compared: { counts: DRIFTED, rows: null },
        recent: [{ ...BAR, rows_read: 0 }, BAR, BAR, BAR],
      },
      NOW,
    )
    expect(weightOf(failed)).toBeGreaterThan(weightOf(warned))
    expect([verdictOf(failed), verdictOf(warned)]).toEqual(['fail', 'warn'])
  })
})

describe('the comparison that is shown', () => {
  it('is the one of all rows, unless newer counts contradict it', () => {
    const newer = { ...DRIFTED, at: minutesAgo(1) }
    expect(lastComparisonOf({ ...LINE, compared: { counts: EQUAL, rows: EQUAL } })?.isDeep).toBe(true)
    const contradicted = lastComparisonOf({ ...LINE, compared: { counts: newer, rows: EQUAL } })!
    expect([contradicted.isDeep, driftOf(contradicted)]).toEqual([false, 1])
    expect(driftOf(lastComparisonOf({ ...LINE, compared: { counts: null, rows: DRIFTED } })!)).toBe(3)
  })

  it('is outdated when a run or a new configuration came after it', () => {
    expect(lastComparisonOf(LINE)?.isOutdated).toBe(false)
    expect(lastComparisonOf({ ...LINE, last_success_at: minutesAgo(1) })?.isOutdated).toBe(true)
    expect(lastComparisonOf({ ...LINE, config_version: 2 })?.isOutdated).toBe(true)
  })
})
