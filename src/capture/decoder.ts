import type { Lsn } from './lsn.js'
import { relationName } from './relation-name.js'

/** pgoutput, protocol 1: the messages that the log needs. https://www.postgresql.org/docs/current/protocol-logicalrep-message-formats.html */
export type Message =
  | { readonly tag: 'begin'; readonly xid: number }
  /** `stamp`: when, in microseconds since 2000. `end` is the END of the commit record: a flushed position may be exactly its start, and would skip it. */
  | { readonly tag: 'commit'; readonly end: Lsn; readonly stamp: bigint }
  | { readonly tag: 'insert'; readonly relation: Relation; readonly next: Tuple }
  | {
      readonly tag: 'update'
      readonly relation: Relation
      readonly previous: OldTuple | null
      readonly next: Tuple
    }
  | { readonly tag: 'delete'; readonly relation: Relation; readonly previous: OldTuple }
  | { readonly tag: 'truncate'; readonly relations: readonly Relation[] }
  | { readonly tag: 'other' }

export interface Relation {
  /** As in the log. */
  readonly name: string
  /** relreplident: d default, i index, f full, n nothing. */
  readonly identity: string
  readonly columns: readonly { readonly name: string; readonly isKey: boolean }[]
}

/** The values of a row in the order of its columns. Undefined: not sent, because it is stored apart and did not change. */
export type Tuple = readonly (RawValue | null | undefined)[]

/** A value as it arrived. Text is made of it only where it is needed: a row may carry 1 GB in a column that is not. */
export type RawValue = Buffer

export interface OldTuple {
  /** Only the columns of the identity; the others arrive as NULL and mean nothing. */
  readonly isKeyOnly: boolean
  readonly values: Tuple
}

const OTHER: Message = { tag: 'other' }

/** Keeps the descriptions of tables, which the server sends once for each session before the first change. */
export class Decoder {
  readonly #relations = new Map<number, Relation>()

  /**
   * The buffers in the result are parts of `bytes`: use them before `bytes` is used again. Rows of a table that
   * `isNeeded` declines are not read.
   */
  decode(bytes: Buffer, isNeeded: (relation: Relation) => boolean = () => true): Message {
    const input = new Input(bytes)
    const letter = input.letter()
    switch (letter) {
      case 'B':
        input.skip(16)
        return { tag: 'begin', xid: input.uint32() }
      case 'C':
        input.skip(9)
        return { tag: 'commit', end: input.uint64(), stamp: input.uint64() }
      case 'R':
        this.#relations.set(...readRelation(input))
        return OTHER
      case 'T':
        return this.#truncate(input)
      case 'I':
      case 'U':
      case 'D': {
        const relation = this.#relation(input)
        return isNeeded(relation) ? readChange(letter, relation, input) : OTHER
      }
      default:
        return OTHER
    }
  }

  #truncate(input: Input): Message {
    const count = input.uint32()
    input.skip(1)
    return { tag: 'truncate', relations: Array.from({ length: count }, () => this.#relation(input)) }
  }

  #relation(input: Input): Relation {
    const id = input.uint32()
    const relation = this.#relations.get(id)
    if (relation === undefined)
      throw new Error(`pgoutput sent a change of table ${id} without describing it.`)
    return relation
  }
}

function readRelation(input: Input): [number, Relation] {
  const id = input.uint32()
  const schema = input.text() || 'pg_catalog'
  const table = input.text()
  const identity = input.letter()
  const columns = Array.from({ length: input.uint16() }, () => {
    const isKey = (input.uint8() & 1) === 1
    const name = input.text()
    input.skip(8)
    return { name, isKey }
  })
  return [id, { name: relationName({ schema, table }), identity, columns }]
}

function readChange(letter: 'I' | 'U' | 'D', relation: Relation, input: Input): Message {
  const kind = input.letter()
  if (letter === 'I') return { tag: 'insert', relation, next: readTuple(input) }
  if (letter === 'D') return { tag: 'delete', relation, previous: readOld(input, kind) }
  if (kind === 'N') return { tag: 'update', relation, previous: null, next: readTuple(input) }
  const previous = readOld(input, kind)
  input.skip(1)
  return { tag: 'update', relation, previous, next: readTuple(input) }
}

function readOld(input: Input, kind: string): OldTuple {
  return { isKeyOnly: kind === 'K', values: readTuple(input) }
}

/** Letters of the protocol. */
const NULL = 0x6e
const NOT_SENT = 0x75

function readTuple(input: Input): Tuple {
  const values: (RawValue | null | undefined)[] = []
  for (let left = input.uint16(); left > 0; left--) {
    const kind = input.uint8()
    if (kind === NULL) values.push(null)
    else values.push(kind === NOT_SENT ? undefined : input.bytes(input.uint32()))
  }
  return values
}

class Input {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  skip(count: number): void {
    this.#at += count
  }

  uint8(): number {
    return this.#bytes.readUInt8(this.#at++)
  }

  letter(): string {
    return String.fromCharCode(this.uint8())
  }

  uint16(): number {
    this.#at += 2
    return this.#bytes.readUInt16BE(this.#at - 2)
  }

  uint32(): number {
    this.#at += 4
    return this.#bytes.readUInt32BE(this.#at - 4)
  }

  uint64(): bigint {
    this.#at += 8
    return this.#bytes.readBigUInt64BE(this.#at - 8)
  }

  bytes(length: number): Buffer {
    this.#at += length
    return this.#bytes.subarray(this.#at - length, this.#at)
  }

  text(): string {
    const end = this.#bytes.indexOf(0, this.#at)
    const text = this.#bytes.toString('utf8', this.#at, end)
    this.#at = end + 1
    return text
  }
}
