/** Texts with several lines are shown as a diff. */
export function isLong(value: unknown): boolean {
  return asText(value).split('\n').length > 3
}

/** A readable value: text unchanged, everything else as JSON. Queries inside keep their line breaks. */
export function asText(value: unknown): string {
  if (typeof value === 'string') return value
  if (value === null || value === undefined) return ''
  return JSON.stringify(value, null, 1).replaceAll('\\n', '\n')
}
