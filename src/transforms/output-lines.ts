const LONGEST = 2_000
const NEWLINE = 0x0a

/**
 * Lines of one output stream, holding at most one displayable line in memory. Marks from the host identify the function
 * that printed the lines that follow, and the end of a batch's output.
 */
export class OutputLines {
  readonly #mark: string
  readonly #line: (text: string) => void
  readonly #marked: (mark: string) => void
  #kept: Buffer[] = []
  #length = 0

  constructor(nonce: string, handlers: { line: (text: string) => void; mark: (mark: string) => void }) {
    this.#mark = `\x01${nonce} `
    this.#line = handlers.line
    this.#marked = handlers.mark
  }

  take(chunk: Buffer): void {
    let start = 0
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      this.#keep(chunk.subarray(start, end))
      this.end()
      start = end + 1
    }
    this.#keep(chunk.subarray(start))
  }

  /** Reports text printed without a newline. */
  end(): void {
    const text = Buffer.concat(this.#kept).toString('utf8').trimEnd()
    const isCut = this.#length > LONGEST
    this.#kept = []
    this.#length = 0
    if (text.startsWith(this.#mark)) this.#marked(text.slice(this.#mark.length))
    else if (text !== '') this.#line(isCut ? `${text}…` : text)
  }

  #keep(piece: Buffer): void {
    const room = LONGEST - this.#length
    if (room > 0 && piece.length > 0) this.#kept.push(Buffer.from(piece.subarray(0, room)))
    this.#length += piece.length
  }
}
