import { createHash } from 'node:crypto'

/** Identifies a row in the quarantine: a composite key as JSON, a key that contains NULL with a digest of its row. */
export function quarantineKey(key: readonly (string | null)[], row: readonly (string | null)[]): string {
  const text = key.length === 1 && key[0] != null ? key[0] : JSON.stringify(key)
  return key.includes(null)
    ? `${text} ${createHash('sha256').update(JSON.stringify(row)).digest('hex').slice(0, 12)}`
    : text
}
