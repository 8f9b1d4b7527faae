import { describe, expect, it } from 'vitest'
import { comingRuns, intervalMs, nextRun } from './schedule.js'

const next = (schedule: string, now: string, timezone = 'UTC') =>
  nextRun(schedule, timezone, new Date(now))?.toISOString() ?? null

describe('an interval', () => {
  it.each([
    ['15m', 15 * 60_000],
    ['1h30m', 90 * 60_000],
    ['45s', 45_000],
    ['2d', 2 * 86_400_000],
    ['PT15M', 15 * 60_000],
    ['pt1h30m', 90 * 60_000],
    ['P1DT6H', 30 * 3_600_000],
    ['P1W', 7 * 86_400_000],
  ])('%s has %i ms', (text, ms) => {
    expect(intervalMs(text)).toBe(ms)
  })

  it.each(['', '0m', 'P', 'PT', 'PT0S', '15', 'm', '15 m', '-15m', '1.5h', '0 6 * * *'])(
    '"%s" is not valid',
    (text) => {
      expect(intervalMs(text)).toBeNull()
    },
  )

  it('counts from now', () => {
    expect(next('15m', '2024-01-01T10:00:00Z')).toBe('2024-01-01T10:15:00.000Z')
  })
})

describe('R3.5 a cron expression', () => {
  it('is in its time zone', () => {
    expect(next('0 6 * * *', '2024-01-15T00:00:00Z', 'Europe/Moscow')).toBe('2024-01-15T03:00:00.000Z')
    expect(next('0 6 * * *', '2024-07-15T12:00:00Z', 'America/New_York')).toBe('2024-07-16T10:00:00.000Z')
  })

  it('occurs once on the day when its hour is skipped', () => {
    // 31 March 2024: 02:00 to 03:00 does not exist in Berlin.
    const first = next('30 2 * * *', '2024-03-30T12:00:00Z', 'Europe/Berlin')!
    expect(new Date(first).getTime()).toBeGreaterThanOrEqual(Date.parse('2024-03-31T01:00:00Z'))
    expect(new Date(first).getTime()).toBeLessThanOrEqual(Date.parse('2024-03-31T01:30:00Z'))
    expect(next('30 2 * * *', first, 'Europe/Berlin')).toBe('2024-04-01T00:30:00.000Z')
  })

  it('occurs once on the day when its hour occurs twice', () => {
    // 27 October 2024: 02:30 occurs at 00:30 and at 01:30 UTC in Berlin.
    const first = next('30 2 * * *', '2024-10-26T12:00:00Z', 'Europe/Berlin')!
    expect(['2024-10-27T00:30:00.000Z', '2024-10-27T01:30:00.000Z']).toContain(first)
    expect(next('30 2 * * *', first, 'Europe/Berlin')).toBe('2024-10-28T01:30:00.000Z')
  })

  it('that never occurs has no next time', () => {
    expect(next('0 0 30 2 *', '2024-01-01T00:00:00Z')).toBeNull()
  })

  it('is found when it is years away, and its years may be given', () => {
    expect(next('0 0 29 2 +1', '2072-03-01T00:00:00Z')).toBe('2112-02-29T00:00:00.000Z')
    expect(next('0 0 0 1 1 * 2199', '2024-01-01T00:00:00Z')).toBe('2199-01-01T00:00:00.000Z')
    expect(next('0 0 0 1 1 * 2010-2030/7,2026', '2025-01-01T00:00:00Z')).toBe('2026-01-01T00:00:00.000Z')
    expect(next('0 0 0 1 1 * */50', '2024-01-01T00:00:00Z')).toBe('2050-01-01T00:00:00.000Z')
    expect(next('0 0 0 1 1 * 2020', '2024-01-01T00:00:00Z')).toBeNull()
    expect(next('0 22 31 12 *', '2027-01-01T01:00:00Z', 'America/New_York')).toBe('2027-01-01T03:00:00.000Z')
  })

  // The nearest weekday is never a Saturday. Through all years, each of these took more than half a minute.
  it.each(['1-9999', '2026-9999', '*/1'])(
    'that never occurs in %s takes no search through all of them',
    (years) => {
      expect(next(`0 0 0 1W,8W,15W,22W,29W * +6 ${years}`, '2024-01-01T00:00:00Z')).toBeNull()
    },
    10_000,
  )

  it.each([
    ['every now and then', 'UTC'],
    ['', 'UTC'],
    ['61 * * * *', 'UTC'],
    ['0 6 * * *', 'Europe/Atlantis'],
    ['0 0 1W,2W,3W,4W,5W,6W * *', 'UTC'],
  ])('"%s" in %s is rejected with a hint', (schedule, timezone) => {
    expect(() => nextRun(schedule, timezone, new Date())).toThrowError(
      expect.objectContaining({ code: 'PIPELINE_INVALID', hint: expect.stringContaining('15m') }),
    )
  })
})

describe('the next runs', () => {
  const coming = (schedule: string, now: string, timezone: string) =>
    comingRuns({ schedule, timezone, now: new Date(now), count: 3 }).map(({ local, clockChange }) => [
      local,
      clockChange,
    ])

  it('are shown in the local time of the zone, with clock changes', () => {
    expect(coming('30 2 * * *', '2026-03-28T00:00:00Z', 'Europe/Berlin')).toEqual([
      ['2026-03-28T02:30:00+01:00', 0],
      // 02:30 does not exist on this day: the run starts as soon as the clocks have changed.
      ['2026-03-29T03:00:00+02:00', 60],
      ['2026-03-30T02:30:00+02:00', 0],
    ])
    expect(coming('0 6 * * *', '2026-10-31T00:00:00Z', 'America/New_York')).toEqual([
      ['2026-10-31T06:00:00-04:00', 0],
      ['2026-11-01T06:00:00-05:00', -60],
      ['2026-11-02T06:00:00-05:00', 0],
    ])
  })

  it('follow each other by the interval', () => {
    expect(coming('1h30m', '2026-11-15T10:00:00Z', 'Asia/Kolkata')).toEqual([
      ['2026-11-15T17:00:00+05:30', 0],
      ['2026-11-15T18:30:00+05:30', 0],
      ['2026-11-15T20:00:00+05:30', 0],
    ])
  })

  it('are empty for a day that never occurs', () => {
    expect(comingRuns({ schedule: '0 0 30 2 *', timezone: 'UTC', now: new Date(), count: 5 })).toEqual([])
  })
})
