import type { Tally } from './bulk.js'
import { normalJson } from './exact-json.js'

/** A document whose objects kept keys that the row no longer has. */
export interface Leftover {
  /** Removes the objects. */
  readonly emptied: Buffer
  /** The original item. */
  readonly item: Buffer
}

/**
 * `update` merges objects: a key that was removed from the jsonb silently stays in the document. The response contains
 * the merged objects; where they differ from those sent, they are removed and set again.
 */
export function leftoversOf(shown: Tally['shown']): Leftover[] {
  return shown.flatMap(({ item, source }) => {
    const [action = '', body = ''] = item.toString('utf8').split('\n')
    const { doc } = JSON.parse(body) as { doc: Record<string, unknown> }
    const grown = Object.keys(source).filter((name) => normalJson(doc[name]) !== normalJson(source[name]))
    if (grown.length === 0) return []
    const empty = JSON.stringify({ doc: Object.fromEntries(grown.map((name) => [name, null])) })
    return [{ item, emptied: Buffer.from(`${action}\n${empty}\n`) }]
  })
}
