import { decodeLines, encodeLines, type TextValues } from './copy-text.js'

/** Rows as the database wrote them. They are parsed only when their values are needed. */
export class RowBatch {
  readonly count: number
  #bytes: Buffer | null
  #rows: readonly TextValues[] | null

  private constructor(count: number, bytes: Buffer | null, rows: readonly TextValues[] | null) {
    this.count = count
    this.#bytes = bytes
    this.#rows = rows
  }

  static readonly NONE = new RowBatch(0, Buffer.alloc(0), [])

  /** Whole lines in COPY's text format, each with its newline. */
  static ofLines(bytes: Buffer, count: number): RowBatch {
    return new RowBatch(count, bytes, null)
  }

  static ofRows(rows: readonly TextValues[]): RowBatch {
    return new RowBatch(rows.length, null, rows)
  }

  /** In COPY's text format: passed to COPY … FROM STDIN unchanged. */
  get bytes(): Buffer {
    this.#bytes ??= Buffer.concat([...encodeLines(this.#rows!)].map((piece) => Buffer.from(piece)))
    return this.#bytes
  }

  /** Each value as text, null is NULL, in the order of the columns. */
  get rows(): readonly TextValues[] {
    if (this.#rows === null) {
      const bytes = this.#bytes!
      this.#rows = bytes.length === 0 ? [] : decodeLines(bytes.subarray(0, bytes.length - 1))
    }
    return this.#rows
  }
}
