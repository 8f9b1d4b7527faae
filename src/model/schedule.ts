import { Cron } from 'croner'
import { VitrinaError } from './errors.js'

const UNITS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** `15m`, `1h30m`, `PT15M`, `P1DT6H` in milliseconds; null if it is not an interval. */
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
  const parts = text.toLowerCase().split(/(?<=[smhd])/)
  const length = (part: string) => Number(part.slice(0, -1)) * UNITS[part.at(-1) as keyof typeof UNITS]
  return parts.reduce((sum, part) => sum + length(part), 0) || null
}

/**
 * The first time of a schedule after `now`. Missed times are not caught up one by one: the next one is always in the
 * future, and a single run that is due now covers all of them.
 */
export function nextRun(schedule: string, timezone: string, now: Date): Date | null {
  const interval = intervalMs(schedule.trim())
  if (interval !== null) return new Date(now.getTime() + interval)
  try {
    return nextOfCron(schedule.trim(), timezone, now)
  } catch (error) {
    throw new VitrinaError(
      'PIPELINE_INVALID',
      `"${schedule}" is neither an interval nor a cron expression for the time zone ${timezone}: ${(error as Error).message}.`,
      'Write 15m, 1h30m, PT15M, or a cron expression such as "0 6 * * *", with a time zone such as Europe/Moscow.',
      { cause: error, field: isZone(timezone) ? 'schedule_interval' : 'schedule_timezone' },
    )
  }
}

/**
 * In this many years, every combination of a date and a weekday occurs. The library walks from day to day through all
 * years of an expression: one that names the years up to 9999 and never occurs kept the process busy for minutes.
 */
const MOST_YEARS = 42
/** The nearest weekday of a date (`15W`) is computed for every day of the search; 31 of them took seconds. */
const MOST_NEAREST = 5

function nextOfCron(expression: string, timezone: string, now: Date): Date | null {
  const options = { timezone, paused: true } as const
  // Invalid fields are reported by the library.
  const cron = new Cron(expression, options)
  const fields = expression.split(/\s+/)
  if (fields.length < 5) return cron.nextRun(now)
  if ((expression.match(/\dW/gi) ?? []).length > MOST_NEAREST)
    throw new Error(`more than ${MOST_NEAREST} days with W`)
  const seconds = fields.length === 5 ? ['0'] : []
  // Local time may still be in the previous year.
  const years = firstYears(fields[6] ?? '*', now.getUTCFullYear() - 1)
  if (years.length === 0) return null
  return new Cron([...seconds, ...fields.slice(0, 6), years.join(',')].join(' '), options).nextRun(now)
}

/** The first years of a valid year field: `*`, `2030`, `2030-2040`, with a step, or a list of these. */
function firstYears(field: string, from: number): number[] {
  const parts = field.split(',').map((part) => {
    const [range = '', step = '1'] = part.split('/')
    const [first = '', last = first] = /^[*?]$/.test(range) ? ['0', '9999'] : range.split('-')
    return { first: Number(first), last: Number(last), step: Number(step) }
  })
  const years: number[] = []
  for (let year = from; year <= 9999 && years.length < MOST_YEARS; year++)
    if (parts.some(({ first, last, step }) => year >= first && year <= last && (year - first) % step === 0))
      years.push(year)
  return years
}

export function isZone(zone: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone })
    return true
  } catch {
    return false
  }
}

/** A time of a schedule, in its time zone. */
export interface ComingRun {
  readonly at: Date
  /** The local time in the zone, with its offset from UTC. */
  readonly local: string
  /** Minutes by which the clocks of the zone moved forward since the previous time; negative: back. */
  readonly clockChange: number
}

interface ComingRunsOptions {
  readonly schedule: string
  readonly timezone: string
  readonly now: Date
  readonly count: number
}

/** A schedule that seldom occurs has fewer coming runs: each one takes a search through the years before it. */
const FURTHEST_MS = 100 * 366 * UNITS.d

/** The next times of a schedule that `nextRun` accepts. */
export function comingRuns({ schedule, timezone, now, count }: ComingRunsOptions): ComingRun[] {
  const runs: ComingRun[] = []
  let before = now
  while (runs.length < count) {
    const at = nextRun(schedule, timezone, before)
    if (at === null || Number.isNaN(at.getTime())) break
    const clockChange = offsetMinutes(at, timezone) - offsetMinutes(before, timezone)
    runs.push({ at, local: localTime(at, timezone), clockChange })
    before = at
    if (at.getTime() - now.getTime() > FURTHEST_MS) break
  }
  return runs
}

/** The offset of a zone from UTC at a time. */
function offsetMinutes(at: Date, timezone: string): number {
  const parts = new Intl.DateTimeFormat('en', {
    timeZone: timezone,
    timeZoneName: 'longOffset',
  }).formatToParts(at)
  const name = parts.find(({ type }) => type === 'timeZoneName')?.value ?? ''
  const [, sign = '+', hours = '0', minutes = '0'] = /GMT([+-])(\d+):(\d+)/.exec(name) ?? []
  return Number(`${sign}1`) * (Number(hours) * 60 + Number(minutes))
}

function localTime(at: Date, timezone: string): string {
  const offset = offsetMinutes(at, timezone)
  const wall = new Date(at.getTime() + offset * UNITS.m).toISOString().slice(0, 19)
  const two = (part: number) => String(Math.floor(part)).padStart(2, '0')
  return `${wall}${offset < 0 ? '-' : '+'}${two(Math.abs(offset) / 60)}:${two(Math.abs(offset) % 60)}`
}

/** The time between the next two times of a schedule; null if it has fewer, or if it is invalid. */
export function schedulePeriodMs(schedule: string | null, timezone: string): number | null {
  if (schedule === null) return null
  const interval = intervalMs(schedule.trim())
  if (interval !== null) return interval
  try {
    const first = nextRun(schedule, timezone, new Date())
    const second = first === null ? null : nextRun(schedule, timezone, first)
    return first === null || second === null ? null : second.getTime() - first.getTime()
  } catch {
    // Written to the table by hand: the runner reports it when it tries.
    return null
  }
}
