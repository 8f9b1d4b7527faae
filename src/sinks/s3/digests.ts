import { hash } from 'node:crypto'
import type { TextValues } from '../../sql/copy-text.js'

/** 128 bits of SHA-256: a collision would remove the wrong row. */
export function digestOfTexts(texts: TextValues): Buffer {
  return hash('sha256', JSON.stringify(texts), 'buffer').subarray(0, WORDS * 4)
}

const WORDS = 4
const FIRST_SLOTS = 1024
const FULL = 0.7

/** Digests in one block of memory, 16 bytes each plus spare capacity; a Set of strings takes eight times as much. */
export class DigestSet {
  #words = new Uint32Array(FIRST_SLOTS * WORDS)
  #slots = FIRST_SLOTS
  size = 0

  has(digest: Buffer): boolean {
    return this.#at(digest).found
  }

  /** Returns false if it was already present. */
  add(digest: Buffer): boolean {
    if (this.size >= this.#slots * FULL) this.#grow()
    const { found, slot } = this.#at(digest)
    if (found) return false
    for (let word = 0; word < WORDS; word++) this.#words[slot * WORDS + word] = digest.readUInt32LE(word * 4)
    this.size += 1
    return true
  }

  /** The slot of the digest, or the free slot where it belongs. All zeros mean free; no real digest is zero. */
  #at(digest: Buffer): { found: boolean; slot: number } {
    const [a, b, c, d] = [
      digest.readUInt32LE(0),
      digest.readUInt32LE(4),
      digest.readUInt32LE(8),
      digest.readUInt32LE(12),
    ]
    for (let slot = a & (this.#slots - 1); ; slot = (slot + 1) & (this.#slots - 1)) {
      const at = slot * WORDS
      const words = this.#words
      if (words[at] === a && words[at + 1] === b && words[at + 2] === c && words[at + 3] === d)
        return { found: true, slot }
      if ((words[at]! | words[at + 1]! | words[at + 2]! | words[at + 3]!) === 0) return { found: false, slot }
    }
  }

  #grow(): void {
    const old = this.#words
    this.#slots *= 2
    this.#words = new Uint32Array(this.#slots * WORDS)
    for (let at = 0; at < old.length; at += WORDS) {
      if ((old[at]! | old[at + 1]! | old[at + 2]! | old[at + 3]!) === 0) continue
      let slot = old[at]! & (this.#slots - 1)
      while (this.#isTaken(slot)) slot = (slot + 1) & (this.#slots - 1)
      this.#words.set(old.subarray(at, at + WORDS), slot * WORDS)
    }
  }

  #isTaken(slot: number): boolean {
    const at = slot * WORDS
    const words = this.#words
    return (words[at]! | words[at + 1]! | words[at + 2]! | words[at + 3]!) !== 0
  }
}

/** The rows of a file that are superseded, one bit each. */
export class DeadRows {
  readonly #bits: Uint8Array
  count = 0

  constructor(rows: number) {
    this.#bits = new Uint8Array(Math.ceil(rows / 8))
  }

  has(row: number): boolean {
    return (this.#bits[row >> 3]! & (1 << (row & 7))) !== 0
  }

  add(row: number): void {
    if (this.has(row)) return
    this.#bits[row >> 3]! |= 1 << (row & 7)
    this.count += 1
  }

  get bytes(): Uint8Array {
    return this.#bits
  }
}
