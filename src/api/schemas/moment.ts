import { z } from 'zod'

/** A time that PostgreSQL accepts: its time zones are less than 16 hours from UTC, and it has no year 0. */
export const moment = z.iso
  .datetime({ offset: true, error: 'must be a time such as 2026-11-15T10:02:11Z' })
  .transform((text) => (/^0000|[+-](1[6-9]|2\d):\d\d$/.test(text) ? inUtc(text) : text))

function inUtc(text: string): string {
  const utc = new Date(text).toISOString()
  if (utc.startsWith('+')) return 'infinity'
  return /^(-|0000)/.test(utc) ? '-infinity' : utc
}
