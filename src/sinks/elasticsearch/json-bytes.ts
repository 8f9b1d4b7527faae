const QUOTE = 0x22
const BACKSLASH = 0x5c
const SPACE = 0x20
const COMMA = 0x2c
const LETTER_V = 0x76
/** Shorter runs are copied byte by byte, which is cheaper than a call. */
const LONG_RUN = 48

/** Bytes that need no escape, neither in COPY's text format nor in a JSON string. */
const PLAIN = new Uint8Array(256)
for (let byte = 0; byte < 256; byte++)
  PLAIN[byte] = byte >= SPACE && byte !== QUOTE && byte !== BACKSLASH ? 1 : 0

/** The escapes that COPY and JSON share. */
const SHARED = new Uint8Array(256)
for (const letter of 'bfnrt\\') SHARED[letter.charCodeAt(0)] = 1

/** JSON as bytes, in a buffer that grows. */
export class JsonBytes {
  #buffer: Buffer
  #length = 0

  constructor(size: number) {
    this.#buffer = Buffer.allocUnsafe(size)
  }

  get length(): number {
    return this.#length
  }

  /** Discards everything after `length`. */
  cut(length: number): void {
    this.#length = length
  }

  /** The bytes written. Nothing may be added afterwards. */
  taken(): Buffer {
    return this.#buffer.subarray(0, this.#length)
  }

  bytes(bytes: Uint8Array): void {
    this.#reserve(bytes.length)
    this.#buffer.set(bytes, this.#length)
    this.#length += bytes.length
  }

  text(text: string): void {
    this.#reserve(text.length * 3)
    this.#length += this.#buffer.write(text, this.#length)
  }

  /** Removes the last byte if it is a comma. */
  withoutComma(): void {
    if (this.#buffer[this.#length - 1] === COMMA) this.#length -= 1
  }

  /** Bytes of a number, unchanged. */
  bare(from: Buffer, start: number, end: number): void {
    this.#reserve(end - start)
    this.#copy(from, start, end)
  }

  /** A value of COPY's text format as a JSON string: most escapes are the same in both. */
  quoted(from: Buffer, start: number, end: number): void {
    this.#reserve(end - start + 2)
    this.#buffer[this.#length++] = QUOTE
    for (let at = start; at < end; ) {
      const run = at
      while (at < end && PLAIN[from[at]!] === 1) at += 1
      this.#copy(from, run, at)
      if (at < end) at = this.#special(from, at, end)
    }
    this.#buffer[this.#length++] = QUOTE
  }

  #special(from: Buffer, at: number, end: number): number {
    // Six for the longest escape, one for the closing quote.
    this.#reserve(end - at + 7)
    const byte = from[at]!
    if (byte === BACKSLASH) {
      const letter = from[at + 1]!
      if (SHARED[letter] === 1) this.#pair(letter)
      else if (letter === LETTER_V) this.#control(0x0b)
      else this.#buffer[this.#length++] = letter
      return at + 2
    }
    if (byte === QUOTE) this.#pair(QUOTE)
    else this.#control(byte)
    return at + 1
  }

  #pair(letter: number): void {
    this.#buffer[this.#length++] = BACKSLASH
    this.#buffer[this.#length++] = letter
  }

  #control(byte: number): void {
    this.#length += this.#buffer.write(`\\u${byte.toString(16).padStart(4, '0')}`, this.#length, 'latin1')
  }

  #copy(from: Buffer, start: number, end: number): void {
    if (end - start >= LONG_RUN) {
      from.copy(this.#buffer, this.#length, start, end)
      this.#length += end - start
      return
    }
    const buffer = this.#buffer
    let length = this.#length
    for (let at = start; at < end; at++) buffer[length++] = from[at]!
    this.#length = length
  }

  #reserve(more: number): void {
    const needed = this.#length + more
    if (needed <= this.#buffer.length) return
    const larger = Buffer.allocUnsafe(Math.max(needed, this.#buffer.length * 2))
    this.#buffer.copy(larger, 0, 0, this.#length)
    this.#buffer = larger
  }
}
