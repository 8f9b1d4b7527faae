/** Several lines: a difference says more than the two texts. */
export function isLong(value: unknown): boolean {
  return asText(value).split('\n').length > 3
}

/** A value as people read it: a text as it is, everything else as JSON. Queries inside keep their lines. */
export function asText(value: unknown): string {
  if (typeof value === 'string') return value
  if (value === null || value === undefined) return ''
  return JSON.stringify(value, null, 1).replaceAll('\\n', '\n')
}
