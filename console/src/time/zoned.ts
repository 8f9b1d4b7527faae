/** Converts the value of a browser's time field, such as 2026-11-15T10:02, in a time zone. Null: not a time. */
export function momentOf(local: string, zone: string): string | null {
  const asUtc = Date.parse(`${local}Z`)
  if (Number.isNaN(asUtc)) return null
  // The offset depends on the moment and the moment on the offset: the second pass handles clock changes.
  const first = asUtc - offsetMs(asUtc, zone)
  return new Date(asUtc - offsetMs(first, zone)).toISOString()
}

/** The inverse, to the minute. */
export function localOf(moment: string, zone: string): string {
  const at = Date.parse(moment)
  return new Date(at + offsetMs(at, zone)).toISOString().slice(0, 16)
}

/** How far the clocks of a zone are ahead of UTC at a moment. */
function offsetMs(at: number, zone: string): number {
  const parts = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  }).formatToParts(at)
  const of = (type: string) => Number(parts.find((part) => part.type === type)?.value)
  const wall = Date.UTC(of('year'), of('month') - 1, of('day'), of('hour'), of('minute'), of('second'))
  return wall - Math.floor(at / 1000) * 1000
}
