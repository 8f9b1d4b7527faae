import { describe, expect, it } from 'vitest'
import { activityOf, lastResultOf } from './activity.js'
import { dataFactsOf, lateOf, nextRunOf } from './data-state.js'
import { progressOf } from './progress.js'

const NOW = Date.parse('2026-11-15T13:00:00Z')
const minutesAgo = (n: number) => new Date(NOW - n * 60_000).toISOString()

describe('the activity of a pipeline', () => {
  const run = { attempt: 1, cancel_requested: false }
  it.each([
    ['idle', { status: 'IDLE', enabled: true, current_run: null }],
    ['idle', { status: 'FAILED', enabled: true, current_run: null }],
    ['disabled', { status: 'IDLE', enabled: false, current_run: null }],
    ['paused', { status: 'PAUSED', enabled: true, current_run: null }],
    ['queued', { status: 'RUN_REQUESTED', enabled: true, current_run: run }],
    ['running', { status: 'RUNNING', enabled: true, current_run: run }],
    ['retrying', { status: 'RUNNING', enabled: true, current_run: { ...run, attempt: 2 } }],
    ['cancelling', { status: 'RUNNING', enabled: true, current_run: { ...run, cancel_requested: true } }],
    ['pausing', { status: 'PAUSE_REQUESTED', enabled: true, current_run: run }],
  ] as const)('is %s', (activity, facts) => {
    expect(activityOf(facts)).toBe(activity)
  })

  it('is independent of the last result', () => {
    expect(lastResultOf(null)).toBe('never')
    expect(lastResultOf({ status: 'FAILED' })).toBe('failed')
  })
})

describe('the state of the data', () => {
  const line = {
    enabled: true,
    quarantined: 0,
    recent: [],
    data_as_of: null,
    budget_seconds: null,
    schedule_period_ms: 600_000,
    last_success_at: minutesAgo(5),
  }
  it.each([
    ['fresh', 15],
    ['late', 16],
    ['late', 30],
    ['stale', 31],
  ])('is %s when a mart that is due every 10 minutes is %i minutes old', (state, minutes) => {
    expect(dataFactsOf({ ...line, last_success_at: minutesAgo(minutes) }, NOW).state).toBe(state)
  })

  it.each([
    ['fresh', 5],
    ['stale', 6],
  ])(
    'is %s when a mart that may be 5 minutes old contains what was committed %i minutes ago',
    (state, minutes) => {
      const limited = { ...line, budget_seconds: 300, data_as_of: minutesAgo(minutes) }
      expect(dataFactsOf(limited, NOW)).toMatchObject({ state, ageMs: minutes * 60_000, limitMs: 300_000 })
    },
  )

  it('is unknown without a schedule', () => {
    expect(dataFactsOf({ ...line, schedule_period_ms: null }, NOW)).toMatchObject({
      state: 'unknown',
      ageMs: 300_000,
    })
    expect(dataFactsOf({ ...line, last_success_at: null }, NOW)).toMatchObject({
      state: 'unknown',
      ageMs: null,
    })
  })

  it('counts marts with a schedule or a limit, and those of them that are late', () => {
    const limited = { ...line, schedule_period_ms: null, budget_seconds: 300 }
    const lines = [
      line,
      { ...line, last_success_at: minutesAgo(31) },
      { ...limited, data_as_of: minutesAgo(4) },
      { ...limited, data_as_of: minutesAgo(6) },
      { ...limited, data_as_of: minutesAgo(6), enabled: false },
      { ...line, schedule_period_ms: null },
    ]
    expect(lateOf(lines, NOW)).toEqual({ late: 2, promised: 4 })
  })

  it.each([
    ['the schedule', '2026-11-15T13:00:00Z', null, '2026-11-15T13:00:00Z'],
    ['the limit', null, '2026-11-15T13:00:00Z', '2026-11-15T13:00:00Z'],
    ['what comes first', '2026-11-15T13:00:00Z', '2026-11-15T12:00:00Z', '2026-11-15T12:00:00Z'],
    ['requests only', null, null, null],
  ])('runs next by %s', (_name, next_run_at, freshness_due_at, expected) => {
    expect(nextRunOf({ enabled: true, next_run_at, freshness_due_at })).toBe(expected)
    expect(nextRunOf({ enabled: false, next_run_at, freshness_due_at })).toBeNull()
  })

  it('warns about quarantined rows, and about a run that read nothing unlike earlier runs', () => {
    const bar = { status: 'SUCCESS', duration_ms: 1, rows_written: 0 } as const
    const [some, none] = [
      { ...bar, rows_read: 9 },
      { ...bar, rows_read: 0 },
    ]
    expect(dataFactsOf({ ...line, quarantined: 1 }, NOW).warning).toBe('quarantine')
    expect(dataFactsOf({ ...line, recent: [none, some, some, some] }, NOW).warning).toBe('no-rows')
    expect(dataFactsOf({ ...line, recent: [none, none, none, some] }, NOW).warning).toBeNull()
    expect(dataFactsOf({ ...line, recent: [some, none, none, none] }, NOW).warning).toBeNull()
  })
})

describe('progress', () => {
  const run = {
    id: 'r',
    status: 'RUNNING',
    attempt: 1,
    cancel_requested: false,
    requested_at: minutesAgo(2),
    started_at: minutesAgo(1),
    batches: 3,
    rows_read: 500,
    rows_written: 500,
    error_code: null,
    error: null,
  } as const
  const last = {
    id: 'l',
    status: 'SUCCESS',
    finished_at: minutesAgo(60),
    duration_ms: 1,
    rows_read: 2000,
    rows_written: 0,
    rows_deleted: 0,
    held_back: null,
    error_code: null,
    error: null,
    error_hint: null,
  } as const

  it('is estimated from the last full run if there is one', () => {
    expect(progressOf({ mode: 'full', last_run: last }, run, NOW)).toEqual({
      share: 0.25,
      rowsPerSecond: 500 / 60,
      etaMs: 180_000,
    })
    expect(progressOf({ mode: 'incremental', last_run: last }, run, NOW).share).toBeNull()
    expect(progressOf({ mode: 'full', last_run: { ...last, rows_read: 400 } }, run, NOW).share).toBeNull()
    expect(progressOf({ mode: 'full', last_run: null }, run, NOW).etaMs).toBeNull()
  })
})
