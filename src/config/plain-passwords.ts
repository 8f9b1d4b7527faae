import { isMapping } from './json-schema.js'

type Path = readonly (string | number)[]

const ADDRESS = /\b[a-z][a-z0-9+.-]{0,20}:\/\/[^\s:@/]*:[^\s@/]+@/i

/** A libpq connection string, in either order. In SQL a value is quoted; there it is not. */
const WITH_PASSWORD = [
  [/\b(?:host|hostaddr|dbname|user)\s*=\s*[^\s='"]+\s/gi, /\bpassword\s*=\s*[^\s=]/gi],
  [/\bpassword\s*=\s*[^\s=]+\s/gi, /\b(?:host|hostaddr|dbname|user)\s*=\s*[^\s='"]/gi],
] as const

/**
 * Whether the second expression matches after the first, on the same line. One expression for both looked for the second to
 * the end of the line from each place of the first: 200 kB took 12 s.
 */
function follows(text: string, [first, second]: readonly [RegExp, RegExp]): boolean {
  const ends = Array.from(text.matchAll(first), (found) => found.index + found[0].length)
  let next = 0
  for (const { index } of text.matchAll(second)) {
    const before = next
    while (next < ends.length && ends[next]! <= index) next += 1
    if (next > before && !text.slice(ends[next - 1], index).includes('\n')) return true
  }
  return false
}

function hasPassword(text: string): boolean {
  return ADDRESS.test(text) || WITH_PASSWORD.some((pair) => follows(text, pair))
}

/** The position of a plain-text password. Every user may read a pipeline, and its versions are kept permanently. */
export function plainPasswords(value: unknown, path: Path = []): Path[] {
  if (typeof value === 'string') return hasPassword(value) ? [path] : []
  if (Array.isArray(value)) return value.flatMap((item, n) => plainPasswords(item, [...path, n]))
  if (!isMapping(value)) return []
  return Object.entries(value).flatMap(([name, item]) => plainPasswords(item, [...path, name]))
}
