import type { QuietHours } from '../model/notification.js'

/** Whether `now` is within the quiet hours; 22:00 to 07:00 passes midnight. The end is not quiet any more. */
export function isQuiet(quiet: QuietHours | null, now: Date): boolean {
  if (quiet === null) return false
  const time = wallClock(now, quiet.timezone)
  const { from, to } = quiet
  return from <= to ? from <= time && time < to : from <= time || time < to
}

/** HH:MM in a time zone, with its daylight saving time. */
function wallClock(now: Date, timeZone: string): string {
  return new Intl.DateTimeFormat('en-GB', {
    timeZone,
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  }).format(now)
}
