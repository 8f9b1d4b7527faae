import { useZone, zoneLabel } from '../time/zone.js'
import { type Language, useLanguage } from './texts.js'

/** Numbers and times in the selected language and time zone. */
export interface Format {
  number(value: number): string
  /** 18.4k */
  compact(value: number): string
  percent(share: number): string
  /** 136 B, 16 MiB: the unit leaves at most four digits. */
  bytes(count: number): string
  /** 14s, 3m 12s, 2h 5m, 3d 4h: two units at most. */
  duration(ms: number): string
  /** 13:02:11 MSK */
  clock(at: string | number): string
  /** 15 Nov 2026, 13:02:11 MSK */
  moment(at: string | number): string
  /** The time, with the date unless it is today; for columns. */
  short(at: string | number, now: number): string
  /** `3 minutes ago`, `in 2 hours` */
  relative(at: string | number, now: number): string
}

export function useFormat(): Format {
  return createFormat(useLanguage(), useZone())
}

const formats = new Map<string, Format>()

/** One for each language and time zone: creating the nine formatters took longer than everything else in a table row. */
export function createFormat(language: Language, zone: string): Format {
  const key = `${language} ${zone}`
  const format = formats.get(key) ?? makeFormat(language, zone)
  formats.set(key, format)
  return format
}

function makeFormat(language: Language, zone: string): Format {
  // International English: 24 hours, the day before the month.
  const locale = language === 'en' ? 'en-GB' : 'ru-RU'
  const number = new Intl.NumberFormat(language)
  const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })
  const percent = new Intl.NumberFormat(language, { style: 'percent' })
  const time = { timeZone: zone, hour: '2-digit', minute: '2-digit', second: '2-digit' } as const
  const clock = new Intl.DateTimeFormat(locale, time)
  const minutes = new Intl.DateTimeFormat(locale, { timeZone: zone, hour: '2-digit', minute: '2-digit' })
  const dayTime = new Intl.DateTimeFormat(locale, {
    timeZone: zone,
    day: 'numeric',
    month: 'short',
    hour: '2-digit',
    minute: '2-digit',
  })
  const moment = new Intl.DateTimeFormat(locale, { ...time, day: 'numeric', month: 'short', year: 'numeric' })
  const day = new Intl.DateTimeFormat('en-CA', { timeZone: zone, dateStyle: 'short' })
  const relative = new Intl.RelativeTimeFormat(language, { numeric: 'auto' })
  const label = (at: number) => zoneLabel(zone, at, locale)
  return {
    number: (value) => number.format(value),
    compact: (value) => compact.format(value).replace('K', 'k'),
    percent: (share) => percent.format(share),
    bytes: (count) => bytes(count, number, BYTES[language]),
    duration: (ms) => duration(ms, UNITS[language]),
    clock: (at) => `${clock.format(toMs(at))} ${label(toMs(at))}`,
    moment: (at) => `${moment.format(toMs(at))} ${label(toMs(at))}`,
    short: (at, now) => (day.format(toMs(at)) === day.format(now) ? minutes : dayTime).format(toMs(at)),
    relative: (at, now) => relativeText(toMs(at) - now, relative),
  }
}

function toMs(at: string | number): number {
  return typeof at === 'number' ? at : Date.parse(at)
}

const BYTES = {
  en: ['B', 'KiB', 'MiB', 'GiB', 'TiB'],
  ru: ['Б', 'КиБ', 'МиБ', 'ГиБ', 'ТиБ'],
} as const

function bytes(count: number, number: Intl.NumberFormat, units: readonly string[]): string {
  const power = Math.min(Math.floor(Math.log2(Math.max(count, 1)) / 10), units.length - 1)
  const value = count / 1024 ** power
  const digits = power === 0 || value >= 100 ? 1 : 10
  return `${number.format(Math.round(value * digits) / digits)} ${units[power]}`
}

const UNITS = { en: ['d', 'h', 'm', 's', 'ms'], ru: ['д', 'ч', 'м', 'с', 'мс'] } as const
const SIZES = [86_400, 3_600, 60, 1] as const

function duration(ms: number, units: readonly string[]): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))}${units[4]}`
  if (ms < 10_000) return `${(Math.floor(ms / 100) / 10).toFixed(1)}${units[3]}`
  let left = Math.floor(ms / 1000)
  const parts: string[] = []
  SIZES.forEach((size, n) => {
    const count = Math.floor(left / size)
    left -= count * size
    if (count > 0 || parts.length > 0) parts.push(`${count}${units[n]}`)
  })
  // From a week on, hours are omitted.
  return parts
    .slice(0, ms >= 7 * 86_400_000 ? 1 : 2)
    .filter((part) => !part.startsWith('0'))
    .join(' ')
}

const STEPS: readonly (readonly [number, Intl.RelativeTimeFormatUnit])[] = [
  [86_400_000, 'day'],
  [3_600_000, 'hour'],
  [60_000, 'minute'],
  [1_000, 'second'],
]

function relativeText(ms: number, format: Intl.RelativeTimeFormat): string {
  const [size, unit] = STEPS.find(([step]) => Math.abs(ms) >= step) ?? [1_000, 'second']
  return format.format(Math.trunc(ms / size), unit)
}
