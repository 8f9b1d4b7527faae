import { Cron } from 'croner'
import { VitrinaError } from './errors.js'

const UNITS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** `15m`, `1h30m`, `PT15M`, `P1DT6H` in milliseconds; null when it is not an interval. */
export function intervalMs(text: string): number | null {
  const iso = /^P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?$/i.exec(text)
  if (iso !== null) {
    const [weeks, days, hours, minutes, seconds] = iso.slice(1).map((part) => Number(part ?? 0)) as [
      number,
      number,
      number,
      number,
      number,
    ]
    return (weeks * 7 + days) * UNITS.d + hours * UNITS.h + minutes * UNITS.m + seconds * UNITS.s || null
  }
  if (!/^(\d+[smhd])+$/i.test(text)) return null
  const parts = [...text.toLowerCase().matchAll(/(\d+)([smhd])/g)]
  return (
    parts.reduce((sum, [, count, unit]) => sum + Number(count) * UNITS[unit as keyof typeof UNITS], 0) || null
  )
}

/**
 * The first moment of a schedule after `now`. Missed moments are not made up for one by one: the next is always in the
 * future, and the one run that is due now stands for all of them.
 */
export function nextRun(schedule: string, timezone: string, now: Date): Date | null {
  const interval = intervalMs(schedule.trim())
  if (interval !== null) return new Date(now.getTime() + interval)
  try {
    return new Cron(schedule.trim(), { timezone, paused: true }).nextRun(now)
  } catch (error) {
    throw new VitrinaError(
      'PIPELINE_INVALID',
      `"${schedule}" is neither an interval nor a cron expression for the zone ${timezone}: ${(error as Error).message}.`,
      'Write 15m, 1h30m, PT15M, or a cron expression such as "0 6 * * *", with a zone such as Europe/Moscow.',
      { cause: error },
    )
  }
}

/** The time between the next two moments of a schedule; null when there is none, or when it cannot be read. */
export function schedulePeriodMs(schedule: string | null, timezone: string): number | null {
  if (schedule === null) return null
  const interval = intervalMs(schedule.trim())
  if (interval !== null) return interval
  try {
    const [first, second] = new Cron(schedule.trim(), { timezone, paused: true }).nextRuns(2)
    return first === undefined || second === undefined ? null : second.getTime() - first.getTime()
  } catch {
    // Written by hand into the table: the runner tells it when it tries.
    return null
  }
}
