import { decodeLines } from '../../sql/copy-text.js'
import type { RowBatch } from '../../sql/row-batch.js'

const TAB = 0x09
const NEWLINE = 0x0a
const BACKSLASH = 0x5c
const LETTER_N = 0x4e

/** Where every value of a batch begins and ends in its bytes, so that values can be read without splitting them. */
export class CopyFields {
  readonly bytes: Buffer
  /** One more than the number of values: each value ends one byte before the next begins. */
  readonly #starts: Uint32Array
  readonly #columns: number

  constructor(batch: RowBatch, columns: number) {
    this.bytes = batch.bytes
    this.#columns = columns
    this.#starts = new Uint32Array(batch.count * columns + 1)
    const { bytes } = this
    let found = 0
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at]
      if (byte === TAB || byte === NEWLINE) this.#starts[++found] = at + 1
    }
    if (found !== batch.count * columns)
      throw new Error(`${batch.count} rows of ${columns} columns have ${found} values`)
  }

  start(row: number, column: number): number {
    return this.#starts[row * this.#columns + column]!
  }

  end(row: number, column: number): number {
    return this.#starts[row * this.#columns + column + 1]! - 1
  }

  isNull(row: number, column: number): boolean {
    const start = this.start(row, column)
    return (
      this.end(row, column) - start === 2 &&
      this.bytes[start] === BACKSLASH &&
      this.bytes[start + 1] === LETTER_N
    )
  }

  text(row: number, column: number): string | null {
    const start = this.start(row, column)
    const end = this.end(row, column)
    for (let at = start; at < end; at++)
      if (this.bytes[at] === BACKSLASH) return decodeLines(this.bytes.subarray(start, end))[0]![0]!
    return this.bytes.toString('utf8', start, end)
  }
}
