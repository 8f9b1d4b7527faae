import { isMapping } from './json-schema.js'

type Path = readonly (string | number)[]

/**
 * An address with a password, or a libpq connection string with one, in either order. In SQL a value is quoted; there
 * it is not.
 */
const PASSWORDS = [
  /\b[a-z][a-z0-9+.-]{0,20}:\/\/[^\s:@/]*:[^\s@/]+@/i,
  /\b(host|hostaddr|dbname|user)\s*=\s*[^\s='"]+\s[^\n]*\bpassword\s*=\s*[^\s=]/i,
  /\bpassword\s*=\s*[^\s=]+\s[^\n]*\b(host|hostaddr|dbname|user)\s*=\s*[^\s='"]/i,
]

/** The position of a plain-text password. Every user may read a pipeline, and its versions are kept permanently. */
export function plainPasswords(value: unknown, path: Path = []): Path[] {
  if (typeof value === 'string') return PASSWORDS.some((pattern) => pattern.test(value)) ? [path] : []
  if (Array.isArray(value)) return value.flatMap((item, n) => plainPasswords(item, [...path, n]))
  if (!isMapping(value)) return []
  return Object.entries(value).flatMap(([name, item]) => plainPasswords(item, [...path, name]))
}
