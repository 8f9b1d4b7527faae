import { createHash } from 'node:crypto'

/**
 * Characters of one row that the quarantine stores. A row of a transfer may have a gigabyte; a page of quarantined rows
 * must fit into a response, and a replay reads the row again from the source.
 */
const MAX_ROW = 256 * 1024
/** Characters of a key column that are stored. No index of PostgreSQL can hold a longer value. */
const MAX_KEY = 16 * 1024
/** Bytes of the text that identifies a row. It is indexed, and an entry of an index has at most 2,704 bytes. */
const MAX_KEY_TEXT = 2_000
const KEY_START = 400

/** Identifies a row in the quarantine: a composite key as JSON, a key that contains NULL with a digest of its row. */
export function quarantineKey(key: readonly (string | null)[], row: readonly (string | null)[]): string {
  const whole = key.length === 1 && key[0] != null ? key[0] : JSON.stringify(key)
  const text =
    Buffer.byteLength(whole) <= MAX_KEY_TEXT ? whole : `${startOf(whole, KEY_START)}… ${digestOf(whole)}`
  return key.includes(null) ? `${text} ${digestOf(JSON.stringify(row)).slice(0, 12)}` : text
}

/** Characters of each value that are stored: all of them, unless the row or a key column is too long. */
export function heldLengths(lengths: readonly number[], isKey: readonly boolean[]): number[] {
  const total = lengths.reduce((sum, length) => sum + length, 0)
  const share = Math.floor(MAX_ROW / Math.max(1, lengths.length))
  return lengths.map((length, n) => {
    if (isKey[n] === true) return Math.min(length, MAX_KEY)
    return total <= MAX_ROW ? length : Math.min(length, share)
  })
}

/** A value of which only the beginning is stored. */
export function truncatedValue(start: string, length: number, digest: string): string {
  return `${start}… (truncated: ${length} characters, SHA-256 ${digest})`
}

/** The values of a row as the quarantine stores them. */
export function heldTexts(texts: readonly (string | null)[], isKey: readonly boolean[]): (string | null)[] {
  const kept = heldLengths(
    texts.map((text) => text?.length ?? 0),
    isKey,
  )
  return texts.map((text, n) => {
    if (text === null || text.length <= kept[n]!) return text
    return truncatedValue(startOf(text, kept[n]!), text.length, digestOf(text))
  })
}

/** Whether the row can be found by the stored values of its key: a truncated one is longer than any other. */
export function isWholeKey(key: readonly (string | null)[]): boolean {
  return key.every((text) => text === null || text.length <= MAX_KEY)
}

/** Without half a surrogate pair at its end. */
function startOf(text: string, length: number): string {
  const last = text.charCodeAt(length - 1)
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length)
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
