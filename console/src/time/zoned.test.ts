import { describe, expect, it } from 'vitest'
import { localOf, momentOf } from './zoned.js'

describe('a time in a zone', () => {
  it('is converted correctly before and after a clock change', () => {
    expect(momentOf('2026-11-15T10:02', 'UTC')).toBe('2026-11-15T10:02:00.000Z')
    expect(momentOf('2026-11-15T10:02', 'Europe/Moscow')).toBe('2026-11-15T07:02:00.000Z')
    expect(momentOf('2026-03-29T01:30', 'Europe/Berlin')).toBe('2026-03-29T00:30:00.000Z')
    expect(momentOf('2026-03-29T03:30', 'Europe/Berlin')).toBe('2026-03-29T01:30:00.000Z')
    expect(momentOf('2026-10-25T04:00', 'Europe/Berlin')).toBe('2026-10-25T03:00:00.000Z')
    expect(momentOf('2026-01-01T00:15', 'Asia/Kathmandu')).toBe('2025-12-31T18:30:00.000Z')
    expect(momentOf('', 'UTC')).toBeNull()
  })

  it('round-trips', () => {
    for (const zone of ['UTC', 'Europe/Berlin', 'America/St_Johns', 'Asia/Tokyo'])
      for (const local of ['2026-01-31T23:59', '2026-07-01T00:00'])
        expect(localOf(momentOf(local, zone)!, zone)).toBe(local)
  })
})
