import type { BatchId, RejectedRow } from '../../ports/sink.js'
import type { RowBatch } from '../../sql/row-batch.js'
import type { Column } from '../../sql/selection.js'
import { versionOf } from './batch-version.js'
import type { Bulk } from './bulk.js'
import { CopyFields } from './copy-fields.js'
import { documentId } from './document-id.js'
import { JsonBytes } from './json-bytes.js'
import { type BulkMode, type FieldType, fieldType } from './types.js'
import { ElasticsearchValueError } from './value-error.js'

export interface BulkLimits {
  readonly bytes: number
  /** Bulk requests in flight at the same time. A large enough batch is split into this many. */
  readonly parallel: number
}

/** What a bulk is made of, and how large it gets. */
interface BulkFormat {
  readonly columns: readonly Column[]
  readonly key: readonly string[]
  readonly mode: BulkMode
  readonly limits: BulkLimits
}

/** Smaller requests cost more in overhead than they gain from running in parallel. */
const FEW = 1000

interface EncodedField {
  readonly column: Column
  readonly type: FieldType
  /** `"name":` */
  readonly name: Buffer
  /** A merge would keep keys of the previous object that this one no longer has. */
  readonly isMerged: boolean
}

const NULL = Buffer.from('null')
const COMMA = Buffer.from(',')
const IS_OBJECT = /^\s*\{/

/** Encodes rows as lines of a bulk request directly from COPY's bytes, without building objects in between. */
export class BulkEncoder {
  readonly #fields: readonly EncodedField[]
  readonly #key: readonly number[]
  readonly #mode: BulkMode
  readonly #limits: BulkLimits

  constructor({ columns, key, mode, limits }: BulkFormat) {
    this.#fields = columns.map((column) => {
      const type = fieldType(column.type, mode)
      const isMerged = mode === 'update' && type.mapping.type === 'object' && !column.type.endsWith('[]')
      return { column, type, name: Buffer.from(`${JSON.stringify(column.name)}:`), isMerged }
    })
    this.#key = key.map((name) => columns.findIndex((column) => column.name === name))
    this.#mode = mode
    this.#limits = limits
  }

  /** The last row of each _id, and the rows that cannot be written at all. */
  open(batch: RowBatch): EncodedBatch {
    const fields = new CopyFields(batch, this.#fields.length)
    const last = new Map<string, number>()
    const refused: RejectedRow[] = []
    for (let row = 0; row < batch.count; row++) {
      const id = documentId(this.#key.map((column) => fields.text(row, column)))
      if (id === null) refused.push({ row, reason: this.#nullKey(fields, row) })
      else last.set(id, row)
    }
    return { fields, last, refused, duplicates: batch.count - refused.length - last.size }
  }

  /** Yields bulks lazily, one at a time. Rows that do not fit are added to `refused`. */
  *bulks({ fields, last, refused }: EncodedBatch, id: BatchId): Generator<Bulk> {
    const version = versionOf(id)
    const most = Math.max(FEW, Math.ceil(last.size / this.#limits.parallel))
    let bulk = this.#begin(fields.bytes.length)
    for (const [documentId, row] of last) {
      const start = bulk.json.length
      const reason = this.#item(bulk.json, fields, row, documentId, version)
      if (reason !== null) {
        refused.push({ row, reason })
        bulk.json.cut(start)
        continue
      }
      if (start > 0 && bulk.json.length > this.#limits.bytes) {
        const spilled = Buffer.from(bulk.json.taken().subarray(start))
        bulk.json.cut(start)
        yield closed(bulk)
        bulk = this.#begin(spilled.length)
        bulk.json.bytes(spilled)
      }
      bulk.rows.push(row)
      bulk.ends.push(bulk.json.length)
      if (bulk.rows.length >= most) {
        yield closed(bulk)
        bulk = this.#begin(fields.bytes.length)
      }
    }
    if (bulk.rows.length > 0) yield closed(bulk)
  }

  #begin(bytes: number): OpenBulk {
    const size = Math.min(this.#limits.bytes, Math.max(4096, bytes))
    return { json: new JsonBytes(size), rows: [], ends: [] }
  }

  /** Writes action and document. Returns the reason when a value cannot be stored. */
  // biome-ignore lint/complexity/useMaxParams: called for every row, without allocating an object for each call.
  #item(
    json: JsonBytes,
    fields: CopyFields,
    row: number,
    documentId: string,
    version: bigint,
  ): string | null {
    const isUpdate = this.#mode === 'update'
    const quoted = JSON.stringify(documentId)
    json.text(
      isUpdate
        ? `{"update":{"_id":${quoted}}}\n{"doc":{`
        : `{"index":{"_id":${quoted},"version":${version},"version_type":"external_gte"}}\n{`,
    )
    const merged: string[] = []
    for (const [column, field] of this.#fields.entries()) {
      const reason = this.#value(json, fields, row, column)
      if (reason !== null) return reason
      if (field.isMerged && IS_OBJECT.test(fields.text(row, column) ?? '')) merged.push(field.column.name)
    }
    json.withoutComma()
    // Request the merged objects back, because they may contain more than was sent.
    const shown = merged.length === 0 ? '' : `,"_source":${JSON.stringify(merged)}`
    json.text(isUpdate ? `},"doc_as_upsert":true${shown}}\n` : '}\n')
    return null
  }

  // biome-ignore lint/complexity/useMaxParams: called for every value, without allocating an object for each call.
  #value(json: JsonBytes, fields: CopyFields, row: number, column: number): string | null {
    const { type, name } = this.#fields[column]!
    json.bytes(name)
    if (fields.isNull(row, column)) json.bytes(NULL)
    else if (type.copy === 'quoted')
      json.quoted(fields.bytes, fields.start(row, column), fields.end(row, column))
    else if (type.copy === 'bare') json.bare(fields.bytes, fields.start(row, column), fields.end(row, column))
    else {
      try {
        json.text(type.literal(fields.text(row, column)!))
      } catch (error) {
        if (error instanceof ElasticsearchValueError)
          return `${this.#fields[column]!.column.name} ${error.message}`
        throw error
      }
    }
    json.bytes(COMMA)
    return null
  }

  #nullKey(fields: CopyFields, row: number): string {
    const column = this.#key.find((index) => fields.isNull(row, index))!
    return `${this.#fields[column]!.column.name} is NULL, but a key column must identify the document`
  }
}

interface OpenBulk {
  readonly json: JsonBytes
  readonly rows: number[]
  readonly ends: number[]
}

function closed({ json, rows, ends }: OpenBulk): Bulk {
  return { bytes: json.taken(), rows, ends }
}

export interface EncodedBatch {
  readonly fields: CopyFields
  /** The row to write for each _id. */
  readonly last: ReadonlyMap<string, number>
  readonly refused: RejectedRow[]
  readonly duplicates: number
}
