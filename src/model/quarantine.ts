import { createHash } from 'node:crypto'

/**
 * Different rows get different texts: composite keys as JSON, a key that contains NULL together with a digest of its
 * row.
 */
export function keyText(key: readonly (string | null)[], row: readonly (string | null)[]): string {
  const text = key.length === 1 && key[0] != null ? key[0] : JSON.stringify(key)
  return key.includes(null)
    ? `${text} ${createHash('sha256').update(JSON.stringify(row)).digest('hex').slice(0, 12)}`
    : text
}
