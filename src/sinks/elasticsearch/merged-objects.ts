import type { Tally } from './bulk.js'
import { normalJson } from './exact-json.js'

/** A document whose objects kept keys that the row has no longer. */
export interface Leftover {
  /** Takes the objects out. */
  readonly emptied: Buffer
  /** What was sent, as it was sent. */
  readonly item: Buffer
}

/**
 * `update` merges objects into each other: a key that left the jsonb stays in the document, and nobody is told. What the
 * server made of them came back with the answer; where it is not what was sent, they are taken out and set again.
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
