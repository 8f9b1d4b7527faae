/** Prefix of numbers that JSON.parse would round; they stay texts. PostgreSQL's texts never contain it. */
const MARK = '\u0000'
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"?|-?\d[\d.eE+-]*/g

/** Parses JSON and keeps every number as written: 9007199254740993 stays that number. */
export function parseExact(text: string): unknown {
  return JSON.parse(text.replace(STRING_OR_NUMBER, (part) => (part[0] === '"' ? part : `"\\u0000${part}"`)))
}

/** The literal of a number that `parseExact` read; null for everything else. */
export function numberOf(value: unknown): string | null {
  return typeof value === 'string' && value.startsWith(MARK) ? value.slice(1) : null
}

/**
 * One text for all equal values. The server rewrites a document when it merges into it: fractions become doubles
 * (1.50 becomes 1.5), integers of any length are kept, the order of fields may change.
 */
export function normalJson(value: unknown): string {
  const number = numberOf(value)
  if (number !== null) return normalNumber(number)
  if (Array.isArray(value)) return `[${value.map(normalJson).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${fields.map(([name, one]) => `${JSON.stringify(name)}:${normalJson(one)}`).join(',')}}`
}

function normalNumber(literal: string): string {
  if (/[.eE]/.test(literal)) return String(Number(literal))
  return literal === '-0' ? '0' : literal
}
