import { createHash } from 'node:crypto'

/** Scrambles 32 bits and is a bijection: different numbers never collide. (Wellons' lowbias32.) */
export function mix(x: number): number {
  x = Math.imul(x ^ (x >>> 16), 0x7feb352d)
  x = Math.imul(x ^ (x >>> 15), 0x846ca68b)
  return x ^ (x >>> 16)
}

/** A key of four words for one kind of thing in one generated set. */
export function seedKey(seed: number, kind: string): [number, number, number, number] {
  const digest = createHash('sha1').update(`${seed}:${kind}`).digest()
  return [digest.readInt32LE(0), digest.readInt32LE(4), digest.readInt32LE(8), digest.readInt32LE(12)]
}

/**
 * Numbers for a row that depend only on seed, kind and the row's number. Every row can be generated alone, in any
 * order, and two tables that refer to the same film need no shared state.
 */
export class Random {
  readonly #key: number
  #state = 0

  constructor(seed: number, kind: string) {
    this.#key = seedKey(seed, kind)[0]
  }

  at(n: number): this {
    this.#state = mix(n ^ this.#key)
    return this
  }

  /** In [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x9e3779b9) | 0
    return (mix(this.#state) >>> 0) / 4294967296
  }

  below(limit: number): number {
    return Math.floor(this.next() * limit)
  }

  chance(share: number): boolean {
    return this.next() < share
  }

  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)]!
  }

  /** A bell curve around 0 within ±1. Three samples are enough: ratings have ten steps. */
  bell(): number {
    return ((this.next() + this.next() + this.next()) * 2) / 3 - 1
  }
}
