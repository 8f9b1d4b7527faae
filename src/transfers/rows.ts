import { Transform } from 'node:stream'
import { decodeLines, encodeLines, type TextValues } from '../sql/copy-text.js'

/** Rows in, rows out: it may drop, add and change rows. */
export type RowTransform = (rows: TextValues[]) => Promise<TextValues[]> | TextValues[]

const NEWLINE = 0x0a

/** Takes COPY text apart into rows, hands them to a transform in portions, and puts them together again. */
export class RowStream extends Transform {
  readonly #transform: RowTransform
  #rest: Buffer[] = []

  constructor(transform: RowTransform) {
    super()
    this.#transform = transform
  }

  override _transform(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    const end = chunk.lastIndexOf(NEWLINE)
    if (end < 0) {
      // A value longer than a chunk: only collected here, joined once when its line is complete.
      this.#rest.push(chunk)
      done()
      return
    }
    const lines = Buffer.concat([...this.#rest, chunk.subarray(0, end)])
    this.#rest = [chunk.subarray(end + 1)]
    this.#pass(decodeLines(lines)).then(() => done(), done)
  }

  async #pass(rows: TextValues[]): Promise<void> {
    for (const piece of encodeLines(await this.#transform(rows))) if (piece.length > 0) this.push(piece)
  }
}
