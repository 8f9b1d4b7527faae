import { hash } from 'node:crypto'
import type { RowDigest } from '../../ports/sink.js'
import type { TextValues } from '../../sql/copy-text.js'
import type { Column } from '../../sql/selection.js'
import type { ColumnCodec } from './column-codec.js'
import type { ClickHouseOptions } from './config.js'
import { quote } from './quoting.js'
import { canonicalOf, canonicalSqlOf, codecOf } from './types.js'
import { ClickHouseValueError } from './value-error.js'

export interface StoredColumn {
  readonly name: string
  readonly codec: ColumnCodec
  /** The ClickHouse type, with Nullable where NULL is possible. */
  readonly type: string
  readonly isKey: boolean
}

/** A row ready to send. */
export interface EncodedRow {
  /** Its place in the batch. */
  readonly row: number
  /** Equal for two rows with the same key. */
  readonly identity: string
  /** The key in TabSeparated, without the newline. */
  readonly key: string
  /** The whole row in TabSeparated, without the newline. */
  readonly line: string
  readonly values: TextValues
}

const NULL_MARK = '\\N'
/** No text in PostgreSQL contains this character. */
const BETWEEN = '\0'

/** Encodes, identifies and compares the rows of a mart. */
export class RowCodec {
  readonly columns: readonly StoredColumn[]
  readonly key: readonly StoredColumn[]
  readonly #keyIndexes: readonly number[]

  constructor(columns: readonly Column[], key: readonly string[], options: ClickHouseOptions) {
    this.columns = columns.map((column) => {
      const codec = codecOf(column.type, options)
      const isKey = key.includes(column.name)
      const isNullable = codec.isNullable && !isKey && !column.notNull
      const type = isNullable ? `Nullable(${codec.type})` : codec.type
      return { name: column.name, codec, type, isKey }
    })
    this.#keyIndexes = key.map((name) => columns.findIndex((column) => column.name === name))
    this.key = this.#keyIndexes.map((index) => this.columns[index]!)
  }

  /** Throws ClickHouseValueError with the column responsible. */
  encode(values: TextValues, row: number): EncodedRow {
    const fields = this.columns.map((column, index) => encodeField(column, values[index]!))
    return {
      row,
      identity: this.#identity(this.#keyIndexes.map((index) => values[index]!)),
      key: this.#keyIndexes.map((index) => fields[index]).join('\t'),
      line: fields.join('\t'),
      values,
    }
  }

  /** Encodes a key alone; null when no row of the mart can have it. */
  encodeKey(values: TextValues): { readonly identity: string; readonly key: string } | null {
    const key = encodeFields(this.key, values)
    return key === null ? null : { identity: this.#identity(values), key }
  }

  #identity(key: TextValues): string {
    return this.key.map((column, index) => column.codec.canonical(key[index]!)).join(BETWEEN)
  }

  /** The result of `identitySql` as one text. */
  static identityOf(fields: TextValues): string {
    return fields.join(BETWEEN)
  }

  /** The key columns, one expression each. */
  get keySql(): string[] {
    return this.key.map((column) => column.codec.canonicalSql(quote(column.name)))
  }

  keyTexts(canonical: TextValues): string[] {
    return this.key.map((column, index) => column.codec.decode(canonical[index]!))
  }

  digest(values: TextValues): string {
    const text = this.columns.map((column, index) => canonicalOf(values[index]!, column.codec)).join('')
    return hash('sha256', text).slice(0, DIGEST_BYTES * 2)
  }

  /** Computes `digest` on the server. */
  get digestSql(): string {
    const texts = this.columns.map((column) => canonicalSqlOf(quote(column.name), column.codec))
    return `lower(hex(substring(SHA256(arrayStringConcat([${texts.join(', ')}])), 1, ${DIGEST_BYTES})))`
  }

  digestOf(values: TextValues): RowDigest {
    const key = this.#keyIndexes.map((index) => this.columns[index]!.codec.canonical(values[index]!))
    return { key: this.keyTexts(key), digest: this.digest(values) }
  }
}

const DIGEST_BYTES = 16

/** Values of some columns in TabSeparated; null when no row of the mart can have them. */
export function encodeFields(columns: readonly StoredColumn[], values: TextValues): string | null {
  try {
    return columns.map((column, index) => encodeField(column, values[index]!)).join('\t')
  } catch (error) {
    if (error instanceof ClickHouseValueError) return null
    throw error
  }
}

function encodeField(column: StoredColumn, text: string | null): string {
  if (text === null) return encodeNull(column)
  try {
    return column.codec.encode(text)
  } catch (error) {
    if (error instanceof ClickHouseValueError)
      throw new ClickHouseValueError(`Column "${column.name}": ${error.message}.`)
    throw error
  }
}

function encodeNull(column: StoredColumn): string {
  if (column.type.startsWith('Nullable(')) return NULL_MARK
  // Part of the contract of ch: targets, and examine() warns about it: ClickHouse has no NULL arrays.
  if (!column.codec.isNullable && !column.isKey) return '[]'
  throw new ClickHouseValueError(
    `Column "${column.name}" is NULL; ${column.isKey ? 'a key' : 'it'} must not be NULL.`,
  )
}
