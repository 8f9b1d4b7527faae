import { createHash } from 'node:crypto'
import { mix, seedKey } from './random.js'

/** Four signed words: as strings of digits, written and parsed again, ids took more than half of a rating's time. */
export type Uuid = readonly [number, number, number, number]

/** Ids that look like version 4, are spread over the key space like those, and are unique while n < 2³². */
export function idsOf(seed: number, kind: string): (n: number) => Uuid {
  const [a, b, c, d] = seedKey(seed, kind)
  return (n) => {
    // The first word is a bijection of n, and all of its bits are kept: hence unique.
    const first = mix(n ^ a)
    const second = mix(first ^ b)
    const third = mix(second ^ c)
    return [first, (second & ~0xf000) | 0x4000, (third & 0x3fffffff) | 0x80000000, mix(third ^ d)]
  }
}

/** An id that follows from a name (shaped as version 5), the same in every installation. */
export function idOfName(kind: string, name: string): Uuid {
  const digest = createHash('sha1').update(`vitrina.cinema:${kind}:${name}`).digest()
  digest[6] = (digest[6]! & 0x0f) | 0x50
  digest[8] = (digest[8]! & 0x3f) | 0x80
  return wordsOf(digest)
}

export function parseUuid(text: string): Uuid {
  return wordsOf(Buffer.from(text.replaceAll('-', ''), 'hex'))
}

/** As PostgreSQL reads it; the dashes are optional there. */
export function uuidText(id: Uuid): string {
  return id.map((word) => (word >>> 0).toString(16).padStart(8, '0')).join('')
}

function wordsOf(bytes: Buffer): Uuid {
  return [bytes.readInt32BE(0), bytes.readInt32BE(4), bytes.readInt32BE(8), bytes.readInt32BE(12)]
}
