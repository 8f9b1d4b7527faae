import { trimEnd } from '../../model/trim-end.js'
import { S3ValueError } from './value-error.js'

const DAY = 86_400_000_000n
const DATE = /^(\d{4,7})-(\d\d)-(\d\d)( BC)?$/
const TIME = /^(\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?$/
const STAMP =
  /^(\d{4,7}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d{1,6})?)(?:([+-])(\d\d)(?::(\d\d))?(?::(\d\d))?)?( BC)?$/
const LEAST = -(2n ** 63n)
/** DuckDB reserves the very last value for infinity. */
const GREATEST = 2n ** 63n - 2n

/** Days since 1970-01-01 in the calendar shared by PostgreSQL and Parquet (Gregorian, also before 1582). */
export function daysOf(text: string): number {
  const parts = DATE.exec(text)
  if (parts === null) throw new S3ValueError(`${text} is not a date that Parquet can store`)
  const year = parts[4] === undefined ? Number(parts[1]) : 1 - Number(parts[1])
  return daysFromCivil(year, Number(parts[2]), Number(parts[3]))
}

export function dateOf(days: number): string {
  const { year, month, day } = civilFromDays(days)
  const shown = year > 0 ? year : 1 - year
  return `${String(shown).padStart(4, '0')}-${two(month)}-${two(day)}${year > 0 ? '' : ' BC'}`
}

/** Microseconds since midnight; 24:00:00 is a valid time in PostgreSQL. */
export function microsOfTime(text: string): bigint {
  const parts = TIME.exec(text)
  if (parts === null) throw new S3ValueError(`${text} is not a time of day`)
  const seconds = Number(parts[1]) * 3600 + Number(parts[2]) * 60 + Number(parts[3])
  return BigInt(seconds) * 1_000_000n + BigInt((parts[4] ?? '').padEnd(6, '0'))
}

export function timeOf(micros: bigint): string {
  const seconds = Number(micros / 1_000_000n)
  const fraction = trimEnd(String(micros % 1_000_000n).padStart(6, '0'), '0')
  const clock = `${two(Math.floor(seconds / 3600))}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`
  return fraction === '' ? clock : `${clock}.${fraction}`
}

/** Microseconds since 1970. Avoids JavaScript's Date, which would drop the last three digits. */
export function microsOfTimestamp(text: string): bigint {
  const parts = STAMP.exec(text)
  if (parts === null) throw new S3ValueError(`${text} is not a timestamp that Parquet can store`)
  const days = BigInt(daysOf(parts[1]! + (parts[7] ?? '')))
  const micros = days * DAY + microsOfTime(parts[2]!) - offsetOf(parts)
  if (micros < LEAST || micros > GREATEST)
    throw new S3ValueError(`${text} is outside the range of Parquet timestamps`)
  return micros
}

function offsetOf([, , , sign, hours, minutes, seconds]: readonly (string | undefined)[]): bigint {
  if (sign === undefined) return 0n
  const whole = Number(hours) * 3600 + Number(minutes ?? 0) * 60 + Number(seconds ?? 0)
  return BigInt(sign === '-' ? -whole : whole) * 1_000_000n
}

export function timestampOf(micros: bigint, zone: '' | '+00'): string {
  const inDay = ((micros % DAY) + DAY) % DAY
  const date = dateOf(Number((micros - inDay) / DAY))
  const [plain, era] = date.endsWith(' BC') ? [date.slice(0, -3), ' BC'] : [date, '']
  return `${plain} ${timeOf(inDay)}${zone}${era}`
}

const two = (value: number) => String(value).padStart(2, '0')

/** Howard Hinnant's days_from_civil: exact for every year, without a table. */
function daysFromCivil(year: number, month: number, day: number): number {
  const y = month <= 2 ? year - 1 : year
  const era = Math.floor(y / 400)
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1
  const yearOfEra = y - era * 400
  return (
    era * 146_097 +
    yearOfEra * 365 +
    Math.floor(yearOfEra / 4) -
    Math.floor(yearOfEra / 100) +
    dayOfYear -
    719_468
  )
}

function civilFromDays(days: number): { year: number; month: number; day: number } {
  const shifted = days + 719_468
  const era = Math.floor(shifted / 146_097)
  const dayOfEra = shifted - era * 146_097
  const yearOfEra = Math.floor(
    (dayOfEra -
      Math.floor(dayOfEra / 1460) +
      Math.floor(dayOfEra / 36_524) -
      Math.floor(dayOfEra / 146_096)) /
      365,
  )
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100))
  const shiftedMonth = Math.floor((5 * dayOfYear + 2) / 153)
  const month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
  const day = dayOfYear - Math.floor((153 * shiftedMonth + 2) / 5) + 1
  return { year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day }
}
