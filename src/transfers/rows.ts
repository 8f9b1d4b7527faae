import { Transform } from 'node:stream'

/** A row as text values in the order of the columns; null is NULL. */
export type TextValues = readonly (string | null)[]
/** Rows in, rows out: it may drop, add and change rows. */
export type RowTransform = (rows: TextValues[]) => Promise<TextValues[]> | TextValues[]

const NEWLINE = 0x0a
const ESCAPES: Record<string, string> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' }
const SPECIAL: Record<string, string> = {
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
}

/** One line of COPY text as values, exactly as the server wrote them. */
function decodeLine(line: string): (string | null)[] {
  return line.split('\t').map((field) => {
    if (field === '\\N') return null
    return field.includes('\\') ? field.replace(/\\(.)/gs, (_, char: string) => ESCAPES[char] ?? char) : field
  })
}

function encodeLine(values: TextValues): string {
  return `${values.map((value) => (value === null ? '\\N' : /[\b\f\n\r\t\v\\]/.test(value) ? value.replace(/[\b\f\n\r\t\v\\]/g, (char) => SPECIAL[char]!) : value)).join('\t')}\n`
}

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
    const text = Buffer.concat([...this.#rest, chunk.subarray(0, end)]).toString('utf8')
    this.#rest = [chunk.subarray(end + 1)]
    this.#pass(text.split('\n').map(decodeLine)).then(() => done(), done)
  }

  async #pass(rows: TextValues[]): Promise<void> {
    this.push((await this.#transform(rows)).map(encodeLine).join(''))
  }
}
