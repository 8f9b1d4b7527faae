import { createHash } from 'node:crypto'
import type { TextValues } from '../../sql/copy-text.js'

/** The longest _id that Elasticsearch allows. */
const MAX_BYTES = 512
const HASHED = '~#'

/**
 * The _id of a row: the readable text of its key. `~` escapes, so that no two keys share an _id: a single text
 * that begins with `~` gets another one, parts of a longer key are separated by `|` and escaped inside, the empty text
 * is `~`, and a text that is too long becomes `~#` and its SHA-256. Null: a part is NULL, which identifies nothing.
 */
export function documentId(key: TextValues): string | null {
  const id = key.length === 1 ? single(key[0]!) : composite(key)
  if (id === null || Buffer.byteLength(id) <= MAX_BYTES) return id
  return HASHED + createHash('sha256').update(id).digest('base64url')
}

/** The key behind an _id that `documentId` made of `parts` parts; null when it was hashed. */
export function keyOfId(id: string, parts: number): string[] | null {
  if (id.startsWith(HASHED)) return null
  if (parts === 1) return [id.startsWith('~') ? id.slice(1) : id]
  const key: string[] = []
  let part = ''
  for (let at = 0; at < id.length; at++) {
    if (id[at] === '|') {
      key.push(part)
      part = ''
    } else part += id[at] === '~' ? id[++at] : id[at]
  }
  return [...key, part]
}

function single(text: string | null): string | null {
  if (text === null) return null
  return text === '' || text.startsWith('~') ? `~${text}` : text
}

function composite(key: TextValues): string | null {
  if (key.includes(null)) return null
  return key.map((part) => part!.replace(/[~|]/g, '~$&')).join('|')
}
