import type { HostColumn } from '../host.js'
import { got, InvalidResult } from './invalid-result.js'
import type { Row } from './task.js'
import { readerOf, type ValueReader, type ValueWriter, writerOf } from './values.js'

const ESCAPES: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' }
const LETTERS: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries({ ...ESCAPES, '\\': '\\' }).map(([letter, char]) => [char, `\\${letter}`]),
)
const SPECIAL = /[\b\f\n\r\t\v\\]/
/** A lone surrogate, which UTF-8 cannot encode. */
const HALF = /\p{Surrogate}/u
const ALL_SPECIAL = /[\b\f\n\r\t\v\\]/g

/** An incoming batch: the COPY text of every value and the decoded values, row by row. */
export interface IncomingBatch {
  readonly raw: readonly (readonly string[])[]
  readonly values: readonly (readonly unknown[])[]
  readonly rows: Row[]
}

interface OutgoingColumn {
  readonly name: string
  readonly type: string
  readonly write: ValueWriter
  readonly read: ValueReader | null
  /** Index of the input column; -1 for a new column or one with another type. */
  readonly origin: number
}

/** Input and output columns of one chain. */
export class BatchCodec {
  readonly #readers: readonly (ValueReader | null)[]
  readonly #outgoing: readonly OutgoingColumn[]
  readonly #makeRow: (values: readonly unknown[]) => Row

  constructor(incoming: readonly HostColumn[], outgoing: readonly HostColumn[]) {
    this.#readers = incoming.map(({ type }) => readerOf(type))
    this.#makeRow = rowMaker(incoming)
    this.#outgoing = outgoing.map(({ name, type }) => ({
      name,
      type: type.name,
      write: writerOf(type),
      read: readerOf(type),
      origin: incoming.findIndex((one) => one.name === name && one.type.name === type.name),
    }))
  }

  decode(bytes: Uint8Array): IncomingBatch {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
    const lines = text.split('\n')
    lines.pop()
    const raw = lines.map((line) => line.split('\t'))
    const values = raw.map((cells) => cells.map((cell, place) => this.#read(cell, place)))
    return { raw, values, rows: values.map(this.#makeRow) }
  }

  encode(rows: readonly Row[], before: IncomingBatch): string {
    const finder = new Origins(before, rows.length)
    let text = ''
    for (let place = 0; place < rows.length; place++) {
      const row = rows[place]!
      for (let n = 0; n < this.#outgoing.length; n++) {
        if (n > 0) text += '\t'
        text += this.#write(row, place, this.#outgoing[n]!, finder)
      }
      text += '\n'
    }
    return text
  }

  #read(cell: string, place: number): unknown {
    const text = cell.includes('\\') ? unescaped(cell) : cell
    const read = this.#readers[place]!
    return text === null || read === null ? text : read(text)
  }

  // biome-ignore lint/complexity/useMaxParams: called for every value, without allocating an object for each call.
  #write(row: Row, place: number, column: OutgoingColumn, finder: Origins): string {
    const value: unknown = row[column.name]
    if (value === null) return '\\N'
    const came = column.origin < 0 ? null : finder.find(row, place, column.origin, value)
    if (came !== null && (typeof value !== 'object' || this.#isUnchanged(value, came, column))) return came
    return escaped(this.#text(value, place, column, row))
  }

  /** Objects may have been changed in place: they are encoded and compared with their original text. */
  #isUnchanged(value: unknown, came: string, { read, write }: OutgoingColumn): boolean {
    try {
      return write(value) === write(read!(unescaped(came)!))
    } catch {
      return false
    }
  }

  // biome-ignore lint/complexity/useMaxParams: called for every value, without allocating an object for each call.
  #text(value: unknown, place: number, column: OutgoingColumn, row: Row): string {
    try {
      const text = column.write(value)
      if (text.includes('\0')) throw new InvalidResult(`cannot contain the NUL character, got ${got(value)}`)
      if (HALF.test(text))
        throw new InvalidResult(`cannot contain half of a surrogate pair, got ${got(value)}`)
      return text
    } catch (error) {
      if (!(error instanceof InvalidResult)) throw error
      throw new InvalidResult(`column "${column.name}" (${column.type}) ${error.message}`, {
        row: place,
        sample: row,
        ...(error.hint !== null && { hint: error.hint }),
      })
    }
  }
}

/** Finds the original text of a value that the function did not change. */
class Origins {
  readonly #before: IncomingBatch
  readonly #sameLength: boolean
  #rows: Map<unknown, number> | null = null

  constructor(before: IncomingBatch, length: number) {
    this.#before = before
    this.#sameLength = length === before.rows.length
  }

  // biome-ignore lint/complexity/useMaxParams: called for every value, without allocating an object for each call.
  find(row: Row, place: number, column: number, value: unknown): string | null {
    const { values, raw } = this.#before
    if (this.#sameLength && Object.is(values[place]![column], value)) return raw[place]![column]!
    const origin = this.#place(row)
    return origin !== undefined && Object.is(values[origin]![column], value) ? raw[origin]![column]! : null
  }

  /** The original position of a row that was moved, or whose neighbours were removed. */
  #place(row: Row): number | undefined {
    this.#rows ??= new Map(this.#before.rows.map((one, place) => [one, place]))
    return this.#rows.get(row)
  }
}

/** Generated for these columns, so that all rows have the same shape. The names are literals, never code. */
function rowMaker(columns: readonly HostColumn[]): (values: readonly unknown[]) => Row {
  const fields = columns.map(({ name }, place) => `[${JSON.stringify(name)}]: v[${place}]`)
  return new Function('v', `return { ${fields.join(', ')} }`) as (values: readonly unknown[]) => Row
}

function unescaped(cell: string): string | null {
  if (cell === '\\N') return null
  return cell.replace(/\\(.)/gs, (_, letter: string) => ESCAPES[letter] ?? letter)
}

function escaped(text: string): string {
  return SPECIAL.test(text) ? text.replace(ALL_SPECIAL, (char) => LETTERS[char]!) : text
}
